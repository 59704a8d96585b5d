"""Where a difference began, of what kind it is, and what is known of its reason."""

from __future__ import annotations

from gradtrace.analysis.compare.cells import GRAD, VALUE, Cell, Cells, elements
from gradtrace.analysis.compare.distance import relative
from gradtrace.analysis.compare.relations import close_to_multiple, relation
from gradtrace.analysis.compare.runs import RecordedRun, base_name
from gradtrace.annotations import Any
from gradtrace.engine.data.lazy import np
from gradtrace.trace.operands import DEFAULTS, record_of
from gradtrace.trace.record import Operation, Value

Side = tuple["int | None", "int | None"]  # a tensor and an operation
INPUT, PARAMETER, FORWARD, BACKWARD, UPDATE = "input", "parameter", "forward", "backward", "update"
DRAW, SHAPE, ONLY = "random draw", "shape", ("only in A", "only in B")
TRAINING = frozenset({"training", "train", "use_input_stats"})
REDUCTIONS = {"0": "none", "1": "mean", "2": "sum"}  # as PyTorch's functions pass them on
COPIES = frozenset({"detach", "contiguous", "clone"})


# ---- places


def place_of(cells: Cells, i: int, j: int, only_a: list[Cell], only_b: list[Cell]) -> tuple[Side, Side]:
    """Return tensor and operation of a forward difference in both runs: of the part that only one has, its begin."""
    sides: list[Side] = []
    for run, tensor, alone in ((cells.a, i, only_a), (cells.b, j, only_b)):
        operation = begin(cells, run, tensor, alone)
        if operation is None or not useful(cells, i, j, only_a, only_b):
            operation = run.tensors[tensor].operation
            sides.append((tensor, operation))
        else:
            sides.append((None, operation))
    return sides[0], sides[1]


def useful(cells: Cells, i: int, j: int, only_a: list[Cell], only_b: list[Cell]) -> bool:
    """Whether the part that only one run has says more than the operation after it: not just another layout."""
    parts = begin(cells, cells.a, i, only_a), begin(cells, cells.b, j, only_b)
    operations = [run.operations[n] for run, n in zip((cells.a, cells.b), parts, strict=True) if n is not None]
    if not all(is_view(operation) for operation in operations):
        return True
    makers = cells.a.tensors[i].operation, cells.b.tensors[j].operation
    if makers[0] is None or makers[1] is None:
        return False
    operation_a, operation_b = cells.a.operations[makers[0]], cells.b.operations[makers[1]]
    return base_name(operation_a) == base_name(operation_b) and (
        None in parts or operation_a.constants == operation_b.constants
    )


def begin(cells: Cells, run: RecordedRun, tensor: int, alone: list[Cell]) -> int | None:
    """Return the first operation of the part that only one run has, up to a tensor; a view only if all are views."""
    paired = cells.pairs.operations if run is cells.a else cells.pairs.sources
    part = [*alone, (VALUE, tensor)] if alone else []
    operations = {m for kind, i in part if kind == VALUE and (m := run.tensors[i].operation) is not None}
    unpaired = sorted(operations - paired.keys())
    return next((n for n in unpaired if not is_view(run.operations[n])), unpaired[0] if unpaired else None)


def is_view(operation: Operation) -> bool:
    record = record_of(operation.name)
    return operation.name in COPIES or (record is not None and record.kind == "view")


def place_of_gradient(cells: Cells, i: int, j: int) -> tuple[Side, Side]:
    """Return the operations through which a gradient came that differs, of those that used the tensor."""
    a, b = cells.a, cells.b
    if a.tensors[i].requires_grad != b.tensors[j].requires_grad:
        i, j = where_lost(cells, i, j)
        return (i, a.tensors[i].operation), (j, b.tensors[j].operation)
    uses_a, uses_b = a.uses.get(i, []), b.uses.get(j, [])
    pairing = cells.pairs
    alone_a = [n for n in uses_a if pairing.operations.get(n) not in uses_b]
    alone_b = [n for n in uses_b if pairing.sources.get(n) not in uses_a]
    if alone_a or alone_b:
        return (i, next(iter(alone_a or uses_a), None)), (j, next(iter(alone_b or uses_b), None))
    pairs = [(n, pairing.operations[n]) for n in uses_a]
    for n, m in pairs:
        gradient_a, gradient_b = sent(a, n, i), sent(b, m, j)
        if (gradient_a is None) != (gradient_b is None) or (relative(gradient_a, gradient_b) or 0) > 1e-6:
            return (i, n), (j, m)
    return ((i, pairs[0][0]), (j, pairs[0][1])) if pairs else ((i, None), (j, None))


