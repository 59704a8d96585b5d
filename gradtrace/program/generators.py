"""The same random numbers in each run of a program, also from generators of numpy that have no
seed.
"""

from __future__ import annotations

import sys
from itertools import count

from gradtrace.annotations import Any


class repeatable_generators:
    """Context manager for runs that are compared: `numpy.random.default_rng()` counts its seeds in
    place of drawing them from the system.
    """

    def __enter__(self) -> None:
        module: Any = sys.modules.get("numpy.random")
        self.module = module
        if module is None:
            return
        self.default_rng = module.default_rng
        seeds = count()

        def default_rng(seed: Any = None) -> Any:
            return self.default_rng(next(seeds) if seed is None else seed)

        module.default_rng = default_rng

    def __exit__(self, *_: object) -> None:
        module: Any = self.module
        if module is not None:
            module.default_rng = self.default_rng
