"""The common call of a pointwise operator, without what only the rare one needs.

`Op.__call__` handles every case: mixed dtypes, views, modes, several outputs. Most calls are of one or two operands of
one floating dtype that are no views; for those these functions do the same with fewer steps, and hand everything else
to the record itself. They hold no rule: kernels, plans and node classes are the record's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtrace.engine.node import accumulator
from gradtrace.engine.op import FLOAT_TRAPS, SAVE, Op, note_versions
from gradtrace.engine.state import state
from gradtrace.engine.tensor import Tensor, normalise

_new = Tensor.__new__


def needs_the_record(record: Op) -> bool:
    """Whether even the common call must go through the record: one rule for all operands, or shapes to be kept."""
    return record.joint is not None or record.undefined or any(
        need.startswith("~") for derivative in record.derivatives.values() for need in derivative.needs
    )


def finish(record: Op, args: tuple[Any, ...], z: Any, node: Any) -> Tensor:
    """The result as a tensor; `node` is its grad_fn or None."""
    out = _new(Tensor)
    out._data = z
    out._fn = node
    out._nr = 0
    out._req = node is not None
    out._x = None
    if state.recorder is not None:
        state.recorder(record.name, args, out, state.origin)
    return out


def unary(record: Op) -> Callable[[Any], Tensor]:
    """The call of a one-operand pointwise record."""
    if needs_the_record(record):
        return record
    scalar, general = record.scalar, record.__call__
    differentiable = bool(record.derivatives)
    plan = record.plan(1) if differentiable else None
    keeps = plan is not None and plan.actions[0] == SAVE
    keeps_out = plan is not None and plan.save_out
    kind: Any = None

    def call(a: Any) -> Any:
        nonlocal kind
        if type(a) is not Tensor or state.inference:
            return general(a)
        x, extra = a._data, a._x
        if extra is not None and extra.odd:
            return general(a)
        if type(x) is float:
            if scalar is None:
                return general(a)
            try:
                z = scalar(x)
            except FLOAT_TRAPS:
                return general(a)
        elif type(x) is not bool and x.dtype.kind == "f":
            z = record.kernel(x)
        else:
            return general(a)
        if type(z) is not float:
            z = normalise(z)
        if not a._req or not differentiable or not state.grad_enabled:
            return finish(record, (a,), z, None)
        if kind is None:
            kind = record.node_type()
        shape, dtype = ((), None) if type(z) is float else (z.shape, z.dtype)
        node = kind(
            a if keeps else None, None, a._fn or accumulator(a), None, plan, shape, dtype, z if keeps_out else None
        )
        if a._nr:
            node.nrs = (a._nr,)
        if keeps and extra is not None:
            note_versions(node, (a,))
        return finish(record, (a,), z, node)

    return call


def binary(record: Op) -> Callable[[Any, Any], Tensor]:
    """The call of a two-operand pointwise record; the first operand is a tensor, the second may be a number."""
    if needs_the_record(record):
        return record
    scalar, general = record.scalar, record.__call__
    differentiable = bool(record.derivatives)
    plans: list[Any] = [None] * 16
    kind: Any = None

    def call(a: Any, b: Any) -> Any:
        nonlocal kind
        extra = a._x
        if state.inference or (extra is not None and extra.odd):
            return general(a, b)
        x = a._data
        if type(b) is float or type(b) is int:
            y = b
            if type(x) is not float and (type(x) is bool or x.dtype.kind != "f"):
                return general(a, b)
            mask = 9 if a._req else 0
        elif isinstance(b, Tensor):
            y, other = b._data, b._x
            if other is not None:
                if other.odd:
                    return general(a, b)
                extra = other
            if type(x) is not type(y):
                return general(a, b)
            if type(x) is not float and (type(x) is bool or x.dtype is not y.dtype or x.dtype.kind != "f"):
                return general(a, b)
            mask = (1 if a._req else 0) | (2 if b._req else 0)
        else:
            return general(a, b)
        if type(x) is float:
            if scalar is None:
                return general(a, b)
            try:
                z = scalar(x, y)
            except FLOAT_TRAPS:
                return general(a, b)
        else:
            try:
                z = record.kernel(x, y)
            except ValueError:  # shapes that do not broadcast, which the record refuses in PyTorch's words
                return general(a, b)
        if type(z) is not float:
            z = normalise(z)
        if not mask or not differentiable or not state.grad_enabled:
            return finish(record, (a, b), z, None)
        plan = plans[mask]
        if plan is None:
            plan = plans[mask] = record.plan(mask)
            kind = record.node_type()
        keep_a, keep_b = plan.actions
        shape, dtype = ((), None) if type(z) is float else (z.shape, z.dtype)
        if mask == 9:
            node = kind(a if keep_a == SAVE else None, b, a._fn or accumulator(a), None, plan, shape, dtype, None)
            if a._nr:
                node.nrs = (a._nr, 0)
        else:
            node = kind(
                a if keep_a == SAVE else None, b if keep_b == SAVE else None,
                (a._fn or accumulator(a)) if mask & 1 else None, (b._fn or accumulator(b)) if mask & 2 else None,
                plan, shape, dtype, None,
            )
            if a._nr or b._nr:
                node.nrs = (a._nr, b._nr)
        if plan.save_out:
            node.out = z
        if extra is not None and plan.saves:
            note_versions(node, node.args)
        return finish(record, (a, b), z, node)

    return call
