"""The common call of a pointwise operator, without what only the rare one needs.

`Op.__call__` handles every case: mixed dtypes, views, modes, several outputs. Most calls are of one or two operands of
one floating dtype that are no views; for those these functions do the same with fewer steps, and hand everything
else to the record itself. They hold no rule: kernels, plans and node classes are the record's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtrace.engine.lazy import np
from gradtrace.engine.node import accumulator
from gradtrace.engine.op import FLOAT_TRAPS, SAVE, Op
from gradtrace.engine.state import state
from gradtrace.engine.tensor import Tensor

_new = Tensor.__new__


def plain(t: Tensor) -> bool:
    """Whether nothing about the tensor's history needs a closer look: it is no view, and version 0."""
    x = t._x
    return x is None or (x.view is None and (x.counter is None or not x.counter.n) and not x.inference)


def finish(record: Op, args: tuple[Any, ...], z: Any, mask: int, next_: tuple[Any, ...], nrs: Any) -> Tensor:
    """Wraps a result and records its node; `mask` is 0 when nothing is to be recorded."""
    out = _new(Tensor)
    out._data = z
    out._nr = 0
    out._x = None
    if not mask:
        out._fn = None
        out._req = False
    else:
        plan = record.plan(mask)
        actions = plan.actions
        kept = tuple([a if actions[i] == SAVE or not isinstance(a, Tensor) else None for i, a in enumerate(args)])
        scalar = type(z) is float
        node = record.node_type()(
            kept, next_, plan, () if scalar else z.shape, None if scalar else z.dtype, z if plan.save_out else None
        )
        if nrs is not None:
            node.nrs = nrs
        out._fn = node
        out._req = True
    if state.recorder is not None:
        state.recorder(record.name, args, out, state.origin)
    return out


def binary(record: Op) -> Callable[[Any, Any], Tensor]:
    """The call of a two-operand pointwise record."""
    scalar = record.scalar
    general = record.__call__

    def call(a: Any, b: Any) -> Any:
        if type(a) is not Tensor or state.inference or not plain(a):
            return general(a, b)
        x = a._data
        if type(b) is Tensor:
            if not plain(b):
                return general(a, b)
            y = b._data
            if type(x) is float and type(y) is float:
                kernel = scalar
            elif type(x) is not float and type(y) is not float and same_float(x, y):
                kernel = record.kernel
            else:
                return general(a, b)
            req, number = b._req, 0
        else:
            y = b
            if type(y) is not float and type(y) is not int:
                return general(a, b)
            if type(x) is float:
                kernel = scalar
            elif type(x) is not bool and x.ndim and x.dtype.kind == "f":
                kernel = record.kernel
            else:
                return general(a, b)
            req, number = False, 8
        if kernel is None:
            return general(a, b)
        try:
            z = kernel(x, y)
        except FLOAT_TRAPS:
            return general(a, b)
        if type(z) is not float and type(z) is not np.ndarray:
            return general(a, b)
        if not state.grad_enabled or not (a._req or req) or not record.derivatives:
            return finish(record, (a, b), z, 0, (), None)
        mask, source_a, source_b, nrs = 0, None, None, None
        if a._req:
            mask, source_a = 1, a._fn if a._fn is not None else accumulator(a)
        if req:
            mask, source_b = mask | 2, b._fn if b._fn is not None else accumulator(b)
            if a._nr or b._nr:
                nrs = (a._nr, b._nr)
        elif a._nr:
            nrs = (a._nr, 0)
        return finish(record, (a, b), z, mask | number, (source_a, source_b), nrs)

    return call


def same_float(x: Any, y: Any) -> bool:
    return type(x) is not bool and type(y) is not bool and x.dtype is y.dtype and x.dtype.kind == "f"


def unary(record: Op) -> Callable[[Any], Tensor]:
    """The call of a one-operand pointwise record."""
    scalar = record.scalar
    general = record.__call__

    def call(a: Any) -> Any:
        if type(a) is not Tensor or state.inference or not plain(a):
            return general(a)
        x = a._data
        if type(x) is float:
            kernel = scalar
        elif type(x) is not bool and x.ndim and x.dtype.kind == "f":
            kernel = record.kernel
        else:
            return general(a)
        if kernel is None:
            return general(a)
        try:
            z = kernel(x)
        except FLOAT_TRAPS:
            return general(a)
        if type(z) is not float and type(z) is not np.ndarray:
            return general(a)
        if not state.grad_enabled or not a._req or not record.derivatives:
            return finish(record, (a,), z, 0, (), None)
        source = a._fn if a._fn is not None else accumulator(a)
        return finish(record, (a,), z, 1, (source,), (a._nr,) if a._nr else None)

    return call
