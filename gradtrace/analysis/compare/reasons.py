"""Where a difference began, of what kind it is, and what is known of its reason."""

from __future__ import annotations

from gradtrace.analysis.compare.cells import CASTS, GRAD, VALUE, Cell, Cells, elements
from gradtrace.analysis.compare.distance import relative
from gradtrace.analysis.compare.relations import close_to_multiple, relation
from gradtrace.analysis.compare.runs import LATER, RecordedRun, base_name, is_view
from gradtrace.analysis.terms import is_dropout, settings
from gradtrace.annotations import Any, Mapping
from gradtrace.engine.data.lazy import np
from gradtrace.trace.operands import DEFAULTS, record_of
from gradtrace.trace.record import GroupRecord, Operation, OptimiserRecord, Value

Side = tuple["int | None", "int | None"]  # a tensor and an operation
INPUT = "input"
PARAMETER = "parameter"
FORWARD = "forward"
BACKWARD = "backward"
UPDATE = "update"
RANDOM = "random"
SHAPE = "shape"
ANOTHER = "another draw"
ONLY = "only"
KINDS = (INPUT, PARAMETER, FORWARD, BACKWARD, UPDATE, RANDOM, SHAPE, ONLY)
TRAINING = frozenset({"training", "train", "use_input_stats"})
REDUCTIONS = {"0": "none", "1": "mean", "2": "sum"}  # as PyTorch's functions pass them on
SCALES = ("mul", "div")
WAYS = frozenset({"foreach", "fused", "capturable", "differentiable"})  # to compute one step


# ---- places


def place_of(
    cells: Cells, i: int, j: int, only_a: list[Cell], only_b: list[Cell]
) -> tuple[Side, Side]:
    """Return tensor and operation of a forward difference in both runs: of the part that only one
    has, its begin.
    """
    scaling_a = scaling(cells, i, cells.a, i, only_a)
    scaling_b = scaling(cells, i, cells.b, j, only_b)
    if (scaling_a is None) != (scaling_b is None):
        return side(cells.a, i, scaling_a), side(cells.b, j, scaling_b)
    begin_a = begin(cells.a, cells.pairs.operations, i, only_a)
    begin_b = begin(cells.b, cells.pairs.sources, j, only_b)
    if not is_useful(cells, i, j, begin_a, begin_b):
        begin_a = begin_b = None
    side_a = side(cells.a, i, begin_a)
    side_b = side(cells.b, j, begin_b)
    if begin_a is not None and begin_b is None:
        side_b = counterpart(cells.a, cells.b, begin_a, j) or side_b
    elif begin_b is not None and begin_a is None:
        side_a = counterpart(cells.b, cells.a, begin_b, i) or side_a
    return side_a, side_b


def counterpart(run: RecordedRun, twin: RecordedRun, extra: int, tensor: int) -> Side | None:
    """Return what another run does in place of an operation that only one run has: the same
    module's operation at another place, or what gave the input of what follows, if that is in
    another module; else None.
    """
    operation = run.operations[extra]
    module = run.modules(operation)
    key = run.step_of_operation[extra], module, base_name(operation)
    twins = twin.calls.get(key, ())
    if module and len(twins) == len(run.calls[key]) == 1:
        return None, twins[0]
    maker = twin.maker(tensor)
    inside = f"{module}."
    if maker is None:
        return None
    path = twin.modules(maker)
    # the line that calls a layer is its parent's
    if not module or module in (path, path.rpartition(".")[0]):
        return None
    for i in twin.read(tensor):
        before = twin.maker(i)
        if before is not None and f"{twin.modules(before)}.".startswith(inside):
            return i, before.id
    return None


def side(run: RecordedRun, tensor: int, start: int | None) -> Side:
    return (tensor, run.tensors[tensor].operation) if start is None else (None, start)


def is_useful(cells: Cells, i: int, j: int, begin_a: int | None, begin_b: int | None) -> bool:
    """Whether the part that only one run has says more than the operation after it: not just
    another layout.
    """
    starts = [
        run.operations[n] for run, n in ((cells.a, begin_a), (cells.b, begin_b)) if n is not None
    ]
    if not all(map(is_view, starts)):
        return True
    left = cells.a.maker(i)
    right = cells.b.maker(j)
    if left is None or right is None or base_name(left) != base_name(right):
        return False
    return len(starts) < 2 or left.constants == right.constants


