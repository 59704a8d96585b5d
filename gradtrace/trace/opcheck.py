"""Compare the derivative rule of one recorded operation with finite differences of its forward.

This traces a wrong gradient to the operation that is wrong. The operation runs again on the same
arguments, with one element shifted; for a Function of the program, its forward runs again.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Callable, Iterator, NamedTuple
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.node import Node
from gradtrace.engine.data.state import unobserved
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.operators.broadcast import unbroadcast_and_cast
from gradtrace.engine.operators.op import records
from gradtrace.engine.reverse.evaluate import derive
from gradtrace.trace.finite import (
    ARGUMENT,
    FLAT,
    FLOAT64,
    LARGE,
    NOT_REPEATED,
    SMALL,
    WRONG,
    Wrong,
    chosen,
    judge,
)
from gradtrace.trace.probe import direction

FLOAT32 = 1.1920929e-07


class Checked(NamedTuple):
    """The result for one operation: `wrong` holds its worst element, None if all agree."""

    name: str
    origin: int
    custom: bool
    elements: int
    wrong: Wrong | None


def check(node: Node, call: tuple[str, tuple[Any, ...], Any, int]) -> Checked | None:
    """Check a node that still has its saved values; None for an operation that cannot run again
    (in-place, random).
    """
    name, args, out, origin = call
    if name.endswith("_") or node.freed:
        return None
    custom = node.op is None
    run = forward_of(node, name, args)
    outs = out if isinstance(out, tuple) else (out,)
    if run is None or any(not isinstance(o, Tensor) for o in outs):
        return None
    weights = [weight(k, o) if o._fn is node else None for k, o in enumerate(outs)]
    try:
        with unobserved(grad_enabled=False):
            first = weighted(run(args), weights)
            if first != weighted(run(args), weights) and first == first:
                return None  # it draws random numbers
            return compare(node, name, origin, custom, args, weights, run)
    except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError):
        return None


def try_function(node: Node, call: tuple[str, tuple[Any, ...], Any, int]) -> Checked | str:
    """Check a Function of the program in its backward pass; return a text with the reason if that
    is not possible.

    Some Functions have no finite differences to agree with: one whose forward returns its argument
    (its backward reverses or clips the gradient on purpose), and one whose forward is flat where
    its backward is not (a straight-through estimate).
    """
    _, args, out, _ = call
    tensors = [a for a in args if isinstance(a, Tensor)]
    if any(t.numel() > SMALL for t in tensors) or not all(
        isinstance(o, Tensor) for o in outs_of(out)
    ):
        return LARGE
    first = next((t for t in tensors if t.is_floating_point()), None)
    checked = None if first is None else check(node, call)
    if checked is None:
        return NOT_REPEATED
    if checked.wrong is None:
        return checked
    if not checked.wrong[3].numeric and checked.wrong[2]:
        return FLAT
    if first is not None and gives_argument(node, call, first):
        return ARGUMENT
    return checked


def gives_argument(node: Node, call: tuple[str, tuple[Any, ...], Any, int], first: Tensor) -> bool:
    """Whether a Function's forward returns its first floating-point argument, whatever that
    argument is.
    """
    name, args, out, _ = call
    run = forward_of(node, name, args)
    if run is None or not same_values(first, outs_of(out)[0]):
        return False
    changed = Tensor._wrap(np.asarray(first._data) * 2 + 1)
    with unobserved(grad_enabled=False):
        return same_values(
            changed, outs_of(run(tuple(changed if a is first else a for a in args)))[0]
        )


def outs_of(out: Any) -> tuple[Any, ...]:
    return out if isinstance(out, tuple) else (out,)


def same_values(a: Tensor, b: Any) -> bool:
    return tuple(a.shape) == tuple(b.shape) and bool(np.array_equal(a._data, b._data))


def forward_of(
    node: Any, name: str, args: tuple[Any, ...]
) -> Callable[[tuple[Any, ...]], Any] | None:
    """Return the operation as a function of its arguments."""
    if node.op is not None:
        record = records.get(name)
        return None if record is None else lambda changed: record(*changed)
    function = getattr(type(node), "function", None)
    if function is None:
        return None

    def again(changed: tuple[Any, ...]) -> Any:
        ctx = function.context()
        ctx.needs_input_grad = node.needs_input_grad
        ctx._options = node._options
        return function._run_forward(ctx, changed)

    return again


def weight(number: int, out: Tensor) -> Any:
    """Return the gradient to use for an output: 1 for a single number, else an array without
    symmetry.
    """
    return np.ones(tuple(out.shape)) if out.numel() == 1 else direction(number, tuple(out.shape))


def weighted(out: Any, weights: list[Any]) -> float:
    outs = out if isinstance(out, (tuple, list)) else (out,)
    return sum(
        float((np.asarray(o._data, float) * w).sum())
        for o, w in zip(outs, weights, strict=False)
        if w is not None
    )


def compare(
    node: Any,
    name: str,
    origin: int,
    custom: bool,
    args: tuple[Any, ...],
    weights: list[Any],
    run: Callable[[tuple[Any, ...]], Any],
) -> Checked:
    sent = derive(node, gradient_of(node, weights))
    worst: Wrong | None = None
    tried = 0
    for edge, (place, inner, tensor) in enumerate(operands(args, custom)):
        if edge >= len(node.next) or node.next[edge] is None or not tensor.is_floating_point():
            continue
        analytic = (
            np.zeros(tensor.shape)
            if sent[edge] is None
            else np.asarray(raw_conformed(node, edge, sent[edge]), float)
        )
        eps = FLOAT32 if tensor.dtype.name == "float32" else FLOAT64
        flat = np.asarray(tensor._data, float).reshape(-1)
        for element in chosen(flat.size):

            def f(
                by: float, place: int = place, inner: int | None = inner, element: int = element
            ) -> float:
                return weighted(run(shifted(args, place, inner, element, by)), weights)

            judged = judge(f, float(analytic.reshape(-1)[element]), float(flat[element]), eps)
            tried += 1
            if judged.verdict == WRONG and (worst is None or judged.error > worst[3].error):
                worst = (edge, element, float(analytic.reshape(-1)[element]), judged)
    return Checked(name, origin, custom, tried, worst)


def gradient_of(node: Any, weights: list[Any]) -> Any:
    """Return the outputs' weights in the form in which the engine passes gradients to the node."""
    if node.outputs == 1:
        w = weights[0]
        return float(w) if node.dtype is None else w.astype(node.dtype)
    dtypes = node.dtype
    return {
        k: float(w) if dtypes[k] is None else w.astype(dtypes[k])
        for k, w in enumerate(weights)
        if w is not None
    }


