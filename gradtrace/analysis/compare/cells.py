"""The quantities that a comparison decides about, and what each was computed from.

A cell is the value of a tensor, ("value", id), or its gradient, ("grad", id). A leaf's later
version comes from the earlier version and its gradient; a gradient from the gradients and inputs of
the operations that used the tensor.
"""

from __future__ import annotations

from math import prod

from gradtrace.analysis.compare.align import Alignment
from gradtrace.analysis.compare.distance import INFINITY, least, relative
from gradtrace.analysis.compare.runs import RecordedRun, is_product
from gradtrace.analysis.compare.tolerance import ROUNDING, Tolerance, base_of
from gradtrace.annotations import Any
from gradtrace.engine.data.lazy import np
from gradtrace.engine.operators.tables import function_table
from gradtrace.trace.array_summary import norm_of
from gradtrace.trace.operands import record_of
from gradtrace.trace.record import Operation, Value

VALUE = "value"
GRAD = "grad"
Cell = tuple[str, int]
CASTS = frozenset({"to", "bfloat16", "half", "float", "double", "type", "type_as"})
UPDATED = (
    # the relative difference of two updates that roundings explain: Adam divides small gradients by
    # small ones
    1e-3
)
CANCELLED = 64.0  # roundings of its terms, at most, that a sum is if they cancel
AMPLIFIED = 3000.0  # how much an update may amplify a difference of gradients
SPLITS = ("split", "chunk")
SCALED = function_table("analysis.compare.cells.SCALED", frozenset({"neg", "mul", "div"}))
ADDED = frozenset({"add", "sub", "add_", "sub_", "linear", "addmm", "rsub"})


def sources(run: RecordedRun, cell: Cell) -> list[Cell]:
    """Return the cells that a cell was computed from; none for an input."""
    kind, tensor = cell
    record = run.tensors[tensor]
    if kind == GRAD:
        edited = run.edited.get(tensor)
        return gradient_sources(run, tensor) if edited is None else [(VALUE, edited)]
    if tensor in run.holds:
        return gradient_sources(run, run.holds[tensor])
    if record.operation is not None:
        return [(VALUE, i) for i in dict.fromkeys(run.read(tensor))]
    earlier = run.earlier(tensor)
    if earlier is None:
        return []
    cells = [(VALUE, earlier)]
    if earlier in run.grads or run.tensors[earlier].requires_grad:
        return [*cells, (GRAD, earlier)]
    return cells + [
        (VALUE, i)
        for o in run.uses.get(earlier, ())
        for i in run.operations[o].tensors
        if i != earlier
    ]


def gradient_sources(run: RecordedRun, tensor: int) -> list[Cell]:
    cells: list[Cell] = []
    for number in run.uses.get(tensor, ()):
        operation = run.operations[number]
        outputs = [i for i in operation.outputs if run.tensors[i].requires_grad]
        if not outputs:
            continue
        cells += [(GRAD, i) for i in outputs if i in run.grads]
        cells += [(VALUE, i) for i in (*operation.tensors, *outputs)]
    earlier = run.earlier(tensor) if run.tensors[tensor].operation is None else None
    if earlier is not None and earlier in run.grads:
        cells.append((GRAD, earlier))
    return list(dict.fromkeys(cells))


