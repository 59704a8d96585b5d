"""The function that calls an operator: made once for each record, with only the steps that this
record can need.

`make_call(record)` gives the function that every case goes through: batched operands, mixed dtypes,
views, several results, recorders. For a pointwise operator of one or two tensors, `unary`, `binary`
and `with_number` put a fast path in front of it: operands that are floats or arrays of one floating
dtype, are not views, and were never changed in place (`Tensor._fast_spec`), while no mode needs a
closer look. Both give the same results and the same graph.

`unary` and `number_or_tensor` end in the same steps on purpose. One function for both makes an
operation on scalars 5 % slower, and so does a function for the steps that they share.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, Callable, Sequence
from gradtrace.engine.calls.view_rules import mark_view
from gradtrace.engine.data.dtypes import (
    BROADCAST,
    SCALAR_SPEC,
    WIDE,
    TensorSpec,
    has_spec,
    python_number,
    spec_of,
)
from gradtrace.engine.data.higher import higher
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.node import META, SAVE, Node, OpNode, accumulator
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor, blank
from gradtrace.engine.operators.op import FLOAT_TRAPS, Op, records
from gradtrace.engine.operators.promote import (
    operands_kept,
    promote,
    raise_as_pytorch,
    refuse_dtype,
    rounded_once,
)
from gradtrace.engine.reverse.plan import BackwardPlan, node_type, plan_of
from gradtrace.engine.reverse.saved import maker, meta_of, source_node, version_to_save, watch_by

if TYPE_CHECKING:
    from gradtrace.engine.data.gradient_types import NodeGradient, Pairs
    from gradtrace.engine.data.types import Raw

FastPlans = list[Any]  # of BackwardPlan or None
# Each record of the fast path has a list of plans, made when needed: four for each set of operands
# that require grad. FIRST and SECOND are added up, NUMBER is for a first operand and a number;
# `spec.data` or BROADCAST is added.
FIRST = 4
SECOND = 8
NUMBER = 16
PLANS = 20
BOTH = 3  # the mask of two operands
PLAIN_NUMBERS = (float, int, bool)
# asked before the slower isinstance
NOT_TENSORS = frozenset((float, int, bool, str, tuple, type(None)))


# ---- the function of every record


def make_call(record: Op) -> Callable[..., Any]:
    """Return the function that runs a record on Tensors and numbers, in the order of its
    signature.
    """
    run = record.run
    several = record.outputs != 1
    view = record.view
    has_gradient = record.has_gradient
    plans = record.plans

    def call(*args: Any, noted: tuple[Any, ...] | None = None) -> Tensor | tuple[Tensor, ...]:
        now = state
        raws, mask = unwrap(record, args)
        if mask < 0:
            return call(*map(python_number, args), noted=noted)
        raw = run(args, raws)
        if several:
            return finish_several(record, args, raw, mask)
        out = Tensor._wrap(raw)
        raw = out._data
        if mask and has_gradient and now.grad_enabled and is_float(raw):
            out._fn = make_node(record, args, plans.get(mask) or plan_of(record, mask), raw)
            out._req = True
        if view:
            mark_view(out, args[0])
        if now.special:
            now.record(record.name, args if noted is None else noted, out)
        return out

    return reading(record, call) if record.reads else call


def reading(record: Op, call: Callable[..., Any]) -> Callable[..., Any]:
    """Return `call` for a record whose rules read plain arguments: tensors given for them become
    arrays. An observer is shown the targets of a loss, as the program gave them.
    """
    has_target = "target" in record.plain_names

    def call_reading(*args: Any) -> Any:
        arrays, read = as_arrays(record, args)
        result = call(*arrays, noted=args if has_target else None)
        if read:
            watch_read(result[0] if type(result) is tuple else result, read)
        return result

    return call_reading


def as_arrays(
    record: Op, args: tuple[Any, ...]
) -> tuple[tuple[Any, ...], list[tuple[int, Tensor]]]:
    """Return a call's arguments with arrays for the tensors that its rules read, and those with
    their places.

    Inside a rule tensors stay, since a plan computes them again, and arrays are those of the
    tensors that the rule's own node watches.
    """
    read: list[tuple[int, Tensor]] = []
    arrays = list(args)
    in_rule = state.in_rule
    for i in record.reads:
        value = args[i]
        if value is None:
            continue
        if in_rule:
            arrays_read = [
                a
                for a in (value if type(value) is tuple else (value,))
                if isinstance(a, np.ndarray)
            ]
            read += [
                (i, t)
                for a in arrays_read
                for t, *_ in state.watched
                if np.may_share_memory(a, t._data)
            ]
        elif isinstance(value, Tensor):
            arrays[i] = value.shared()
            read.append((i, value))
        elif type(value) is tuple:
            read += [(i, part) for part in value if isinstance(part, Tensor)]
            arrays[i] = tuple(
                [part.shared() if isinstance(part, Tensor) else part for part in value]
            )
    return (args if in_rule else tuple(arrays)), read


def watch_read(result: Tensor, read: list[tuple[int, Tensor]]) -> None:
    """Have the node of a result store the versions of those tensors that its own rules read."""
    node = maker(result)
    if node is not None and node.plan.reads:
        watch_by(node, [tensor for i, tensor in read if i in node.plan.reads])


def is_float(raw: Raw) -> bool:
    """Return whether raw data are floating point, so that they can have a gradient."""
    return type(raw) is float or (type(raw) is not bool and raw.dtype.kind == "f")  # type: ignore[union-attr]


def finish_several(
    record: Op, args: tuple[Any, ...], raws: tuple[Raw, ...], mask: int
) -> tuple[Tensor, ...]:
    """Return the results of an operator with several results as Tensors, connected to one node."""
    outs = tuple(Tensor._wrap(r) for r in raws)
    node = None
    if mask and state.grad_enabled and record.has_gradient:
        node = make_node(record, args, plan_of(record, mask), tuple(o._data for o in outs))
    for i, out in enumerate(outs):
        with_gradient = record.differentiable is None or i in record.differentiable
        if node is not None and with_gradient and out.is_floating_point():
            out._fn = node
            out._nr = i
            out._req = True
        if record.view:
            mark_view(out, args[0], several=True)
    # the indices of maxima, which have no gradient
    if node is not None and node.plan.saved_outs is not None:
        watch_by(node, [outs[i] for i in node.plan.saved_outs if outs[i]._fn is None])
    if state.special:
        state.record(record.name, args, outs)
    return outs


def unwrap(record: Op, args: tuple[Any, ...]) -> tuple[list[Any], int]:
    """Return the raw arguments and a bit mask of those that require grad; it is -1 if an argument
    is a numpy scalar.
    """
    mask = 0
    arity = record.arity
    raws = list(args)
    for i, a in enumerate(args):
        kind = type(a)
        if kind is Tensor or (kind not in NOT_TENSORS and isinstance(a, Tensor)):
            raws[i] = a._data
            if i < arity and (
                a._req or (a._x is not None and a._x.needs_slow_path and a.requires_grad)
            ):
                mask |= 1 << i
        elif kind is tuple:
            raws[i] = unwrap_nested(a)
            if i == 0 and record.variadic and any(t.requires_grad for t in a):
                mask |= 1
        elif kind not in NOT_TENSORS and isinstance(a, np.generic):
            return raws, -1
    return raws, mask


def unwrap_nested(value: object) -> object:
    """Replace the Tensors inside nested tuples (operands of cat, indices) by their arrays."""
    if isinstance(value, Tensor):
        return value.own_array()
    if type(value) is tuple:
        return tuple(unwrap_nested(v) for v in value)
    return value


# ---- the kernel


def make_runner(record: Op) -> Callable[[tuple[Any, ...], list[Any]], Any]:
    """Return the function run(args, raws), which calls the kernel on raw data (the scalar one on
    Python numbers).
    """
    scalar = record.scalar
    promotes = record.promote is not None
    view = record.view
    arity = record.arity
    unsupported = record.unsupported_dtypes
    # the common dtype must be supported
    check_promoted = record.promote == "arith" and isinstance(unsupported, tuple)
    check_first = unsupported is not None and not check_promoted
    own_kernel = type(record._kernel) is not str
    exact_number = record.exact_number
    fixed = range(0 if record.variadic else arity)

    def run(args: tuple[Any, ...], raws: list[Any]) -> Any:
        if check_first:
            refuse_dtype(record, raws)
        if scalar is not None and type(raws[0]) in PLAIN_NUMBERS and on_numbers(record, raws):
            try:
                return scalar(*raws)
            except FLOAT_TRAPS:
                pass
        if promotes:
            raws = promote(record, args, raws)
            if check_promoted:
                refuse_dtype(record, raws)
            if own_kernel and type(raws[0]) is float:  # a kernel of ours expects arrays
                raws[0] = np.asarray(raws[0])
        elif view:
            raws[0] = args[0].own_array()
        else:
            for i in fixed:
                if type(raws[i]) is float or type(raws[i]) is bool:
                    raws[i] = np.asarray(raws[i])
        try:
            out = (
                record.kernel(*raws)
                if not exact_number
                else rounded_once(record.kernel(*raws), raws)
            )
        except (ValueError, TypeError) as error:
            raise_as_pytorch(record, raws, error)
            raise
        return out

    return run


def on_numbers(record: Op, raws: list[Any]) -> bool:
    """Return whether the scalar kernel can run: all operands are numbers, and one is a float if
    dtypes are promoted.
    """
    operands = raws[: record.arity]
    return all(type(r) in PLAIN_NUMBERS for r in operands) and (
        record.promote is None or any(type(r) is float for r in operands)
    )


# ---- the node


def record_call(
    record: Op, args: tuple[Any, ...], mask: int, raw: Raw, name: str | None = None
) -> Node:
    """Return the node of a call whose arguments in `mask` require grad; `name` replaces the
    record's node name.
    """
    return make_node(record, args, plan_of(record, mask, name), raw)


def make_node(record: Op, args: tuple[Any, ...], plan: BackwardPlan, raw: Any) -> Node:
    """Return the node of a call; `raw` are the data of its result, a tuple if there are several."""
    operands: Sequence[Any] = args
    actions = plan.actions
    # a sequence of tensors, or a node that only says that the derivative does not exist
    if plan.irregular:
        operands = (
            args[0]
            if record.variadic
            else [a for a in args if isinstance(a, Tensor) and a.requires_grad]
        )
        actions = actions[:1] * len(operands)
    kept = operands_kept(record, operands, raw)
    edges = []
    versions = {}
    numbers = 0
    # plain arguments have no action
    for i, (a, action) in enumerate(zip(operands, actions, strict=False)):
        edge = None
        if type(a) is Tensor or (type(a) not in NOT_TENSORS and isinstance(a, Tensor)):
            extra = a._x
            if a._req and (extra is None or not extra.needs_slow_path):
                edge = a._fn or accumulator(a)
            elif extra is not None:
                edge = source_node(a)
            numbers |= a._nr
            if action != SAVE:
                kept[i] = meta_of(a._data) if action == META else None
            elif extra is not None and (version := version_to_save(extra)):
                versions[i] = version
        edges.append(edge)
    if plan.irregular and record.variadic:
        kept = [tuple(kept) if plan.actions[0] else None, *args[1:]]
    out = raw if plan.save_out else None
    if plan.saved_outs is not None:
        out = tuple(r if i in plan.saved_outs else None for i, r in enumerate(raw))
    node = OpNode()
    node.fill(kept, edges, plan, spec_of(raw), out)
    if numbers:
        node.output_nrs = tuple(
            [a._nr if isinstance(a, Tensor) else 0 for a in operands[: len(edges)]]
        )
    if versions:
        node.ensure_extras().versions = tuple([versions.get(i, 0) for i in range(len(edges))])
    if state.saved_hooks and plan.saves:
        from gradtrace.engine.reverse.saved_hooks import pack

        pack(node)
    return node


def renamed(node: Node, name: str) -> Node:
    """Return a copy of a node with another name (the operator's other node name, for example the
    in-place one).
    """
    twin = OpNode()
    twin.fill(node.kept, node.targets, plan_of(node.op, node.plan.grad_mask, name), node.spec)
    twin.output_nrs = node.output_nrs
    return twin


# ---- the fast path


def has_fast_path(record: Op) -> bool:
    """Return whether calls of a pointwise record may use the fast path, which leaves out the rarer
    steps.
    """
    if isinstance(record.unsupported_dtypes, tuple) and "f" in record.unsupported_dtypes[0]:
        return False
    shapes_kept = any(
        need.startswith("~")
        for derivative in record.derivatives.values()
        for need in derivative.needs
    )
    return not (record.joint is not None or record.undefined or shapes_kept)


def unary(record: Op, otherwise: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return the function that calls a pointwise record of one tensor; `otherwise` handles calls
    off the fast path.
    """
    if not has_fast_path(record):
        return otherwise
    scalar = record.scalar or no_kernel
    own = has_own_kernel(record)
    differentiable = bool(record.derivatives)
    plans: FastPlans = [None] * PLANS

    def call(input: Tensor) -> Tensor:
        now = state
        try:
            spec = input._fast_spec
        except AttributeError:  # not a tensor
            return otherwise(input)
        if now.special or (spec is None and (spec := enable_fast_path(input)) is None):
            return otherwise(input)
        x = input._data
        if spec is SCALAR_SPEC:
            try:
                z = scalar(x)
            except FLOAT_TRAPS:
                return otherwise(input)
            if type(z) is not float:
                return otherwise(input)
        else:
            z = record.wide(x) if spec.data is WIDE else record.kernel(x)
            if own and not has_spec(z, spec):
                return otherwise(input)
        out = blank()
        out._data = z
        out._nr = 0
        out._x = None
        out._fast_spec = spec
        if input._req and differentiable and now.grad_enabled:
            out._fn = node = OpNode()
            out._req = True
            index = FIRST + spec.data
            node.plan = plan = plans[index] or make_plan(record, plans, index)
            node.edge_a = input._fn or accumulator(input)
            node.saved_a = x if plan.saved_mask else None
            node.edge_b = node.saved_b = node.output_nrs = node.extras = None
            node.out = z if plan.save_out else None
            node.spec = spec
            node.seq = now.seq = now.seq + 1
            node.origin = now.origin
        else:
            out._fn = None
            out._req = False
        return out

    return call


