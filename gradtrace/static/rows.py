"""Execute a plan over many rows, in blocks that fit the cache and threads across blocks.

numpy releases the GIL inside a ufunc, so threads run in parallel. Every thread has its own buffers. Except for the
caller's arrays, memory use does not grow with the number of rows.
"""

from __future__ import annotations

import math
from contextvars import copy_context
from itertools import pairwise
from typing import Any

from gradtrace.engine.data.lazy import np
from gradtrace.ops.special.erf_kernels import CHUNK
from gradtrace.static.emit import emit
from gradtrace.static.pairs import fuse_pairs
from gradtrace.static.plan import Plan

CACHE = 2 << 20  # maximum number of bytes of a block's buffers
LARGEST, SMALLEST = 32768, 4096  # elements of a block


class RowProgram:
    """A plan for one row, executed over blocks of rows. `built` and `runs` are counters (a block is not a run)."""

    def __init__(self, plan: Plan, rowwise: tuple[int, ...], outputs: tuple[int, ...], block: int = 0) -> None:
        self.plan = plan
        self.emitted = emit(fuse_pairs(plan), rowwise, outputs)
        self.widest = max([math.prod(v.shape) for v in plan.values] or [1])
        self.block = block or self.best_block()
        self.built = 1
        self.runs = 0

    def best_block(self) -> int:
        """Return the number of rows of a block for which the buffers fit the cache, within limits."""
        bytes_of_row = sum(math.prod(shape) * np.dtype(kind).itemsize for kind, shape in self.emitted.buffers)
        elements = CACHE // max(bytes_of_row, 8)
        rows = max(SMALLEST // max(self.widest, 1), min(elements, LARGEST // max(self.widest, 1)))
        step = next((n for n in (CHUNK, 1024) if rows >= n), 1)  # erf processes whole chunks
        return max(1, rows // step * step)

    def buffers(self) -> list[Any]:
        return [np.empty((self.block, *shape), kind) for kind, shape in self.emitted.buffers]

    def run(self, inputs: list[Any], uniforms: list[Any], outputs: list[Any], threads: int = 1) -> None:
        """Fill the output arrays from input arrays of the same length; `uniforms` are inputs without a row axis.

        Floating-point errors are ignored.
        """
        self.runs += 1
        n = len(outputs[0]) if outputs else 0
        with np.errstate(all="ignore"):
            if threads <= 1 or n <= self.block:
                self.stretch(inputs, uniforms, outputs, 0, n)
                return
            self.in_threads(inputs, uniforms, outputs, threads, n)

    def in_threads(self, inputs: list[Any], uniforms: list[Any], outputs: list[Any], threads: int, n: int) -> None:
        from concurrent.futures import ThreadPoolExecutor

        blocks = math.ceil(n / self.block)
        cuts = [min(n, blocks * k // threads * self.block) for k in range(threads)] + [n]
        with ThreadPoolExecutor(threads) as pool:
            # numpy's error state belongs to the context, and a new thread has a new one
            done = [
                pool.submit(copy_context().run, self.stretch, inputs, uniforms, outputs, low, high)
                for low, high in pairwise(cuts)
                if low < high
            ]
            for future in done:
                future.result()

    def stretch(self, inputs: list[Any], uniforms: list[Any], outputs: list[Any], low: int, high: int) -> None:
        """Process the rows from `low` to `high`, block by block."""
        function, block, buffers = self.emitted.function, self.block, self.buffers()
        while low < high:
            end = min(low + block, high)
            if end - low < block:
                buffers = [b[: end - low] for b in buffers]
            function(*[a[low:end] for a in inputs], *uniforms, *[a[low:end] for a in outputs], *buffers)
            low = end