class Cells:
    """The differences of paired cells, by the ids of A, and whether each is within the
    tolerance.
    """

    def __init__(self, pairs: Alignment, tolerance: Tolerance) -> None:
        self.pairs = pairs
        self.tolerance = tolerance
        self.a = pairs.a
        self.b = pairs.b
        self.base: dict[int, float] = {}
        self.length: dict[int, float] = {}
        # of which the difference is large only beside what is left of its terms
        self.cancelled: set[Cell] = set()
        self.by_statistics: set[Cell] = set()  # of which only statistics are known
        self._inherited: dict[int, float] = {}
        self._rounding_masks: dict[int, Any] = {}
        self._judged: dict[Cell, tuple[float | None, bool]] = {}
        self.widest = 0.0
        self.longest = 1.0
        self.has_short_layers = self.differs_in_some_layers()
        for t in self.a.tensors:
            self.measure(t.id)
        self.longest *= 2  # of a gradient: there and back
        # in the order of the run, since what cancels is judged by what it was computed from
        for i in sorted(pairs.partner):
            self.judged((VALUE, i))

    def differs_in_some_layers(self) -> bool:
        """Whether another dtype is that of some layers, which is a difference, not that of a
        run: not all weights have it, or operations of the program cast them.
        """
        pairs = [
            (self.a.tensors[i].dtype, self.b.tensors[j].dtype)
            for i, j in self.pairs.partner.items()
            if self.a.tensors[i].is_parameter and i in self.a.live and len(self.a.shape(i)) > 1
        ]
        others = [first != second for first, second in pairs]
        if any(others):
            return not all(others)
        products = [
            self.a.tensors[i].dtype != self.b.tensors[j].dtype
            for i, j in self.pairs.partner.items()
            if is_product(self.a.maker(i)) and is_product(self.b.maker(j))
        ]
        if any(products) and not all(products):
            return True
        return casts_parameter(self.a) != casts_parameter(self.b)

    def measure(self, tensor: int) -> None:
        """Note the precision of a tensor and the length of the sums on its way, from its
        operation's inputs.
        """
        record = self.a.tensors[tensor]
        partner = self.pairs.partner.get(tensor)
        dtypes = (
            {record.dtype} if partner is None else {record.dtype, self.b.tensors[partner].dtype}
        )
        base = (min if self.has_short_layers else max)(map(base_of, dtypes))
        length = 1.0
        if record.operation is not None:
            operation = self.a.operations[record.operation]
            base = max([base, *(self.base.get(i, 0.0) for i in operation.tensors)]) if base else 0.0
            length = self.a.length(operation) + max(
                (self.length.get(i, 1.0) for i in operation.tensors), default=0.0
            )
        elif tensor in self.a.holds:
            base = max(base, self.widest) if base else 0.0
            length = 2 * self.longest
        elif (earlier := self.a.earlier(tensor)) is not None and earlier in self.base:
            base = max(base, self.widest) if base else 0.0
            length = self.longest
        self.base[tensor] = base
        self.length[tensor] = length
        self.widest = max(self.widest, base)
        self.longest = max(self.longest, length)

    # ---- one cell

    def values(self, cell: Cell) -> tuple[Value | None, Value | None]:
        kind, i = cell
        j = self.pairs.partner[i]
        if kind == GRAD:
            return self.pairs.as_in_b(i, self.a.grads.get(i)), self.b.grads.get(j)
        return self.pairs.values(i, j)

    def gap(self, cell: Cell) -> float | None:
        """Return the relative difference of a cell; None if it has no partner or is not known in
        either run.
        """
        return self.judged(cell)[0]

    def bad(self, cell: Cell) -> bool:
        """Whether a paired cell differs by more than the tolerance."""
        return self.judged(cell)[1]

    def good(self, cell: Cell) -> bool:
        """Whether a cell is known to be equal within the tolerance."""
        gap, bad = self.judged(cell)
        return gap is not None and not bad

    def judged(self, cell: Cell) -> tuple[float | None, bool]:
        if cell not in self._judged:
            self._judged[cell] = (
                self.judge(cell) if cell[1] in self.pairs.partner else (None, False)
            )
        return self._judged[cell]

    def judge(self, cell: Cell) -> tuple[float | None, bool]:
        kind, i = cell
        first, second = self.values(cell)
        if first is None or second is None:
            watched = self.is_leaf(i) or bool(self.a.trace.steps and self.b.trace.steps)
            lost = kind == GRAD and (first is None) != (second is None) and watched
            lost = lost and not (self.b if second is None else self.a).has_unseen_gradients
            if lost:
                return INFINITY, True
            nothing = (
                kind == GRAD
                and first is second
                and (self.is_leaf(i) or not self.a.tensors[i].requires_grad)
            )
            return (0.0 if nothing else None), False
        gap = (
            self.pairs.distance(i, self.pairs.partner[i])
            if kind == VALUE
            else relative(first, second)
        )
        if gap is not None:
            return self.judge_gap(cell, gap, first, second)
        at_least = least(first, second)
        if at_least is None:
            return None, False
        self.by_statistics.add(cell)
        gap, bad = self.judge_gap(cell, at_least, first, second)
        return (gap, True) if bad else (None, False)

    def judge_gap(self, cell: Cell, gap: float, first: Value, second: Value) -> tuple[float, bool]:
        """Return the relative difference of a cell's values, and whether it is beyond the
        tolerance.
        """
        kind, i = cell
        if self.tolerance.exact:
            return gap, gap > 0 or first.dtype != second.dtype or first.shape != second.shape
        size = max(first.norm, second.norm) if gap < INFINITY else 0.0
        if self.tolerance.atol and gap * size <= self.tolerance.atol * max(1, first.numel) ** 0.5:
            return gap, False
        if kind == VALUE and self.is_update(i):
            differs = self.update_differs(i, gap)
            if not differs and gap > self.tolerance.allowed(self.base[i], self.length[i]):
                self.cancelled.add(cell)
            return gap, differs
        if kind == GRAD:
            allowed = self.tolerance.allowed(max(self.widest, base_of(first.dtype)), self.longest)
        else:
            allowed = self.tolerance.allowed(self.base[i], self.length[i])
        if gap <= allowed:
            return gap, False
        if gap * size <= self.floor(cell, allowed):
            self.cancelled.add(cell)
            return gap, False
        return gap, True

    def is_rounding(self, cell: Cell) -> bool:
        """Whether a value differs only by the roundings of terms that cancel: where it came from
        does not matter.
        """
        return cell in self.cancelled and not (cell[0] == VALUE and self.is_update(cell[1]))

    def is_leaf(self, tensor: int) -> bool:
        return self.a.tensors[tensor].operation is None

    def is_update(self, tensor: int) -> bool:
        """Whether a cell is a parameter after an optimiser's step."""
        return (
            self.is_leaf(tensor)
            and self.a.tensors[tensor].requires_grad
            and self.a.earlier(tensor) is not None
        )

    def floor(self, cell: Cell, allowed: float) -> float:
        """Return the difference that roundings explain where terms cancel: a result much smaller
        than its terms.
        """
        kind, i = cell
        if kind == GRAD or i in self.a.holds:
            i = self.a.holds.get(i, i)
            if not self.is_leaf(i):
                return 0.0
            size = self.a.tensors[i].value
            largest = 0.0
            for use in self.a.uses.get(i, ()) if size is not None else ():
                for o in self.a.operations[use].outputs:
                    sent = self.a.grads.get(o)
                    if sent is None or size is None or sent.numel <= size.numel or not size.numel:
                        continue
                    # differences of one sign in all terms add up
                    apart = (self.gap((GRAD, o)) or 0.0) * (sent.numel / size.numel) ** 0.5
                    share = allowed if self.bad((GRAD, o)) else max(allowed, apart)
                    largest = max(largest, share * sent.norm)
            return largest
        maker = self.a.tensors[i].operation
        if maker is None:
            return 0.0
        operation = self.a.operations[maker]
        inherited = [
            self.gap((VALUE, t)) or 0.0 for t in operation.tensors if not self.bad((VALUE, t))
        ]
        single = ROUNDING.get(self.a.tensors[i].dtype, 0.0)
        rounding = max((16 if single < 1e-6 else 4) * single, 2 * max(inherited, default=0.0))
        maker_b = self.b.maker(self.pairs.partner[i])
        added = max(terms(self.a, operation), 0.0 if maker_b is None else terms(self.b, maker_b))
        return rounding * added

    def update_differs(self, i: int, gap: float) -> bool:
        """Whether an update differs by more than the differences of the gradients so far
        explain.
        """
        difference = self.update_gap(i, self.pairs.partner[i])
        if difference is None:
            difference = gap
        return difference > self.allowed_of_update() + AMPLIFIED * self.inherited(i)

    def is_equal_update(self, i: int) -> bool:
        """Whether an update is known to be equal, whatever the gradients are."""
        difference = self.update_gap(i, self.pairs.partner[i])
        return difference is not None and difference <= self.allowed_of_update()

    def allowed_of_update(self) -> float:
        return max(UPDATED, self.tolerance.allowed(self.widest, self.longest))

    def inherited(self, tensor: int) -> float:
        """Return the largest relative difference of the gradients that led to a version of a
        parameter.
        """
        way = []
        while tensor not in self._inherited and (earlier := self.a.earlier(tensor)) is not None:
            way.append(tensor)
            tensor = earlier
        largest = self._inherited.get(tensor, 0.0)
        for version in reversed(way):
            earlier = self.a.earlier(version)
            if earlier in self.pairs.partner:
                largest = max(largest, relative(*self.values((GRAD, earlier))) or 0.0)
            self._inherited[version] = largest
        return largest

    def update_gap(self, i: int, j: int) -> float | None:
        """Return the relative difference of two updates; None if the elements were not kept."""
        moves = self.moves(i, j)
        if moves is None:
            return None

        first, second, rounding = moves
        mask = self.rounding_mask(i)
        if mask is not None and mask.shape == first.shape and not mask.all():
            first = np.where(mask, 0, first)
            second = np.where(mask, 0, second)
        size = max(norm_of(first), norm_of(second))
        gap = max(0.0, norm_of(first - second) - rounding)
        return gap / size if size > rounding else 0.0

    def rounding_mask(self, tensor: int) -> Any:
        """Return which elements of a parameter had gradients that are roundings in any step before
        this version; None if no step is known to have such elements.
        """
        versions = []
        while tensor not in self._rounding_masks:
            earlier = self.a.earlier(tensor)
            if earlier is None:
                break
            versions.append((tensor, earlier))
            tensor = earlier
        mask = self._rounding_masks.get(tensor)
        for version, earlier in reversed(versions):
            mask = self._rounding_masks[version] = either(mask, self.cancelled_elements(earlier))
        return mask

    def cancelled_elements(self, tensor: int) -> Any:
        """Return which elements of the gradient of a bias are roundings in both runs: sums that
        are small beside the terms which they add. None if the terms are not known.
        """
        cell = GRAD, tensor
        if tensor not in self.pairs.partner or self.bad(cell):
            return None
        first, second = self.values(cell)
        if first is None or second is None or not first.is_whole or not second.is_whole:
            return None
        sums_a = sums_of_terms(self.a, tensor)
        sums_b = sums_of_terms(self.b, self.pairs.partner[tensor])
        if sums_a is None or sums_b is None or not first.shape == second.shape == sums_a.shape:
            return None
        largest = np.maximum(np.abs(elements(first)), np.abs(elements(second)))
        rounding = ROUNDING.get(first.dtype, 0.0)
        return largest <= CANCELLED * rounding * np.minimum(sums_a, sums_b)

    def moves(self, i: int, j: int) -> tuple[Any, Any, float] | None:
        """Return the updates that led to two versions, and the size of their roundings; None if
        they are not known.
        """
        i0 = self.a.earlier(i)
        j0 = self.b.earlier(j)
        if i0 is None or j0 is None:
            return None
        values = [
            self.pairs.as_in_b(i, self.a.tensors[i].value),
            self.pairs.as_in_b(i, self.a.tensors[i0].value),
            self.b.tensors[j].value,
            self.b.tensors[j0].value,
        ]
        arrays = [elements(value) for value in values]
        if any(array is None for array in arrays) or len({array.shape for array in arrays}) > 1:
            return None
        rounding = max(
            ROUNDING.get(value.dtype, 0.0) * value.norm for value in values if value is not None
        )
        return arrays[0] - arrays[1], arrays[2] - arrays[3], 2 * rounding


