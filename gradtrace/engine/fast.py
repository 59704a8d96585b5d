"""The common call of a pointwise operator, without what only the rare one needs.

`Op.__call__` handles every case: mixed dtypes, views, modes, several outputs. Most calls are of one or two operands of
one floating dtype that are no views; for those these functions do the same with fewer steps, and hand everything else
to the record itself. They hold no rule: kernels, plans and node classes are the record's.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Callable
from gradtrace.engine.hot import hot, no_kernel
from gradtrace.engine.node import accumulator
from gradtrace.engine.op import FLOAT_TRAPS, Op, records
from gradtrace.engine.plan import SAVE
from gradtrace.engine.saved import note_versions
from gradtrace.engine.spec import LARGE, spec_of
from gradtrace.engine.state import state
from gradtrace.engine.tensor import Tensor, blank, normalise

PYTHON = (float, bool)


def needs_the_record(record: Op) -> bool:
    """Whether even the common call must go through the record: one rule for all operands, or shapes to be kept."""
    if isinstance(record.lacks, tuple) and "f" in record.lacks[0]:
        return True
    return (
        record.joint is not None
        or bool(record.undefined)
        or any(need.startswith("~") for derivative in record.derivatives.values() for need in derivative.needs)
    )


def unary(record: Op, general: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The call of a one-operand pointwise record; `general` is the function for whatever is not common."""
    if needs_the_record(record):
        return general
    common = any_unary(record, general)
    return hot(record, common) if record.derivatives else common


def binary(record: Op) -> Callable[[Any, Any], Any]:
    """The call of a two-operand pointwise record: of a tensor, and a tensor or a number (else NotImplemented)."""
    if needs_the_record(record):
        return lambda a, b: record(a, b) if isinstance(b, (Tensor, float, int)) else NotImplemented
    common = any_binary(record)
    return hot(record, common) if record.derivatives else common


def with_number(record: Op) -> Callable[[Any, Any], Any]:
    """The call of a pointwise record of a tensor and one plain argument."""
    return hot(record, record.__call__)


