"""Entering and leaving a transform: which history belongs to it, and which to the world around it.

A transform differentiates with respect to tensors of its own. An argument without history becomes a fresh leaf; one
with history (of an enclosing transform, or of ordinary autograd) becomes a view of itself, so that derivatives of
derivatives reach it. What comes out keeps its history only if that reaches a leaf which is not the transform's own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

from gradtrace.engine import AccumulateGrad, Node, Tensor, state
from gradtrace.engine.gradients import one_pass
from gradtrace.engine.op import records
from gradtrace.func.batched import Batched, whole
from gradtrace.func.pytree import apply, flatten, torch_function
from gradtrace.func.rules import front

CAPTURED = (
    "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place operation "
    "(aten::{}) that would mutate a captured Tensor. This is not supported; please rewrite the function being "
    "transformed to explicitly accept the mutated Tensor(s) as inputs."
)


class Running:
    """One transform in `state.levels` while its `with` block runs; `number` counts from 1, outermost first."""

    batches = False

    def __init__(self) -> None:
        self.number = 0
        self.closed = False

    def __enter__(self) -> Self:
        state.levels = (*state.levels, self)
        self.number = len(state.levels)
        state.guard = refuse_captured
        if state.printer is None:
            from gradtrace.func.shown import transform_text

            state.printer = transform_text
        return self

    def __exit__(self, *exception: object) -> None:
        state.levels = state.levels[:-1]
        self.closed = True


class Level(Running):
    """One running transform that differentiates.

    An argument keeps its history also under no_grad, because the pullback of a vjp may be called outside of it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.entered: dict[int, tuple[Node, Tensor]] = {}
        self.arguments: dict[int, Tensor] = {}

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        self.entered.clear()  # these know the transform too: nothing may hold itself
        self.arguments.clear()

    def enter(self, value: Any) -> Any:
        """The nested value with its tensors replaced by the transform's own; ValueError for other leaves."""
        return apply(self._enter_tensor, value)

    def wrap(self, value: Any) -> Any:
        """The nested value with its tensors as ones of the transform, not to be differentiated with respect to."""
        return apply(lambda x: self._argument(x, leaf=False) if isinstance(x, Tensor) else x, value)

    def owns(self, tensor: Tensor) -> bool:
        """Whether the transform may change a tensor: one made in it, or its argument, and no view of another."""
        if tensor._x is None or self not in tensor._x.transforms:
            return False
        base = tensor._base
        return base is None or id(tensor) in self.arguments or id(base) in self.arguments or self.owns(base)

    def _enter_tensor(self, x: Any) -> Tensor:
        if not isinstance(x, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
        if state.batching is not None:
            x = spread(x)
        return self._argument(x, leaf=True)

    def _argument(self, x: Tensor, leaf: bool) -> Tensor:
        inner = whole(x)
        if not inner.requires_grad:
            return self.leaf(x.detach()) if leaf else x.detach()
        out = x.view_as(x)
        entered = whole(out)
        assert entered.grad_fn is not None
        self.entered[id(entered.grad_fn)] = (entered.grad_fn, inner)
        self.arguments[id(entered)] = entered
        return out

    def leaf(self, fresh: Tensor) -> Tensor:
        """Makes a tensor without history one of the transform's own leaves."""
        inner = whole(fresh)
        if not inner.is_floating_point():
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        inner._req = True
        return fresh

    def depends_on_outside(self, tensors: Iterable[Any]) -> bool:
        """Whether the history of any of the tensors reaches a leaf that is not the transform's own."""
        waiting = []
        for t in (whole(x) for x in tensors if isinstance(x, Tensor)):
            if not t.requires_grad:
                continue
            fn = t.grad_fn
            if fn is not None:
                waiting.append(fn)
            elif not self._is_own(t):
                return True
        return self._reaches_outside(waiting)

    def _reaches_outside(self, waiting: list[Node]) -> bool:
        seen: set[int] = set()
        others = [level.entered for level in state.levels if isinstance(level, Level) and level is not self]
        while waiting:
            node = waiting.pop()
            if id(node) in seen:
                continue
            if any(id(node) in entered for entered in others):
                return True
            seen.add(id(node))
            if isinstance(node, AccumulateGrad):
                if not self._is_own(node.variable):
                    return True
                continue
            waiting.extend(n for n, _ in node.next_functions if n is not None)
        return False

    def _is_own(self, leaf: Tensor) -> bool:
        """Whether a leaf was made by the transform, or in it."""
        return leaf._x is not None and self in leaf._x.transforms

    def leave(self, value: Any) -> Any:
        """The nested value without the history that is the transform's own."""
        return apply(self._leave_tensor, value)

    def leave_aux(self, value: Any, has_aux: bool) -> Any:
        """`leave` of what a function gives besides its output, if it does."""
        return self.leave(value) if has_aux else None

    def _leave_tensor(self, x: Any) -> Any:
        if not isinstance(x, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(x)}")
        inner = whole(x)
        if inner.requires_grad and not (state.grad_enabled and self.depends_on_outside((x,))):
            base = inner._base
            is_outer_view = not state.grad_enabled and base is not None and not self._is_own(base)
            return x.view_as(x) if is_outer_view else x.detach()  # under no_grad such a view still requires grad
        if inner._x is not None and self in inner._x.transforms:
            inner._x.transforms = tuple(level for level in inner._x.transforms if level is not self)
        return x


def refuse_captured(name: str, target: Tensor) -> None:
    """RuntimeError where a function under a transform changes a tensor in place that it did not make or get."""
    inner = whole(target)
    if any(isinstance(level, Level) and not level.owns(inner) for level in state.levels):
        known = records.get(name)
        raise RuntimeError(CAPTURED.format((known and known.aten) or name + "_"))


def spread(x: Tensor) -> Tensor:
    """The tensor as one of every running vmap: each sample differentiates with respect to its own."""
    have = set()
    inner = x
    while isinstance(inner, Batched):
        have.add(inner.level.number)
        inner = inner.value
    for level in state.levels:
        if level.batches and level.number not in have:
            x = spread_at(x, level)
    return x


def spread_at(x: Tensor, level: Any) -> Tensor:
    if isinstance(x, Batched) and x.level.number > level.number:
        return Batched(spread_at(x.value, level), x.bdim, x.level)
    return Batched(front(x, None, level.size), 0, level)


def gradients(
    outputs: Iterable[Tensor],
    inputs: Iterable[Tensor],
    grad_outputs: Iterable[Any] | None = None,
    *,
    create_graph: bool,
    retain_graph: bool | None = None,
) -> list[Tensor]:
    """Gradients of the outputs, zero for an input they do not depend on."""
    outs, ins = list(outputs), list(inputs)
    given = [None] * len(outs) if grad_outputs is None else list(grad_outputs)
    pairs = [(out, g) for out, g in zip(outs, given, strict=True) if whole(out).requires_grad]
    zeros_like = torch_function("zeros_like")
    if not pairs:
        return [zeros_like(x) for x in ins]
    differentiate = one_pass if state.batching is None else state.batching.one_pass
    keep = create_graph if retain_graph is None else retain_graph
    found = differentiate(tuple(o for o, _ in pairs), tuple(ins), tuple(g for _, g in pairs), keep, create_graph)
    return [zeros_like(x) if g is None else g for g, x in zip(found, ins, strict=True)]


def check_outputs(output: Any, api: str) -> list[Tensor]:
    """The tensors of a function's nested output; RuntimeError for none, or for other leaves."""
    leaves, _ = flatten(output)
    if not leaves or (len(leaves) == 1 and leaves[0] is None):
        raise RuntimeError(f"{api}: Expected f to be a function that has non-empty output (got output = {leaves})")
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"{api}: expected f(*primals) to return only tensors, got unsupported type {type(leaf)}")
    return leaves