def begin(
    run: RecordedRun, paired: Mapping[int, int], tensor: int, alone: list[Cell]
) -> int | None:
    """Return the first operation of the part that only one run has, up to a tensor; a view only if
    all are views.
    """
    part = [*alone, (VALUE, tensor)] if alone else []
    operations = {
        m for kind, i in part if kind == VALUE and (m := run.tensors[i].operation) is not None
    }
    # contents that a tensor was made with
    fills = {
        n for n in operations if run.overwrites(run.operations[n], run.operations[n].outputs[0])
    }
    unpaired = sorted(operations - paired.keys() - fills)
    return next(
        (n for n in unpaired if not is_view(run.operations[n])), unpaired[0] if unpaired else None
    )


def place_of_gradient(cells: Cells, i: int, j: int) -> tuple[Side, Side]:
    """Return the operations through which a gradient came that differs, of those that used the
    tensor.
    """
    a = cells.a
    b = cells.b
    if a.tensors[i].requires_grad != b.tensors[j].requires_grad:
        i, j = where_lost(cells, i, j)
        return (i, a.tensors[i].operation), (j, b.tensors[j].operation)
    uses_a = a.uses.get(i, [])
    uses_b = b.uses.get(j, [])
    pairing = cells.pairs
    alone_a = [n for n in uses_a if pairing.operations.get(n) not in uses_b]
    alone_b = [n for n in uses_b if pairing.sources.get(n) not in uses_a]
    if alone_a or alone_b:
        return (i, next(iter(alone_a or uses_a), None)), (j, next(iter(alone_b or uses_b), None))
    pairs = [(n, pairing.operations[n]) for n in uses_a]
    for n, m in pairs:
        gradient_a = sent(a, n, i)
        gradient_b = sent(b, m, j)
        if (gradient_a is None) != (gradient_b is None) or (
            relative(gradient_a, gradient_b) or 0
        ) > 1e-6:
            return (i, n), (j, m)
    return ((i, pairs[0][0]), (j, pairs[0][1])) if pairs else ((i, None), (j, None))


def place_of_state(cells: Cells, i: int, j: int) -> tuple[Side, Side] | None:
    """Return the operations that wrote to a state without being its maker, such as the running
    mean of a batch_norm: the first ones that differ in their options. None for anything else.
    """
    earlier = cells.a.earlier(i)
    if not cells.is_leaf(i) or earlier is None or cells.a.tensors[i].requires_grad:
        return None
    pairs = [
        (n, cells.pairs.operations[n])
        for n in cells.a.uses.get(earlier, ())
        if n in cells.pairs.operations
    ]
    for n, m in pairs:
        if other_options(cells.a.operations[n], cells.b.operations[m]):
            return (None, n), (None, m)
    return ((None, pairs[0][0]), (None, pairs[0][1])) if pairs else None


def of_edit(cells: Cells, i: int, edits: tuple[int | None, int | None]) -> str:
    """Return what is known of operations that change a gradient after backward in one run."""
    name, run, edit = ("A", cells.a, edits[0]) if edits[1] is None else ("B", cells.b, edits[1])
    if None not in edits or edit is None:
        return relation(*cells.values((GRAD, i)))
    span = run.operations[edit].span
    clip = next((clip for clip in run.trace.clips if clip.span == span), None)
    if clip is None:
        return f"only {name} changes the gradient after backward"
    limit = "" if clip.limit is None else f", to a {clip.how} of {clip.limit:g}"
    return f"only {name} clips the gradients before the update{limit}"


def without_update(name: str, run: RecordedRun, tensor: int) -> str:
    """Return why a run does not update a parameter in a step in which the other one does."""
    updater = "A" if name == "B" else "B"
    if optimiser_of(run, tensor) is None:
        return f"only {updater} updates it: it is in no optimiser of {name}"
    return f"only {updater} updates it in this step"