def keeping_slope(call: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return the function that calls sin or cos; it keeps the derivative of a large array, which
    costs nothing then.
    """

    def call_keeping(input: Tensor) -> Tensor:
        spec = getattr(input, "_fast_spec", None)
        if spec is None or not spec.large or spec.dtype != np.float64 or not input._req:
            return call(input)
        if state.special or not state.grad_enabled:
            return call(input)
        from gradtrace.engine.operators import trigonometry

        return trigonometry.with_slope(call, input)

    return call_keeping


def with_number(record: Op) -> Callable[..., Tensor]:
    """Return the function that calls a pointwise record of one tensor and a plain number."""
    return number_or_tensor(record, record.call)


def binary(record: Op) -> Callable[..., Tensor]:
    """Return the function that calls a pointwise record of a tensor and a tensor or number (else
    NotImplemented).
    """
    general: Callable[..., Tensor] = record.call
    # of an array and a tensor; numpy does the other operators itself
    compares_arrays = record.name == "eq"

    def otherwise(a: Tensor, b: Any) -> Any:
        if not isinstance(b, (Tensor, float, int)) and not isinstance(
            b := python_number(b), (float, int)
        ):
            if compares_arrays and type(b).__name__ == "ndarray":
                return general(a, Tensor._wrap(b))
            return NotImplemented
        if state.in_rule and record.number is not None and not isinstance(b, Tensor):
            return records[record.number](a, b)
        return general(a, b)

    return number_or_tensor(record, otherwise) if has_fast_path(record) else otherwise


def number_or_tensor(record: Op, otherwise: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return the function call(a, b) of a tensor `a` and a tensor or number `b` (perhaps a plain
    argument).
    """
    scalar = record.scalar or no_kernel
    own = has_own_kernel(record)
    plain = bool(record.plain_names)
    differentiable = bool(record.derivatives)
    plans: FastPlans = [None] * PLANS

    def call(a: Tensor, b: Any) -> Tensor:
        now = state
        spec = a._fast_spec
        if now.closely or (spec is None and (spec := enable_fast_path(a)) is None):
            return otherwise(a, b)
        x = a._data
        kind = type(b)
        if kind is Tensor and not plain:
            spec_b = b._fast_spec
            if spec_b is not spec and (
                (spec_b := enable_fast_path(b)) is None or spec_b.dtype is not spec.dtype
            ):
                return otherwise(a, b)
            y = operand = b._data
            first = FIRST if a._req else 0
            second = SECOND if b._req else 0
        elif kind is float or kind is int:
            spec_b = spec
            y = b
            operand = b if plain or spec is SCALAR_SPEC else spec.number(b)
            first = NUMBER if a._req else 0
            second = 0
        else:
            return otherwise(a, b)
        try:
            z = scalar(x, y) if spec is SCALAR_SPEC else record.kernel(x, operand)
        # also shapes that do not broadcast, which the record refuses in PyTorch's words
        except FLOAT_TRAPS:
            return otherwise(a, b)
        if spec_b is spec:
            output_spec = spec
            index = spec.data
        else:
            output_spec = spec_of(z)
            index = BROADCAST
        if type(z) is not float and (spec is SCALAR_SPEC or (own and not has_spec(z, output_spec))):
            return otherwise(a, b)
        out = blank()
        out._data = z
        out._nr = 0
        out._x = None
        out._fast_spec = output_spec
        if not ((first or second) and differentiable and now.grad_enabled):
            out._fn = None
            out._req = False
            return out
        out._fn = node = OpNode()
        out._req = True
        index += first + second
        node.plan = plan = plans[index] or make_plan(record, plans, index)
        node.edge_a = (a._fn or accumulator(a)) if first else None
        node.edge_b = (b._fn or accumulator(b)) if second else None
        saved_mask = plan.saved_mask
        if not saved_mask:
            node.saved_a = node.saved_b = None
        elif plan.raw_mask == BOTH:
            node.saved_a = x
            node.saved_b = y
        else:
            if saved_mask & 1:
                node.saved_a = x if first else a
            else:
                node.saved_a = None
            if not saved_mask & 2:
                node.saved_b = None
            elif plain:
                node.saved_b = (b,)
            else:
                node.saved_b = y if second else b
        node.output_nrs = node.extras = None
        node.out = z if plan.save_out else None
        node.spec = output_spec
        node.seq = now.seq = now.seq + 1
        node.origin = now.origin
        return out

    return call


def enable_fast_path(tensor: Tensor) -> TensorSpec | None:
    """Allow the fast path for a tensor if it meets the conditions, and return its spec; else return
    None.
    """
    spec = tensor._fast_spec
    if spec is not None or type(tensor) is not Tensor or tensor._nr:
        return spec
    extra = tensor._x
    fn = tensor._fn
    if extra is not None and (extra.counter is not None or extra.needs_slow_path):
        return None
    if fn is not None and fn.outputs != 1:
        return None
    spec = spec_of(tensor._data)
    if not spec.fast:
        return None
    tensor._fast_spec = spec
    return spec


def make_plan(record: Op, plans: FastPlans, index: int) -> BackwardPlan:
    """Create and store the plan at an index of a record's fast-path plans; FIRST explains the
    index.
    """
    operands = index & ~3
    data = index & 3
    plan = BackwardPlan(record, 1 if operands == NUMBER else operands >> 2, node_type(record))
    plan.raw_mask = plan.saved_mask & plan.grad_mask
    if record.plain_names:
        plan.saved_mask |= 2  # the plain argument is kept whatever the rule needs
    if data != BROADCAST:
        plan.derivative = compiled_when_hot(plan, operands == NUMBER, data)
    plans[index] = plan
    return plan


OFTEN = 50  # runs of a derivative after which it is compiled


def compiled_when_hot(
    plan: BackwardPlan, with_number: bool, data: int
) -> Callable[[Node, NodeGradient], Pairs]:
    """Return a derivative that is interpreted, and replaces itself by a compiled one once it has
    run often.
    """
    interpret, left = plan.derivative, OFTEN

    def derivative(node: Node, gradient: NodeGradient) -> Pairs:
        nonlocal left
        left -= 1
        if not left:
            from gradtrace.engine.reverse.compile import compile_derivative

            plan.derivative = compile_derivative(plan, with_number, data)
        return interpret(node, gradient)

    return derivative


def has_own_kernel(record: Op) -> bool:
    """Return whether the kernel is not a numpy ufunc, so that its result may have another dtype or
    shape.
    """
    return type(record._kernel) is not str and not hasattr(record._kernel, "ufunc")


def no_kernel(*operands: float) -> float:
    """Replace a missing scalar kernel: raise ValueError, one of FLOAT_TRAPS, so that arrays are
    used instead.
    """
    raise ValueError("this operator has no kernel for floats")


higher["make_call"] = make_call
higher["make_runner"] = make_runner