def either(first: Any, second: Any) -> Any:
    """Return the elements that one of two masks marks; None stands for no marks."""
    if first is None or second is None or first.shape != second.shape:
        return second if first is None else first
    return first | second


def sums_of_terms(run: RecordedRun, bias: int) -> Any:
    """Return the sums of the sizes of the terms that each element of a bias's gradient adds; None
    if they are not known, or if something else than additions used the bias.
    """
    if bias in run.parts:
        sums = [sums_of_terms(run, part) for part in run.parts[bias]]
        return None if any(part is None for part in sums) else np.concatenate(sums)
    shape = run.shape(bias)
    total = None
    for use in run.uses.get(bias, ()) if len(shape) == 1 else ():
        operation = run.operations[use]
        if operation.name in SPLITS:
            sums = [sums_of_terms(run, part) for part in operation.outputs]
            return None if any(part is None for part in sums) else np.concatenate(sums)
        for output in operation.outputs:
            sent = run.grads.get(output)
            added = None if sent is None else sums_over(sent, shape[0], operation.name)
            if added is None:
                return None
            total = added if total is None else total + added
    return total


def sums_over(sent: Value, size: int, name: str) -> Any:
    """Return the sums of the sizes of a gradient over all dims but the one of the bias that an
    operator adds; if only the norm is known, what they are on the average. None if it adds none.
    """
    dim = 1 if name.startswith("conv") else -1
    if not (name in ADDED or dim == 1) or len(sent.shape) < 2 or sent.shape[dim] != size:
        return None
    if not sent.is_whole:
        rows = sent.numel / size
        return np.full(size, sent.norm * (rows / size) ** 0.5) if sent.is_measured else None
    sizes = np.abs(np.asarray(sent.elements, "float64"))
    return np.moveaxis(sizes, dim, -1).reshape(-1, size).sum(0)