def where_lost(cells: Cells, i: int, j: int) -> tuple[int, int]:
    """Return the first tensors on the way to these of which only one run's requires grad."""
    a = cells.a
    b = cells.b
    pairs = cells.pairs
    lost, partner = (b, pairs.source) if a.tensors[i].requires_grad else (a, pairs.partner)
    keeper = a if lost is b else b
    tensor, twin = (j, i) if lost is b else (i, j)
    while (operation := lost.tensors[tensor].operation) is not None:
        before = [
            t for t in lost.operations[operation].tensors if not lost.tensors[t].requires_grad
        ]
        before = [t for t in before if t not in partner or keeper.tensors[partner[t]].requires_grad]
        before = [t for t in before if t in partner or lost.tensors[t].operation is not None]
        if not before:
            break
        tensor = before[0]
        twin = partner.get(tensor, twin)
    return (twin, tensor) if lost is b else (tensor, twin)


def sent(run: RecordedRun, operation: int, tensor: int) -> Value | None:
    """Return the gradient that the backward of an operation sent to one of its inputs, if the visit
    was recorded.
    """
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
    (tensor_a, operation_a), (tensor_b, operation_b) = sides
    left = None if operation_a is None else cells.a.operations[operation_a]
    right = None if operation_b is None else cells.b.operations[operation_b]
    if kind == GRAD:
        return BACKWARD, of_gradient(cells, i, left, right)
    if cells.is_update(i):
        return UPDATE, of_update(cells, i)
    if cells.is_leaf(i) and left is None:
        return of_leaf(cells, i)
    drawn_a = left is not None and draws(cells.a, left)
    drawn_b = right is not None and draws(cells.b, right)
    if (tensor_a is None) != (tensor_b is None) and not cells.is_leaf(i):
        name, counterpart, is_drawn = (
            ("A", "B", drawn_a) if tensor_a is None else ("B", "A", drawn_b)
        )
        if is_drawn:
            return (
                RANDOM,
                f"{name} draws here, {counterpart} does not: eval in {counterpart}, or no such "
                "operation",
            )
        run, extra = (cells.a, left) if tensor_a is None else (cells.b, right)
        reason = of_cast(name, run, extra) or of_factor(cells, cell, extra)
        return f"{ONLY} {name}", reason or of_missing(cells, i)
    first, second = cells.values(cell)
    shapes = other_shape(first, second)
    if shapes:
        return SHAPE, shapes
    reason = (
        other_options(left, right)
        or other_dtype(cells, i)
        or (other_operands(cells, left, right) if not cells.is_leaf(i) else "")
    )
    if drawn_a and drawn_b:
        return RANDOM, reason or other_draw(first, second)
    return FORWARD, reason or relation(first, second)


def draws(run: RecordedRun, operation: Operation) -> bool:
    record = record_of(operation.name)
    is_random = record is not None and record.kind == "random"
    return is_random or is_dropout(run.trace, operation)


def of_leaf(cells: Cells, i: int) -> tuple[str, str]:
    """Return kind and reason of an input or parameter that differs."""
    left = cells.a.tensors[i]
    right = cells.b.tensors[cells.pairs.partner[i]]
    first, second = cells.values((VALUE, i))
    uses = cells.a.uses.get(i, [])
    if not left.is_parameter and uses and draws(cells.a, cells.a.operations[uses[0]]):
        return RANDOM, other_draw(first, second)
    shapes = other_shape(first, second)
    if shapes:
        return SHAPE, shapes
    kind = PARAMETER if left.is_parameter or right.is_parameter else INPUT
    return kind, other_dtype(cells, i) or relation(first, second)


def of_missing(cells: Cells, i: int) -> str:
    """Return how what the next operation reads is related: there one run has an operation more."""
    left = cells.a.maker(i)
    right = cells.b.maker(cells.pairs.partner[i])
    if left is None or right is None:
        return ""
    for x, y in zip(left.tensors, right.tensors, strict=False):
        if cells.pairs.partner.get(x) != y:
            related = relation(cells.a.tensors[x].value, cells.b.tensors[y].value)
            if related:
                return f"of what {left.name} gets, {related}"
    return ""