def any_unary(record: Op, general: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The same for operands of any kind."""
    scalar = record.scalar or no_kernel
    differentiable = bool(record.derivatives)
    plan = record.plan(1) if differentiable else None
    keeps = plan is not None and plan.actions[0] == SAVE
    keeps_out = plan is not None and plan.save_out
    with_slope = differentiable and getattr(record._kernel, "by_blocks", False)
    kind: Any = None

    def call(input: Any) -> Any:
        nonlocal kind
        if type(input) is not Tensor or state.special:
            return general(input)
        x, extra = input._data, input._x
        if extra is not None and extra.odd:
            return general(input)
        slope = None
        if type(x) is float:
            try:
                z: Any = scalar(x)
            except FLOAT_TRAPS:
                return general(input)
        elif type(x) is not bool and x.dtype.kind == "f":
            if with_slope and x.size >= LARGE and x.dtype.itemsize == 8 and input._req and state.grad_enabled:
                from gradtrace.engine.trigonometry import with_derivative

                z, slope = with_derivative(record.name, x)
            else:
                z = record.kernel(x) if x.size >= LARGE or x.dtype.itemsize != 8 else record.wide(x)
        else:
            return general(input)
        if type(z) is not type(x) and type(z) is not bool:
            z = normalise(z)
        out: Any = blank()
        out._data = z
        out._nr = 0
        out._x = None
        spec = spec_of(z)
        out._spec = spec if differentiable and spec.common else None
        settle(input)
        if not input._req or not differentiable or not state.grad_enabled:
            out._fn = None
            out._req = False
            return out
        if kind is None:
            kind = record.node_type()
        out._fn = node = kind()
        out._req = True
        node.a = input if keeps else None
        node.b = slope  # of no meaning but to `blocks.py`
        node.nb = node.nrs = node.rare = None
        node.na = input._fn or accumulator(input)
        if input._nr:
            node.nrs = (input._nr,)
        node.plan = plan
        node.spec = spec
        node.out = z if keeps_out else None
        node.seq = state.seq = state.seq + 1
        node.origin = state.origin
        if keeps and extra is not None and extra.counter is not None:
            note_versions(node, (input,))
        return out

    return call


def any_binary(record: Op) -> Callable[[Any, Any], Any]:
    """The same for operands of any kind and shape."""
    scalar, general = record.scalar or no_kernel, record.__call__
    differentiable = bool(record.derivatives)
    plans: list[Any] = [None] * 16
    kind: Any = None

    def call(a: Any, b: Any) -> Any:
        nonlocal kind
        x, extra = a._data, a._x
        if state.closely or (extra is not None and extra.odd):
            if state.in_rule and record.number is not None and isinstance(b, (float, int)):
                return records[record.number](a, b)
            if state.special or (extra is not None and extra.odd):
                return general(a, b) if isinstance(b, (Tensor, float, int)) else NotImplemented
        versioned = extra is not None and extra.counter is not None
        kind_of_b = type(b)
        if kind_of_b is float or kind_of_b is int:
            y = b
            if type(x) is not float and (type(x) is bool or x.dtype.kind != "f"):
                return general(a, b)
            mask = 9 if a._req else 0  # 8: the second operand is a number
        elif kind_of_b is Tensor or isinstance(b, Tensor):
            y, other = b._data, b._x
            if other is not None:
                if other.odd:
                    return general(a, b)
                versioned = versioned or other.counter is not None
            if type(x) is float:
                if type(y) is not float:
                    return general(a, b)
            elif type(x) is bool or type(y) in PYTHON or x.dtype is not y.dtype or x.dtype.kind != "f":
                return general(a, b)
            mask = (1 if a._req else 0) + (2 if b._req else 0)
        else:
            return general(a, b) if isinstance(b, (float, int)) else NotImplemented
        try:
            z: Any = scalar(x, y) if type(x) is float else record.kernel(x, y)
        except FLOAT_TRAPS:  # also shapes that do not broadcast, which the record refuses in PyTorch's words
            return general(a, b)
        if type(z) is not type(x) and type(z) is not bool:
            z = normalise(z)
        out: Any = blank()
        out._data = z
        out._nr = 0
        out._x = None
        spec = spec_of(z)
        out._spec = spec if differentiable and spec.common else None
        settle(a)
        if kind_of_b is Tensor:
            settle(b)
        if not mask or not differentiable or not state.grad_enabled:
            out._fn = None
            out._req = False
            return out
        plan = plans[mask]
        if plan is None:
            plan = plans[mask] = record.plan(mask & 3)
            kind = record.node_type()
        out._fn = node = kind()
        out._req = True
        node.nrs = node.rare = None
        if mask & 1:
            node.na = a._fn or accumulator(a)
        else:
            node.na = None
        if mask & 2:
            node.nb = b._fn or accumulator(b)
        else:
            node.nb = None
        keeps = plan.keeps
        node.a = a if keeps & 1 else None
        node.b = b if keeps & 2 else None
        if mask == 9:
            if a._nr:
                node.nrs = (a._nr, 0)
        elif a._nr or b._nr:
            node.nrs = (a._nr, b._nr)
        node.plan = plan
        node.spec = spec
        node.out = z if plan.save_out else None
        node.seq = state.seq = state.seq + 1
        node.origin = state.origin
        if versioned and plan.saves:
            note_versions(node, (node.a, node.b))
        return out

    return call


def settle(tensor: Tensor) -> None:
    """Puts an operand on the common path of `hot.py` if nothing is against it."""
    if tensor._spec is not None or type(tensor) is not Tensor or tensor._nr:
        return
    extra, fn, raw = tensor._x, tensor._fn, tensor._data
    if (extra is not None and (extra.counter is not None or extra.odd)) or (fn is not None and fn.outputs != 1):
        return
    spec = spec_of(raw)
    if spec.common:
        tensor._spec = spec