def casts_parameter(run: RecordedRun) -> bool:
    """Whether an operation of the program makes a copy of a parameter in another dtype."""
    return any(
        run.tensors[i].is_parameter and run.tensors[o].dtype != run.tensors[i].dtype
        for operation in run.operations
        if operation.name in CASTS
        for i in operation.tensors
        for o in operation.outputs
        if o in run.live
    )


def elements(value: Value | None) -> Any:
    """Return the elements as a flat array, or a sketch, which is linear in them too; None if
    neither is known.
    """
    if value is None:
        return None
    if value.is_whole:
        return np.asarray(value.elements, "float64").reshape(-1)
    return None if value.summary.sketch is None else np.asarray(value.summary.sketch)


def terms(run: RecordedRun, operation: Operation) -> float:
    """Return the size of the terms that an operation adds, or that were added before what it
    scales; 0 if none were.
    """
    scale = 1.0
    while operation.name in SCALED and operation.outputs and operation.tensors:
        result = run.tensors[operation.outputs[0]].value
        scaled = run.tensors[operation.tensors[0]].value
        maker = run.maker(operation.tensors[0])
        if maker is None or result is None or scaled is None or not scaled.norm:
            return 0.0
        scale *= result.norm / scaled.norm
        operation = maker
    return scale * added_terms(run, operation)


def added_terms(run: RecordedRun, operation: Operation) -> float:
    """Return the size of the terms that an operation adds; 0 if it does not add."""
    record = record_of(operation.name)
    kind = "" if record is None else record.kind
    norms = [
        v.norm
        for i in operation.tensors
        if (v := run.tensors[i].value) is not None and v.is_measured
    ]
    is_sum = operation.name in ("sum", "mean")
    if not norms or not (kind == "contraction" or is_sum or operation.name in ADDED):
        return 0.0
    size = max(norms)
    if is_sum:
        results = max(1, prod(run.shape(operation.outputs[0])))
        count = max(1.0, prod(run.shape(operation.tensors[0])) / results)
        size *= count**0.5 / (count if operation.name == "mean" else 1.0)
    if kind == "contraction" or operation.name == "linear":
        count = max(1, *run.shape(operation.tensors[0])[-1:])
        size = max(size, norms[0] * max(norms[1:], default=1.0) / count**0.5)
    return size if size < INFINITY else 0.0