def of_cast(name: str, run: RecordedRun, extra: Operation | None) -> str:
    """Return that an operation makes a copy in another dtype, in words."""
    if extra is None or not extra.tensors or not extra.outputs:
        return ""
    first = run.tensors[extra.tensors[0]].dtype
    second = run.tensors[extra.outputs[0]].dtype
    is_cast = extra.name in CASTS and first != second
    return f"only {name} casts {first} to {second} here" if is_cast else ""


def of_factor(cells: Cells, cell: Cell, extra: Operation | None) -> str:
    """Return the factor between two single numbers that a constant of an operation explains."""
    ratio = ratio_of(cells, cell)
    return f"B = A * {ratio:.6g}" if ratio and extra is not None and scales(extra, ratio) else ""


def ratio_of(cells: Cells, cell: Cell) -> float:
    """Return the ratio of two single numbers, B's to A's; 0 if there is none."""
    first, second = cells.values(cell)
    if first is None or second is None or not first.numel == second.numel == 1:
        return 0.0
    left = float(np.asarray(first.data).reshape(())) if first.is_whole else 0.0
    right = float(np.asarray(second.data).reshape(())) if second.is_whole else 0.0
    return right / left if left else 0.0


def scales(operation: Operation, ratio: float) -> bool:
    """Whether a constant of an operation is a ratio of two numbers, or its inverse."""
    for text in operation.constants:
        try:
            constant = abs(float(text.rpartition("=")[2]))
        except ValueError:
            continue
        factor = abs(ratio)
        if constant and min(abs(factor / constant - 1), abs(factor * constant - 1)) < 1e-4:
            return True
    return False


def scaling(cells: Cells, i: int, run: RecordedRun, tensor: int, alone: list[Cell]) -> int | None:
    """Return the product or quotient with a constant on the way to a number of a run that explains
    the factor between this number in both runs.
    """
    ratio = ratio_of(cells, (VALUE, i))
    if not ratio or abs(ratio - 1) < 1e-4:
        return None
    paired = cells.pairs.operations if run is cells.a else cells.pairs.sources
    makers = [run.maker(t) for kind, t in [*alone, (VALUE, tensor)] if kind == VALUE]
    return next(
        (
            maker.id
            for maker in makers
            if maker is not None
            and maker.id not in paired
            and maker.name in SCALES
            and scales(maker, ratio)
        ),
        None,
    )


def other_options(left: Operation | None, right: Operation | None) -> str:
    """Return the options of two calls of one operator that differ, as "eps=1e-05 in A, 0.001 in
    B".
    """
    if left is None or right is None or base_name(left) != base_name(right):
        return ""
    if left.name == "batch_norm" and in_evaluation(left) != in_evaluation(right):
        return "eval in A, training in B" if in_evaluation(left) else "training in A, eval in B"
    first = options(left)
    second = options(right)
    differences = []
    for key in dict.fromkeys([*first, *second]):
        x = first.get(key, default(key))
        y = second.get(key, default(key))
        if x == y:
            continue
        if key in TRAINING:
            differences.append(
                "eval in A, training in B" if x == "False" else "training in A, eval in B"
            )
        else:
            differences.append(f"{key}={x} in A, {y} in B" if key else f"{x} in A, {y} in B")
    return "; ".join(differences)


def other_operands(cells: Cells, left: Operation | None, right: Operation | None) -> str:
    """Return a tensor that only one of two calls of one operator is given, in words."""
    if left is None or right is None or base_name(left) != base_name(right):
        return ""
    for name, run, own, others in (
        ("A", cells.a, left, right),
        ("B", cells.b, right, left),
    ):
        names = {operand.name for operand in others.inputs if operand.tensor is not None}
        for operand in own.inputs:
            if operand.tensor is not None and operand.name not in names:
                label = run.label(operand.tensor)
                if not operand.name.startswith("arg"):
                    return f"only {name} gives {operand.name}"
                return f"only {name} gives a further tensor, {label}"
    return ""


def in_evaluation(batch_norm: Operation) -> bool:
    """Whether a batch_norm reads the running mean."""
    is_off = batch_norm.option("training") == "False"
    return is_off or any(operand.name == "mean" for operand in batch_norm.inputs)


