"""Estimate the errors of the shadows themselves: where a difference cancels all digits of the wider
type too.

Each shadow has the rounding of the wider type, if its operation rounds. A sum keeps the absolute
errors of its summands, a logarithm turns relative errors into absolute ones; other operations pass
relative errors on. These are estimates of the size: a shadow whose error is as large as itself says
nothing about the exact result.
"""

from __future__ import annotations

from math import hypot, inf, sqrt

from gradtrace.annotations import TYPE_CHECKING
from gradtrace.trace.array_summary import relative_size
from gradtrace.trace.precision import Measured

if TYPE_CHECKING:
    from gradtrace.analysis.precision.flow import Errors

UNIT = 2.0**-53
UNIT_OF_LONG_DOUBLE = 2.0**-64


class VagueShadows:
    """The absolute errors of the shadows by row, and the rows that each of them comes from, with
    their parts.
    """

    def __init__(self, errors: Errors) -> None:
        self.errors = errors
        self.sizes: list[float] = []
        self.parts: list[list[tuple[int, float]]] = []
        for i, row in enumerate(errors.rows):
            shares = {j: self.passed_on(row, j) for j in self.inputs(i) if self.sizes[j]}
            total = hypot(*shares.values()) if self.adds(row) else max(shares.values(), default=0.0)
            self.sizes.append(total + self.rounded(row) * row.norm)
            whole = sum(shares.values())
            self.parts.append(
                [(j, size / whole) for j, size in shares.items()] if 0 < whole < inf else []
            )

    def relative(self, i: int) -> float:
        """Return the relative error of a row's shadow."""
        return relative_size(self.sizes[i], self.errors.rows[i].norm)

    def inputs(self, i: int) -> list[int]:
        """Return the rows that a row was computed from; none of those that are equal, and
        cancel.
        """
        row = self.errors.rows[i]
        errors = self.errors
        if row.operation is None:
            return [j for j, _ in errors.sources(i)]
        operation = errors.trace.operations[row.operation]
        if row.passed is not None:
            rows = [errors.of_gradient(tensor, row.passed, i) for tensor in operation.outputs]
        else:
            rows = [self.maker(tensor) for tensor in operation.tensors]
            if len(rows) > len(set(rows)) and not row.norm:
                return []
        return [j for j in dict.fromkeys(rows) if j is not None and j < i]

    def maker(self, tensor: int) -> int | None:
        """Return the row of a tensor's value, through operations that give it as it is (detach)."""
        row = self.errors.of_value(tensor)
        trace = self.errors.trace
        maker = trace.tensors[tensor].operation
        if maker is None:
            return row
        operation = trace.operations[maker]
        if (row is None or operation.name == "detach") and len(operation.tensors) == 1:
            return self.maker(operation.tensors[0])
        return row

    def adds(self, row: Measured) -> bool:
        """Return whether a row is a sum or difference of its inputs."""
        record = self.errors.record(row)
        if record is None or row.passed is not None:
            return row.operation is None
        return record.sign in ("+", "-") or record.name in ("sum", "mean")

    def passed_on(self, row: Measured, j: int) -> float:
        """Return what the error of an input makes of a row."""
        size = self.sizes[j]
        norm = self.errors.rows[j].norm
        name = "" if row.operation is None else self.errors.trace.operations[row.operation].name
        if self.adds(row):
            return size / row.terms if name == "mean" else size
        if name == "log" and row.passed is None and norm:
            return sqrt(row.elements) * size / norm
        return min(size / norm, 1.0) * row.norm if norm else size

    def rounded(self, row: Measured) -> float:
        """Return the rounding of the shadow; 0 if its operation was exact, as far as the row
        shows.
        """
        unit = UNIT_OF_LONG_DOUBLE if row.dtype == "float64" else UNIT
        if row.added or row.rounds:
            return unit
        operation = self.errors.maker(row)
        record = self.errors.record(row)
        if (
            operation is None
            or record is None
            or record.sign
            or record.kind != "elementwise"
            or row.passed is not None
        ):
            return 0.0
        is_flat = row.largest == 1.0 and row.summand not in (0.0, 1.0) and not operation.constants
        return unit if is_flat else 0.0  # tanh(30), cos(1e-12)