def split_aux(output: Any, api: str) -> tuple[Any, Any]:
    """(output, aux) of a function called with has_aux."""
    if not (isinstance(output, tuple) and len(output) == 2):
        raise RuntimeError(f"{api}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return output


Argnums = Any  # int | tuple[int, ...]


def positions(argnums: Argnums, count: int) -> tuple[int, ...]:
    """The argument positions to differentiate, counted from the start; RuntimeError for what does not exist."""
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    wanted = argnums if isinstance(argnums, tuple) else (argnums,)
    found = tuple(_position(n, count) for n in wanted)
    if not found:
        raise RuntimeError("argnums must be non-empty")
    if len(set(found)) != len(found):
        raise RuntimeError(f"argnums elements must be unique, got {found}")
    return found


def _position(argnum: Any, count: int) -> int:
    if not isinstance(argnum, int):
        raise RuntimeError(f"argnum must be int, got: {type(argnum)}")
    if not -count <= argnum < count:
        raise RuntimeError(f"Got argnum={argnum}, but only {count} positional inputs")
    return argnum % count


def pick(args: tuple[Any, ...], argnums: Argnums) -> Any:
    """The arguments to differentiate: one for an int, a tuple for a tuple."""
    found = positions(argnums, len(args))
    return tuple(args[i] for i in found) if isinstance(argnums, tuple) else args[found[0]]


def enter_arguments(level: Level, args: tuple[Any, ...], argnums: Argnums) -> tuple[tuple[Any, ...], Any]:
    """The arguments with those to differentiate made the transform's own, and these alone."""
    found = positions(argnums, len(args))
    entered = tuple(level.enter(a) if i in found else level.wrap(a) for i, a in enumerate(args))
    return entered, pick(entered, argnums)
