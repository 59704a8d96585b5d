"""Follow a result's error backwards to the operations that it comes from.

    errors = Errors(trace)
    errors.origins(errors.of_value(tensor)) -> list[Origin]

The error of a result is the sum of what its operation added and what each input brought along; a
measured row has these parts as shares, whose sum is 1. From a target, with the weight 1, each row
passes its weight on to the rows of its inputs, by their shares. The weight that arrives at a row is
the part of the target's error that goes through it. It is exact as far as an input's error keeps
its direction on the way, so it is an estimate; shares may be negative, and those of errors that
cancel out later add up to little.

A row loses digits if its relative error is larger than those of its inputs: `growth` is the
quotient, where no error is smaller than the rounding of its dtype. Along a path from an exact input
to the target, the logarithms of the growths add up to the digits that the target lost. So an
operation that adds an error and one that magnifies it (a difference of nearly equal numbers) are
measured alike. The rows of one place in the program, as a loop makes them, are one origin: the
digits that it loses are the sum, or, if that is more, those that the errors added there take from
its last result.
"""

from __future__ import annotations

from math import inf, isfinite, log10

from gradtrace.analysis.precision.shadows import VagueShadows
from gradtrace.annotations import Any, Iterator, NamedTuple
from gradtrace.engine.operators.op import Op
from gradtrace.trace.operands import record_of
from gradtrace.trace.precision import ErrorSource, Measured
from gradtrace.trace.record import Operation, Trace

ROUNDING = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-53}
NOT_FINITE = 100.0  # the relative error of a result that is inf or nan instead of a number
NOTHING_LEFT = 0.5  # the relative error from which an input has no digits to lose
FELT = 0.01  # the share from which an input counts
MANY_TERMS = 8  # from which a sum that is 0 but for rounding is so by construction
PART = 0.1  # the weight from which a row's dtype counts for the target


class Origin(NamedTuple):
    """The rows of one place of the program that the target's error goes through, and the digits
    that they lose.

    `adds`: the errors that were added there cost more than what was magnified there.
    """

    # their numbers: first the one that magnifies the most, or the last one if it adds
    rows: tuple[int, ...]
    digits: float
    adds: bool
    part: float  # the largest weight among them, at most 1


