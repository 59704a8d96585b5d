"""The identity of an object, as id() gives it.

id() raises an audit event, so it takes three times as long under the audit hook that guards a program's run
(`lang/wall.py`). Recording a run needs about 40 identities for each operation.
"""

from __future__ import annotations

ident = object.__hash__
