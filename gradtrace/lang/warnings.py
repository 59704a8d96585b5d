"""The `warnings` module as a program sees it, over Python's own, which the engine warns through."""

from __future__ import annotations

import warnings as real
from typing import Any

from gradtrace.lang.attributes import Frozen


class Warnings(Frozen):
    """warn, simplefilter, filterwarnings and catch_warnings; the run restores all filters at its end."""

    __slots__ = ()

    catch_warnings = real.catch_warnings

    def warn(self, message: Any, category: Any = UserWarning, stacklevel: int = 1) -> None:
        real.warn(message, category, stacklevel=1)

    def simplefilter(self, action: str, category: Any = Warning) -> None:
        real.simplefilter(action, category)  # type: ignore[arg-type]

    def filterwarnings(self, action: str, message: str = "", category: Any = Warning) -> None:
        real.filterwarnings(action, message, category)  # type: ignore[arg-type]

    def resetwarnings(self) -> None:
        real.resetwarnings()