class Errors:
    """The measured rows of a trace, and what leads from one to the next."""

    def __init__(self, trace: Trace) -> None:
        assert trace.precision is not None
        self.trace = trace
        self.rows = trace.precision.measured
        self.values: dict[int, int] = {}  # by tensor: the row of its value
        # by tensor and pass: the rows of its gradient
        self.gradients: dict[tuple[int, int], list[int]] = {}
        self.by_operation: dict[int, list[int]] = {}  # forward rows
        for i, row in enumerate(self.rows):
            if row.dtype not in ROUNDING:
                continue
            if row.passed is not None:
                self.gradients.setdefault((row.tensor, row.passed), []).append(i)
            elif row.operation is not None:
                self.values[row.tensor] = i
                self.by_operation.setdefault(row.operation, []).append(i)
        self.vague: VagueShadows | None = None
        self.vague = VagueShadows(self)

    def maker(self, row: Measured) -> Operation | None:
        """Return the operation that a row is of."""
        return None if row.operation is None else self.trace.operations[row.operation]

    def record(self, row: Measured) -> Op | None:
        """Return the record of that operation's operator."""
        operation = self.maker(row)
        return None if operation is None else record_of(operation.name)

    def is_vague(self, i: int) -> bool:
        """Return whether a row only seems to be exact: its shadow has a larger error than
        rounding.
        """
        row = self.rows[i]
        if self.vague is None or row.dtype not in ROUNDING or row.error:
            return False
        return self.vague.relative(i) > ROUNDING[row.dtype]

    def relative(self, i: int) -> float:
        """Return the relative error of a row: at most 1, or NOT_FINITE. It is not smaller than that
        of its shadow.
        """
        row = self.rows[i]
        if self.is_vague(i) and self.vague is not None:
            return min(self.vague.relative(i), 1.0)
        return (
            min(row.error * ROUNDING[row.dtype], 1.0)
            if isfinite(row.error) or row.norm == 0
            else NOT_FINITE
        )

    def is_infinite(self, i: int) -> bool:
        """Return whether the run's own value or gradient of a row has an inf or nan, as far as its
        values were kept.
        """
        row = self.rows[i]
        tensor = self.trace.tensors[row.tensor]
        if row.passed is None:
            return tensor.value is not None and not tensor.value.all_finite
        steps = [
            s for s in self.trace.steps if (s.number, s.function) == (row.passed, tensor.function)
        ]
        return any(
            not value.all_finite
            for s in steps
            for value in (*s.arrived, *s.upstream)
            if value is not None
        )

    def of_value(self, tensor: int) -> int | None:
        """Return the row of a tensor's value. A tensor that views another's data has that
        operation's row.
        """
        if tensor in self.values:
            return self.values[tensor]
        operation = self.trace.tensors[tensor].operation
        return None if operation is None else next(iter(self.by_operation.get(operation, ())), None)

    def of_gradient(self, tensor: int, passed: int, before: int) -> int | None:
        """Return the last row of a tensor's gradient that stands before another row: that of the
        sum, if several.
        """
        return next(
            (i for i in reversed(self.gradients.get((tensor, passed), ())) if i < before), None
        )

    # ---- one row

    def sources(self, i: int) -> list[tuple[int, float]]:
        """Return the rows that a row's error comes from, each with its share."""
        row = self.rows[i]
        if self.is_vague(i) and self.vague is not None:
            return self.vague.parts[i]
        if row.operation is None:
            return self._parts(i)
        shares = []
        for source in row.sources or self._inputs(row):
            j = (
                self.of_gradient(source.tensor, row.passed or 0, i)
                if source.of_gradient
                else self.of_value(source.tensor)
            )
            if j is not None and j < i:
                shares.append((j, source.share))
        return shares if row.sources else self._shared(row, [j for j, _ in shares])

    def _parts(self, i: int) -> list[tuple[int, float]]:
        """Return the rows that a sum of gradients has, with shares as if their errors were
        independent.
        """
        row = self.rows[i]
        assert row.passed is not None
        parts = [
            j
            for j in self.gradients[row.tensor, row.passed]
            if j < i and self.rows[j].operation is not None
        ]
        return self._shared(row, parts)

    def _shared(self, row: Measured, parts: list[int]) -> list[tuple[int, float]]:
        """Share the inherited error of a row among others by their absolute errors."""
        bad = [j for j in parts if self.relative(j) == NOT_FINITE]
        if bad:
            return [(j, 1 / len(bad)) for j in bad]
        sizes = [
            self.relative(j) * (self.rows[j].norm if row.operation is None else 1.0) for j in parts
        ]
        largest = max(sizes, default=0.0) or 1.0
        sizes = [(size / largest) ** 2 for size in sizes]
        total = sum(sizes)
        if not total or not isfinite(total):
            return []
        added = row.added / row.inherited if row.inherited else inf
        inherited = 1.0 if not isfinite(row.inherited) else 1 / (1 + added * added)
        return [(j, size / total * inherited) for j, size in zip(parts, sizes, strict=True)]

    def _inputs(self, row: Measured) -> Iterator[Any]:
        """Yield what a row's operation read, where it was not measured what brought which part of
        the error.
        """
        assert row.operation is not None
        operation = self.trace.operations[row.operation]
        if row.inherited:
            yield from (
                ErrorSource(tensor, False, 0.0) for tensor in dict.fromkeys(operation.tensors)
            )
            if row.passed is not None:
                yield from (ErrorSource(tensor, True, 0.0) for tensor in operation.outputs)

    def is_cast(self, i: int) -> bool:
        """Return whether a row only rounds one operand to a shorter dtype."""
        row = self.rows[i]
        if (
            row.operation is None
            or row.wide_input == row.dtype
            or row.terms != 1
            or row.added > 1.0
        ):
            return False
        is_unary = len(set(self.trace.operations[row.operation].tensors)) == 1
        return is_unary and ROUNDING.get(row.wide_input, 1.0) < ROUNDING[row.dtype]

    def unit_of(self, i: int) -> float:
        """Return the rounding that an operation does not get below: its dtype's; that of its input
        for a cast.
        """
        row = self.rows[i]
        return ROUNDING[row.wide_input] if self.is_cast(i) else ROUNDING[row.dtype]

    def emptied(self, i: int) -> int | None:
        """Return the row whose elements became 0, if a result is not finite for that; None if there
        is not one.

        Where all elements are wrong on the way, the way is sure; else it is that to the last row
        with such elements.
        """
        if self.relative(i) != NOT_FINITE:
            return None
        sure = self._emptied(i, NOTHING_LEFT)
        return self._emptied(i, 0.0) if sure is None else sure

    def _emptied(self, i: int, least: float) -> int | None:
        seen = {i}
        left = [i]
        while left:
            row = self.rows[index := left.pop()]
            if row.underflowed and row.added >= row.inherited:
                return index
            new = {
                j
                for j, _ in self.sources(index)
                if self.relative(j) >= least or not self.rows[j].norm
            } - seen
            seen |= new
            left = sorted({*left, *new})
        return None

    def growth(self, i: int) -> float:
        """Return by which factor a row's relative error is larger than those of its inputs."""
        unit = self.unit_of(i)
        before = max(
            (self.relative(j) for j, share in self.sources(i) if abs(share) >= FELT), default=0.0
        )
        if before >= NOTHING_LEFT:
            return 1.0
        return max(self.relative(i), unit) / max(before, unit)

    def added_part(self, i: int) -> float:
        """Return the part of a row's error that its operation added."""
        return min(max(1.0 - sum(share for _, share in self.sources(i)), 0.0), 1.0)

    def magnified(self, i: int, weight: float) -> float:
        """Return the digits that a row loses, as the logarithm of its growth."""
        return min(abs(weight), 1.0) * log10(self.growth(i))

    def accumulated(self, rows: list[int], weights: dict[int, float]) -> float:
        """Return the digits that the errors added at one place take from its last result."""
        last = max(rows)
        weight = abs(weights[last])
        part = min(sum(abs(weights[i]) * self.added_part(i) for i in rows) / weight, 1.0)
        return min(weight, 1.0) * part * log10(max(self.relative(last) / self.unit_of(last), 1.0))

    def chooser(self, i: int) -> int:
        """Return the row whose elements a row only selects or moves: that one made them."""
        row = self.rows[i]
        record = self.record(row)
        sources = [j for j, share in self.sources(i) if share >= PART]
        moves = (
            record is not None
            and record.kind in ("view", "gather", "structural")
            and row.passed is None
        )
        return self.chooser(max(sources)) if moves and sources and not row.added else i

    def sums_to_zero(self, i: int) -> bool:
        """Return whether a row is a sum of many numbers that is 0 but for their rounding, or that
        with another sign.

        That is so by construction: the mean of centred numbers, a policy's loss before its first
        step.
        """
        row = self.rows[i]
        operation = self.maker(row)
        if operation is None or row.passed is not None:
            return False
        if operation.name == "neg":
            source = self.of_value(operation.tensors[0])
            return source is not None and source < i and self.sums_to_zero(source)
        size = row.norm * row.terms if operation.name == "mean" else row.norm
        is_sum = operation.name in ("sum", "mean") and row.terms >= MANY_TERMS
        return (
            is_sum
            and row.elements == 1
            and 0 < size <= ROUNDING[row.dtype] * row.terms * row.summand
        )

    # ---- a target

    def weights(self, target: int) -> dict[int, float]:
        """Return by row the part of a target's error that goes through it."""
        weights = {target: 1.0}
        for i in range(target, -1, -1):
            weight = weights.get(i)
            if weight:
                for j, share in self.sources(i):
                    weights[j] = weights.get(j, 0.0) + weight * share
        return weights

    def unit(self, target: int, weights: dict[int, float]) -> float:
        """Return the rounding that the target's error is measured in: that of the shortest dtype
        computed in.
        """
        short = [i for i, weight in weights.items() if abs(weight) >= PART and not self.is_cast(i)]
        return max(ROUNDING[self.rows[i].dtype] for i in (target, *short))

    def lost(self, target: int, weights: dict[int, float], scale: float = 1.0) -> float:
        """Return how many decimal digits a target lost, of those that its dtype has; `scale`
        multiplies its error.
        """
        error = self.relative(target)
        return log10(
            max(error * (scale if error < NOT_FINITE else 1.0) / self.unit(target, weights), 1.0)
        )

    def origins(self, target: int, weights: dict[int, float]) -> list[Origin]:
        """Return the places where a target lost its digits, the one that loses the most first."""
        groups: dict[Any, list[tuple[float, int]]] = {}
        for i, weight in weights.items():
            if abs(weight) >= FELT:
                maker = self.chooser(i)
                groups.setdefault(self.place(maker), []).append((self.magnified(i, weight), maker))
        most = self.lost(target, weights) if self.relative(target) < NOT_FINITE else inf
        origins = []
        for group in groups.values():
            ordered = sorted(group, key=lambda pair: (-pair[0], pair[1]))
            rows = list(dict.fromkeys(i for _, i in ordered))
            part = min(max(abs(weights[i]) for i in rows), 1.0)
            magnified = sum(digits for digits, _ in group)
            added = self.accumulated(rows, weights)
            if added > magnified:
                rows.sort(reverse=True)
            if max(magnified, added) > 0:
                origins.append(
                    Origin(tuple(rows), min(max(magnified, added), most), added > magnified, part)
                )
        return sorted(origins, key=lambda origin: (-origin.digits, origin.rows[0]))

    def place(self, i: int) -> Any:
        """Return what the rows of one place have in common: the span and the operator, forward or
        backward.
        """
        row = self.rows[i]
        if row.operation is None:
            return ("sum", row.tensor)
        operation = self.trace.operations[row.operation]
        return (operation.span or row.operation, operation.name, row.passed is None)
