"""The functions of higher floors, of `ops` and of the command line that lower ones call.

The modules that define them register them here, so that lower floors need not import higher ones.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Callable

higher: dict[str, Callable[..., Any]] = {}