def options(operation: Operation) -> dict[str, str]:
    """Return the texts of an operation's options by name, and of its other constants together by
    "".
    """
    by_name: dict[str, str] = {}
    positional = []
    for text in operation.constants:
        key, equals, value = text.partition("=")
        if equals and key.isidentifier():
            if operation.name.startswith("binary_cross_entropy") and key in ("arg3", "arg4"):
                key = "reduction"
            by_name[key] = REDUCTIONS.get(value, value) if key == "reduction" else value
        else:
            positional.append(text)
    return by_name | ({"": ", ".join(positional)} if positional else {})


def default(key: str) -> str:
    """Return the text of an option that is not given: its default."""
    if key in TRAINING:
        return "True"
    if key == "momentum":  # of all norms
        return "0.1"
    defaults = DEFAULTS.get(key)
    return "the default" if defaults is None else str(defaults[0])


def other_dtype(cells: Cells, i: int) -> str:
    first = cells.a.tensors[i].dtype
    second = cells.b.tensors[cells.pairs.partner[i]].dtype
    return f"{first} in A, {second} in B" if first != second else ""


def other_shape(first: Value | None, second: Value | None) -> str:
    if first is None or second is None or first.shape == second.shape:
        return ""
    return f"{first.shape} in A, {second.shape} in B"


def other_draw(first: Value | None, second: Value | None) -> str:
    """Describe two random values, and whether their zeros are at other places."""
    if (
        first is None
        or second is None
        or first.shape != second.shape
        or not first.is_whole
        or not second.is_whole
    ):
        return ANOTHER
    is_elsewhere = np.any((first.elements == 0) != (second.elements == 0))
    return f"{ANOTHER}: other elements are 0" if is_elsewhere else ANOTHER


def of_gradient(cells: Cells, i: int, left: Operation | None, right: Operation | None) -> str:
    """Return what is known of a gradient that differs though its tensor does not."""
    j = cells.pairs.partner[i]
    if cells.a.tensors[i].requires_grad != cells.b.tensors[j].requires_grad:
        name, maker = ("B", right) if cells.a.tensors[i].requires_grad else ("A", left)
        by = f" after {maker.name}" if maker is not None else ""
        return f"in {name} it does not require grad{by}"
    for name, operation, paired in (
        ("A", left, cells.pairs.operations),
        ("B", right, cells.pairs.sources),
    ):
        if (
            operation is not None
            and operation.id not in paired
            and not operation.grad_fn
            and not operation.function
        ):
            return f"only {name} has {operation.name}, which stops the gradient"
    first, second = cells.values((GRAD, i))
    if first is None or second is None:
        return "no gradient in A" if first is None else "no gradient in B"
    adds = adds_to_earlier(cells.a, i)
    if adds != adds_to_earlier(cells.b, j):
        return (
            f"{'A' if adds else 'B'} adds it to the gradient of an earlier pass, which was not "
            "cleared"
        )
    reason = other_options(left, right) or relation(first, second)
    if left is None or right is None or left.grad_fn == right.grad_fn:
        return reason
    return "; ".join(filter(None, (f"{left.grad_fn} in A, {right.grad_fn} in B", reason)))


def adds_to_earlier(run: RecordedRun, tensor: int) -> bool:
    """Whether a leaf had a gradient before the first visit that stored one on this version."""
    visits = run.stored.get(tensor)
    before = None if visits is None else run.trace.steps[visits[0]].grad_before
    return before is not None and not before.all_zero


def of_update(cells: Cells, i: int) -> str:
    """Return what is known of an optimiser's step that differs though parameters and gradients do
    not.
    """
    j = cells.pairs.partner[i]
    left = optimiser_of(cells.a, i)
    right = optimiser_of(cells.b, j)
    reasons: list[str] = []
    if left is not None and right is not None:
        if left.kind != right.kind:
            return f"{left.kind} in A, {right.kind} in B"
        reasons = other_settings(cells, i, left, right)
    moves = None if reasons else cells.moves(i, j)
    return "; ".join(reasons) if moves is None else of_moves(cells, i, *moves)


