"""The identity of an object, as id() gives it.

id() raises an audit event, and with the hook that guards a program's run (`lang/wall.py`) it takes three times as long.
A capture asks 40 times for each operation.
"""

from __future__ import annotations

ident = object.__hash__
