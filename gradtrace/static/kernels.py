"""Numpy calls that execute each elementwise operator into a buffer.

    instructions(step, plan)   the calls of an elementwise step, each writing OUT; None for any
                               other step

A call is (function, arguments). An argument is a Ref, OUT (the buffer for the step's result), or a
constant. The results are bitwise equal to those of the operator's kernel.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from gradtrace.engine.data.lazy import np
from gradtrace.engine.operators.op import Op, records
from gradtrace.engine.operators.tables import record_table
from gradtrace.lazy_names import words
from gradtrace.static.plan import Plan, Step, refs, replaced

Call = tuple[Any, tuple[Any, ...]]
OUT = object()


def is_elementwise(step: Step) -> bool:
    """Whether each element of the result depends only on the operands' elements at the same
    position.
    """
    record = records.get(step.op)
    return record is not None and record.kind == "elementwise"


# The ufuncs that do the same as an operator's function on floats.
UFUNCS: dict[Any, str] = {
    operator.neg: "negative",
    operator.add: "add",
    operator.sub: "subtract",
    operator.mul: "multiply",
    operator.truediv: "divide",
}


def ufunc_of(record: Op) -> Any:
    """Return the numpy ufunc that does all the work of an operator's kernel, or None if there is
    none.
    """
    kernel = getattr(record._kernel, "ufunc", record._kernel)
    name = kernel if isinstance(kernel, str) else UFUNCS.get(record.scalar)
    ufunc = None if name is None else getattr(np, name)
    return ufunc if isinstance(ufunc, np.ufunc) else None


def instructions(step: Step, plan: Plan) -> list[Call] | None:
    """Return the calls of an elementwise step; None for any other step."""
    if not is_elementwise(step) or len(step.out) != 1:
        return None
    calls = TABLE.get(step.op)
    if calls is not None:
        return calls(plan, *step.args)
    record = records[step.op]
    ufunc = ufunc_of(record)
    if ufunc is not None:
        return [(ufunc, (*step.args[: ufunc.nin], OUT))]
    # Copy the result of the operator's kernel, which cannot differ from it.
    return [(copied, (record.kernel, *step.args, OUT))]


def reads_once(calls: list[Call]) -> bool:
    """Whether only the first call reads the operands, so that the result may reuse an
    operand's buffer.
    """
    first = calls[0][0]
    return isinstance(first, np.ufunc) and not any(
        True for _, args in calls[1:] for _ in refs(args)
    )


def copied(kernel: Any, *rest: Any) -> None:
    """Copy the result of a kernel into the last argument."""
    *args, out = rest
    np.copyto(out, kernel(*args))


def erf_into(x: Any, out: Any) -> None:
    from gradtrace.ops.special import erf_kernels

    erf_kernels.erf(x, out)


def power(plan: Plan, a: Any, exponent: Any) -> list[Call]:
    """Return the calls of a power with a constant exponent, of which 2 is a product."""
    if exponent == 2:
        return [(np.multiply, (a, a, OUT))]
    return [(copied, (records["pow_scalar"].kernel, a, exponent, OUT))]


# Elementwise operators whose kernel is not a ufunc, as calls that need no other array than the
# result's.
TABLE: dict[str, Callable[..., list[Call]]] = record_table(
    "static.kernels.TABLE",
    {
        "rsub_scalar": lambda plan, a, b: [(np.subtract, (b, a, OUT))],
        "pow_scalar": power,
        "reciprocal": lambda plan, a: [(np.divide, (1, a, OUT))],
        "rsqrt": lambda plan, a: [(np.sqrt, (a, OUT)), (np.divide, (1, OUT, OUT))],
        "where": lambda plan, c, a, b: [
            (np.copyto, (OUT, b)),
            (np.copyto, (OUT, a, "same_kind", c)),
        ],
        "erf": lambda plan, a: [(erf_into, (a, OUT))],
        "cast": lambda plan, a, dtype: [(np.copyto, (OUT, a, "unsafe"))],
    },
)


# ---- rows


class RowStep:
    """A step that runs on many rows: its results, and the values in `rowwise`, have a leading row
    axis.

    `value` is the step's first operand, and `shape` that of its first result, both of one row.
    """

    def __init__(self, step: Step, plan: Plan, rowwise: set[int]) -> None:
        self.op = step.op
        self.args = step.args
        self.several = len(step.out) > 1
        self.rowwise = rowwise
        self.numbers = list(refs(step.args))
        self.shape = plan.values[step.out[0]].shape
        self.value = plan.values[(self.numbers or step.out)[0]]


def by_rows(step: Step, plan: Plan, rowwise: set[int]) -> Any:
    """Return a function that runs a step on many rows: its batched form if there is one, else its
    kernel for each row.

    The function takes the values of the step's Refs.
    """
    of_rows = RowStep(step, plan, rowwise)
    batched = BATCHED.get(step.op)
    return (batched and batched(of_rows)) or one_by_one(of_rows)


def one_by_one(step: RowStep) -> Any:
    """Return a function that calls a step's kernel for each row."""
    numbers = step.numbers
    rowwise = step.rowwise
    kernel = records[step.op].kernel

    def call_each_row(*operands: Any) -> Any:
        n = next(len(o) for number, o in zip(numbers, operands, strict=True) if number in rowwise)
        results = []
        for i in range(n):
            operand = iter(
                [
                    np.asarray(o[i]) if number in rowwise else np.asarray(o)
                    for number, o in zip(numbers, operands, strict=True)
                ]
            )
            results.append(kernel(*replaced(step.args, lambda _, operand=operand: next(operand))))  # type: ignore[misc]
        if step.several:
            return tuple(np.stack(column) for column in zip(*results, strict=True))
        return np.stack(results) if results else np.empty(0)

    return call_each_row