def other_settings(
    cells: Cells, i: int, left: OptimiserRecord, right: OptimiserRecord
) -> list[str]:
    """Return the options of two optimisers that differ for a parameter: those of its groups."""
    j = cells.pairs.partner[i]
    group_a = group_of(cells.a, i, left)
    group_b = group_of(cells.b, j, right)
    rates = rate_in_step(cells.a, i, left, group_a), rate_in_step(cells.b, j, right, group_b)
    differences = []
    if None not in rates and rates[0] != rates[1]:
        differences.append(f"lr={rates[0]:g} in A, {rates[1]:g} in B")
    first = settings_of(left, group_a)
    second = settings_of(right, group_b)
    shared = [key for key in first if key not in WAYS and first[key] != second.get(key, first[key])]
    return differences + [f"{key}={first[key]} in A, {second[key]} in B" for key in shared]


def settings_of(optimiser: OptimiserRecord, group: GroupRecord | None) -> dict[str, str]:
    """Return the options of a group; those of its optimiser if the record has none of the group."""
    return settings(optimiser if group is None or not group.options else group)


def group_of(run: RecordedRun, tensor: int, optimiser: OptimiserRecord) -> GroupRecord | None:
    """Return the group of an optimiser that a parameter is in."""
    first = run.tensors[run.own(tensor)].first
    return next(
        (g for g in optimiser.groups if any(run.tensors[t].first == first for t in g.tensors)),
        None,
    )


def rate_in_step(
    run: RecordedRun, tensor: int, optimiser: OptimiserRecord, group: GroupRecord | None
) -> float | None:
    """Return the learning rate of the update that made a version of a parameter."""
    rates = optimiser.rates if group is None else group.rates
    earlier = run.earlier(tensor)
    begin = LATER if earlier is None else run.position(earlier)
    number = 1 + sum(mark.after <= begin for mark in optimiser.marks)
    return next((rate for step, rate in reversed(rates) if step <= number), (group or optimiser).lr)


def optimiser_of(run: RecordedRun, tensor: int) -> OptimiserRecord | None:
    first = run.tensors[run.own(tensor)].first
    return next(
        (o for o in run.trace.optimisers if any(run.tensors[t].first == first for t in o.tensors)),
        None,
    )


def of_moves(cells: Cells, i: int, first: Any, second: Any, rounding: float) -> str:
    """Return how two updates are related: one of them with Adam's moments at 0, a factor, a part of
    the parameter.
    """
    j = cells.pairs.partner[i]
    optimisers = optimiser_of(cells.a, i), optimiser_of(cells.b, j)
    is_first = is_first_step(cells.a, i, first)
    if (
        is_first != is_first_step(cells.b, j, second)
        and cells.a.update_step(i) > 1  # in the first step all moments are 0
        and all(o is not None and "Adam" in o.kind for o in optimisers)
    ):
        name = "A" if is_first else "B"
        return (
            f"each element of {name}'s update is lr in size, as in the first step of Adam: its "
            f"moments are 0 in {name}"
        )
    factor = close_to_multiple(first, second)
    if factor is not None:
        return f"B's update = A's * {factor:.4g}"
    earlier = cells.a.earlier(i)
    before = None if earlier is None else elements(cells.a.tensors[earlier].value)
    decay = (
        None
        if before is None or before.shape != first.shape
        else close_to_multiple(before, second - first)
    )
    if decay is not None and abs(decay) < 1:
        return (
            f"B's update = A's {'-' if decay < 0 else '+'} {abs(decay):.3g} * the parameter: "
            "weight decay"
        )
    return ""


def is_first_step(run: RecordedRun, tensor: int, move: Any) -> bool:
    """Whether an update is lr in size for each element, as when Adam's moments were 0: then it is
    lr * sign(grad).
    """
    optimiser = optimiser_of(run, tensor)
    value = run.tensors[tensor].value
    if optimiser is None or not optimiser.lr or value is None or not move.any():
        return False
    if value.is_whole:
        sizes = np.abs(move[move != 0])
        return bool(np.median(abs(sizes - optimiser.lr)) < 0.01 * optimiser.lr)
    size = run.tensors[tensor].update
    earlier = run.earlier(tensor)
    before = None if earlier is None else run.tensors[earlier].value
    if size is None or before is None:
        return False
    return abs(size * before.norm / (optimiser.lr * value.numel**0.5) - 1) < 0.01