def where_lost(cells: Cells, i: int, j: int) -> tuple[int, int]:
    """Return the first tensors on the way to these of which only one run's requires grad."""
    a, b, pairs = cells.a, cells.b, cells.pairs
    lost, partner = (b, pairs.source) if a.tensors[i].requires_grad else (a, pairs.partner)
    keeper = a if lost is b else b
    tensor, twin = (j, i) if lost is b else (i, j)
    while (operation := lost.tensors[tensor].operation) is not None:
        before = [t for t in lost.operations[operation].tensors if not lost.tensors[t].requires_grad]
        before = [t for t in before if t not in partner or keeper.tensors[partner[t]].requires_grad]
        before = [t for t in before if t in partner or lost.tensors[t].operation is not None]
        if not before:
            break
        tensor = before[0]
        twin = partner.get(tensor, twin)
    return (twin, tensor) if lost is b else (tensor, twin)


def sent(run: RecordedRun, operation: int, tensor: int) -> Value | None:
    """Return the gradient that the backward of an operation sent to one of its inputs, if the visit was recorded."""
    record = run.operations[operation]
    visit = run.visits.get(-1 if record.function is None else record.function)
    edge = next((o.edge for o in record.inputs if o.tensor == tensor and o.edge is not None), None)
    if visit is None or edge is None or edge >= len(visit.downstream):
        return None
    return visit.downstream[edge]


# ---- kind and reason


def reason_of(cells: Cells, cell: Cell, sides: tuple[Side, Side]) -> tuple[str, str]:
    """Return the kind of a difference and its reason in words; "" if none is known."""
    kind, i = cell
    operations = [
        None if side[1] is None else run.operations[side[1]]
        for run, side in zip((cells.a, cells.b), sides, strict=True)
    ]
    if kind == GRAD:
        return BACKWARD, of_gradient(cells, i, operations)
    if cells.is_update(i):
        return UPDATE, of_update(cells, i)
    if cells.is_leaf(i):
        return of_leaf(cells, i)
    first, second = cells.values(cell)
    drawn = [
        operation is not None and draws(run, operation)
        for run, operation in zip((cells.a, cells.b), operations, strict=True)
    ]
    only = only_one(sides, i, cells)
    if first is not None and second is not None and first.shape != second.shape and only is None:
        return SHAPE, f"{first.shape} in A, {second.shape} in B"
    if only is not None:
        if drawn[only]:
            counterpart = "BA"[only]
            return DRAW, f"{'AB'[only]} draws here, {counterpart} does not: eval in {counterpart}, or no such operation"
        return ONLY[only], of_missing(cells, i, only)
    reason = other_options(*operations) or other_dtype(cells, i) or ""
    if all(drawn) and not reason:
        return DRAW, "another draw: other elements are 0" if other_zeros(first, second) else "another draw"
    return DRAW if all(drawn) else FORWARD, reason or relation(first, second)


def only_one(sides: tuple[Side, Side], i: int, cells: Cells) -> int | None:
    """Return 0 or 1 if only A or only B has the operation at the place of a difference; None if both have one."""
    alone = [tensor is None for tensor, _ in sides]
    return None if alone[0] == alone[1] else alone.index(True)


def draws(run: RecordedRun, operation: Operation) -> bool:
    record = record_of(operation.name)
    if (record is not None and record.kind == "random") or "dropout" in operation.name:
        return True
    return "Dropout" in run.kind_of_module(operation)


def of_leaf(cells: Cells, i: int) -> tuple[str, str]:
    """Return kind and reason of an input or parameter that differs."""
    j = cells.pairs.partner[i]
    first, second = cells.values((VALUE, i))
    uses = cells.a.uses.get(i, [])
    if not cells.a.tensors[i].is_parameter and uses and draws(cells.a, cells.a.operations[uses[0]]):
        return DRAW, "another draw: other elements are 0" if other_zeros(first, second) else "another draw"
    if first is not None and second is not None and first.shape != second.shape:
        return SHAPE, f"{first.shape} in A, {second.shape} in B"
    parameter = cells.a.tensors[i].is_parameter or cells.b.tensors[j].is_parameter
    return PARAMETER if parameter else INPUT, other_dtype(cells, i) or relation(first, second)


