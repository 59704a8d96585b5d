"""The functions of higher floors, and of `ops`, that tensors, nodes and records call.

The modules that define them register them here, so that lower floors need not import higher ones.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Callable

higher: dict[str, Callable[..., Any]] = {}