def reshaped(step: RowStep) -> Any:
    return lambda a: a.reshape(len(a), *step.shape)


def expanded(step: RowStep) -> Any:
    shape = step.shape
    before = step.value.shape
    lead = (1,) * (len(shape) - len(before))
    return lambda a: np.broadcast_to(a.reshape(len(a), *lead, *before), (len(a), *shape))


def summed(step: RowStep) -> Any:
    return lambda a: a.reshape(len(a), -1).sum(axis=1)


def averaged(step: RowStep) -> Any:
    n = math.prod(step.value.shape)
    return lambda a: a.reshape(len(a), -1).sum(axis=1) / n


def over_dims(name: str) -> Any:
    """Return the batched form of sum or mean over some dimensions. It is None for a result of
    another dtype, and for operands that are not floating-point.
    """

    def reduce_dims(step: RowStep) -> Any:
        value = step.value
        _, dims, *rest = step.args
        if not value.dtype.startswith("float") or (len(rest) > 1 and rest[1] is not None):
            return None
        if dims is None:
            dims = range(len(value.shape))
        elif isinstance(dims, int):
            dims = (dims,)
        axes = tuple(dim % len(value.shape) + 1 for dim in dims)
        shape = step.shape
        if name == "sum":
            return lambda a: a.sum(axis=axes).reshape(len(a), *shape)
        count = math.prod(value.shape[axis - 1] for axis in axes)
        return lambda a: (a.sum(axis=axes) / count).reshape(len(a), *shape)

    return reduce_dims


def summed_to(step: RowStep) -> Any:
    before = step.value.shape
    shape = step.shape
    lead = len(before) - len(shape)
    axes = tuple(range(1, lead + 1)) + tuple(
        i + lead + 1 for i, n in enumerate(shape) if n == 1 and before[i + lead] != 1
    )
    return lambda a: a.sum(axis=axes).reshape(len(a), *shape)


def transposed(step: RowStep) -> Any:
    n = len(step.shape)
    if step.op == "permute":
        order = tuple(d % n for d in step.args[1])
    elif step.op == "t":
        order = tuple(reversed(range(n)))
    else:
        first, second = (d % n for d in step.args[1:3])
        swapped = {first: second, second: first}
        order = tuple(swapped.get(d, d) for d in range(n))
    axes = (0, *(d + 1 for d in order))
    return lambda a: a.transpose(axes)


def product(step: RowStep) -> Any:
    if step.op == "mm":
        return np.matmul
    if step.op == "mv":
        return lambda a, b: np.matmul(a, b[..., None])[..., 0]
    return lambda a, b: np.matmul(a[..., None, :], b[..., None])[..., 0, 0]


def selected(step: RowStep) -> Any:
    _, dim, *which = step.args
    item = slice(*which) if step.op == "slice" else which[0]
    key = (slice(None),) * (dim % len(step.value.shape) + 1) + (item,)
    return lambda a: a[key]


def placed(step: RowStep) -> Any:
    _, shape, dim, *which = step.args
    item = slice(*which) if step.op == "slice_place" else which[0]
    key = (slice(None),) * (dim % len(shape) + 1) + (item,)

    def write_into_zeros(g: Any) -> Any:
        out = np.zeros((len(g), *shape), g.dtype)
        out[key] = g
        return out

    return write_into_zeros


def stacked(step: RowStep) -> Any:
    numbers = step.numbers
    rowwise = step.rowwise
    rank = len(step.shape)
    axis = step.args[1] % rank + 1
    join = np.stack if step.op == "stack" else np.concatenate

    def join_rows(*operands: Any) -> Any:
        n = next(len(o) for number, o in zip(numbers, operands, strict=True) if number in rowwise)
        rows = [
            o if number in rowwise else np.broadcast_to(o, (n, *np.shape(o)))
            for number, o in zip(numbers, operands, strict=True)
        ]
        return join(rows, axis=axis)

    return join_rows


# Operators that run once on a block of rows.
BATCHED: dict[str, Any] = record_table(
    "static.kernels.BATCHED",
    {
        "sum": summed,
        "mean": averaged,
        "sum_dim": over_dims("sum"),
        "mean_dim": over_dims("mean"),
        "sum_to": summed_to,
        "expand": expanded,
        **dict.fromkeys(words("permute transpose t"), transposed),
        **dict.fromkeys(words("mm mv dot vdot"), product),
        "select": selected,
        "slice": selected,
        "select_place": placed,
        "slice_place": placed,
        "stack": stacked,
        "cat": stacked,
        **dict.fromkeys(
            words("reshape view unsafe_view unsqueeze squeeze_all squeeze_dim squeeze_dims"),
            reshaped,
        ),
    },
)
# Steps whose result is, or may be, a view of an operand.
VIEWS = frozenset(
    name
    for name, function in BATCHED.items()
    if function in (reshaped, expanded, transposed, selected)
)