def of_missing(cells: Cells, i: int, only: int) -> str:
    """Return how what the next operation reads is related: there one run has an operation more."""
    j = cells.pairs.partner[i]
    makers = cells.a.tensors[i].operation, cells.b.tensors[j].operation
    if makers[0] is None or makers[1] is None:
        return ""
    operation_a, operation_b = cells.a.operations[makers[0]], cells.b.operations[makers[1]]
    for x, y in zip(operation_a.tensors, operation_b.tensors, strict=False):
        if cells.pairs.partner.get(x) != y:
            said = relation(cells.a.tensors[x].value, cells.b.tensors[y].value)
            if said:
                return f"of what {operation_a.name} gets, {said}"
    return ""


def other_options(one: Operation | None, other: Operation | None) -> str:
    """Return the options of two calls of one operator that differ, as "eps=1e-05 in A, 0.001 in B"."""
    if one is None or other is None or base_name(one) != base_name(other):
        return ""
    first, second = named(one), named(other)
    running = [any(i.name == "mean" for i in o.inputs) for o in (one, other)]  # batch_norm in evaluation
    if one.name == "batch_norm" and running[0] != running[1]:
        return "training in A, eval in B" if running[1] else "eval in A, training in B"
    said = []
    for key in dict.fromkeys([*first, *second]):
        x, y = first.get(key, default(key)), second.get(key, default(key))
        if x == y:
            continue
        if key in TRAINING:
            said.append("eval in A, training in B" if x == "False" else "training in A, eval in B")
        else:
            said.append(f"{key}={x} in A, {y} in B" if key else f"{x} in A, {y} in B")
    return "; ".join(said)


def named(operation: Operation) -> dict[str, str]:
    by_key: dict[str, str] = {}
    plain = []
    for text in operation.constants:
        key, equals, value = text.partition("=")
        if equals and key.isidentifier():
            by_key[key] = REDUCTIONS.get(value, value) if key == "reduction" else value
        else:
            plain.append(text)
    return by_key | ({"": ", ".join(plain)} if plain else {})


def default(key: str) -> str:
    """Return the text of an option that is not given: its default."""
    if key in TRAINING:
        return "True"
    defaults = DEFAULTS.get(key)
    return "the default" if defaults is None else str(defaults[0])


def other_dtype(cells: Cells, i: int) -> str:
    first, second = cells.a.tensors[i].dtype, cells.b.tensors[cells.pairs.partner[i]].dtype
    return f"{first} in A, {second} in B" if first != second else ""


def other_zeros(first: Value | None, second: Value | None) -> bool:
    """Whether the zeros of two values are at other places."""
    if first is None or second is None or first.shape != second.shape or not first.is_whole or not second.is_whole:
        return False
    zeros: Any = (first.elements == 0) != (second.elements == 0)
    return bool(zeros.any()) if first.shape else bool(zeros)


def of_gradient(cells: Cells, i: int, operations: list[Operation | None]) -> str:
    """Return what is known of a gradient that differs though its tensor does not."""
    j = cells.pairs.partner[i]
    first, second = cells.values((GRAD, i))
    operation_a, operation_b = operations
    flags = cells.a.tensors[i].requires_grad, cells.b.tensors[j].requires_grad
    if flags[0] != flags[1]:
        operation_a, operation_b = operations
        name, maker = ("B", operation_b) if flags[0] else ("A", operation_a)
        by = f" after {maker.name}" if maker is not None else ""
        return f"in {name} it does not require grad{by}"
    for name, operation, partner in (
        ("A", operation_a, cells.pairs.operations.get(operation_a.id) if operation_a else None),
        ("B", operation_b, cells.pairs.sources.get(operation_b.id) if operation_b else None),
    ):
        if operation is not None and partner is None and operation.grad_fn is None and not operation.function:
            return f"only {name} has {operation.name}, which stops the gradient"
    if first is None or second is None:
        return "no gradient in A" if first is None else "no gradient in B"
    adds = [adds_to_earlier(run, t) for run, t in ((cells.a, i), (cells.b, j))]
    if adds[0] != adds[1]:
        return f"{'A' if adds[0] else 'B'} adds it to the gradient of an earlier pass, which was not cleared"
    said = other_options(operation_a, operation_b) or relation(first, second)
    if operation_a is not None and operation_b is not None and operation_a.grad_fn != operation_b.grad_fn:
        return "; ".join(filter(None, (f"{operation_a.grad_fn} in A, {operation_b.grad_fn} in B", said)))
    return said