def raw_conformed(node: Any, edge: int, value: Any) -> Any:
    raw = value._data if isinstance(value, Tensor) else value
    return unbroadcast_and_cast(
        raw, node.next[edge], node.output_nrs[edge] if node.output_nrs else 0, node, edge
    )


def operands(args: tuple[Any, ...], custom: bool) -> Iterator[tuple[int, int | None, Any]]:
    """Return the arguments that have an edge, in the order of the edges: position, position within
    a sequence, tensor.
    """
    for place, value in enumerate(args):
        if isinstance(value, Tensor):
            yield place, None, value
        elif isinstance(value, tuple) and not custom and place == 0:
            for inner, item in enumerate(value):
                yield place, inner, item
        elif not custom:
            yield place, None, NO_TENSOR


class _NoTensor:
    """An operand that is a number: it takes an edge's place, but has no derivative."""

    @staticmethod
    def is_floating_point() -> bool:
        return False


NO_TENSOR = _NoTensor()


def shifted(
    args: tuple[Any, ...], place: int, inner: int | None, element: int, by: float
) -> tuple[Any, ...]:
    """Return copies of the arguments, with one element of one tensor shifted."""
    changed = [copied(a) for a in args]
    target = changed[place] if inner is None else changed[place][inner]
    raw = target.shared()
    raw[np.unravel_index(element, raw.shape)] += by
    return tuple(changed)


def copied(value: Any) -> Any:
    if isinstance(value, Tensor):
        return Tensor._wrap(np.array(value._data))
    return tuple(map(copied, value)) if type(value) is tuple else value
