"""What tells one object from another, as id() does.

id() itself is an event that audit hooks are told of, and with the hook that guards a program's run (`lang/wall.py`) it
takes three times as long. A capture asks 40 times for each operation.
"""

from __future__ import annotations

ident = object.__hash__