def adds_to_earlier(run: RecordedRun, tensor: int) -> bool:
    """Whether a leaf had a gradient before the first pass that reached it in the record."""
    number = run.tensors[tensor].function
    visit = None if number is None else run.visits.get(number)
    return visit is not None and visit.grad_before is not None and not visit.grad_before.all_zero


def of_update(cells: Cells, i: int) -> str:
    """Return what is known of an optimiser's step that differs though parameters and gradients do not."""
    j = cells.pairs.partner[i]
    optimisers = [optimiser_of(run, t) for run, t in ((cells.a, i), (cells.b, j))]
    optimiser_a, optimiser_b = optimisers
    if optimiser_a is not None and optimiser_b is not None and optimiser_a.kind != optimiser_b.kind:
        return f"{optimiser_a.kind} in A, {optimiser_b.kind} in B"
    said = []
    if (
        optimiser_a is not None
        and optimiser_b is not None
        and optimiser_a.lr != optimiser_b.lr
        and None not in (optimiser_a.lr, optimiser_b.lr)
    ):
        said.append(f"lr={optimiser_a.lr:g} in A, {optimiser_b.lr:g} in B")
    if optimiser_a is not None and optimiser_b is not None and optimiser_a.options and optimiser_b.options:
        first, second = (dict(text.split("=", 1) for text in held.options) for held in (optimiser_a, optimiser_b))
        said += [
            f"{key}={first[key]} in A, {second[key]} in B" for key in first if first[key] != second.get(key, first[key])
        ]
    moves = cells.moves(i, j)
    if moves is not None and not said:
        said.append(of_moves(cells, i, *moves))
    return "; ".join(filter(None, said))


def optimiser_of(run: RecordedRun, tensor: int) -> Any:
    first = run.tensors[tensor].first
    return next((o for o in run.trace.optimisers if any(run.tensors[t].first == first for t in o.tensors)), None)


def of_moves(cells: Cells, i: int, first: Any, second: Any, rounding: float) -> str:
    """Return how two updates are related: one of them with Adam's moments at 0, a factor, a part of the parameter."""
    adams = ["Adam" in getattr(optimiser_of(run, t), "kind", "") for run, t in sides_of(cells, i)]
    sizes = [is_first_step(run, t, move) for (run, t), move in zip(sides_of(cells, i), (first, second), strict=True)]
    if all(adams) and sizes[0] != sizes[1]:
        name = "A" if sizes[0] else "B"
        return (
            f"each element of {name}'s update is lr in size, as in the first step of Adam: its moments are 0 in {name}"
        )
    factor = close_to_multiple(first, second)
    if factor is not None:
        return f"B's update = A's * {factor:.4g}"
    earlier = cells.a.earlier(i)
    before = None if earlier is None else elements(cells.a.tensors[earlier].value)
    decay = None if before is None or before.shape != first.shape else close_to_multiple(before, second - first)
    if decay is not None and abs(decay) < 1:
        return f"B's update = A's {'-' if decay < 0 else '+'} {abs(decay):.3g} * the parameter: weight decay"
    return ""


def sides_of(cells: Cells, i: int) -> tuple[tuple[RecordedRun, int], tuple[RecordedRun, int]]:
    return (cells.a, i), (cells.b, cells.pairs.partner[i])


def is_first_step(run: RecordedRun, tensor: int, move: Any) -> bool:
    """Whether an update is lr in size for each element, as when Adam's moments were 0: then it is lr * sign(grad)."""
    held, value = optimiser_of(run, tensor), run.tensors[tensor].value
    if held is None or not held.lr or value is None or not move.any():
        return False
    if value.is_whole:
        sizes = np.abs(move[move != 0])
        return bool(np.median(abs(sizes - held.lr)) < 0.01 * held.lr)
    size = run.tensors[tensor].update
    earlier = run.earlier(tensor)
    before = None if earlier is None else run.tensors[earlier].value
    if size is None or before is None:
        return False
    return abs(size * before.norm / (held.lr * value.numel**0.5) - 1) < 0.01
