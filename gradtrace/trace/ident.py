"""The identity of an object, as id() gives it.

id() raises an audit event, which calls every audit hook of the process. Recording a run needs about 40 identities for
each operation.
"""

from __future__ import annotations

ident = object.__hash__
