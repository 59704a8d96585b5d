"""Entry and exit of a transform: which history belongs to the transform and which to its surroundings.

A transform differentiates with respect to its own tensors. An argument without history becomes a new leaf; an argument
with history (of an enclosing transform, or of ordinary autograd) becomes a view of itself, so that higher derivatives
reach it. An output keeps its history only if this history reaches a leaf outside of the transform.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Self

from gradtrace.engine import AccumulateGrad, Node, Tensor
from gradtrace.engine.data.state import state
from gradtrace.engine.operators.op import records
from gradtrace.engine.reverse.gradients import one_pass
from gradtrace.engine.reverse.saved import source_node
from gradtrace.func.batched import Batched, whole
from gradtrace.func.pytree import apply, flatten, torch_function
from gradtrace.func.rules import front

CAPTURED = (
    "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place operation "
    "(aten::{}) that would mutate a captured Tensor. This is not supported; please rewrite the function being "
    "transformed to explicitly accept the mutated Tensor(s) as inputs."
)


RANDOM_MESSAGE = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
    "randomness flags on vmap or perform the randomness operation out of vmap"
)
HOOKS = (
    "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an issue with your use "
    "case."
)


class Running:
    """A transform on the stack `state.levels` while its `with` block runs; `number` counts from 1, outermost first."""

    batches = forward = False

    def __init__(self, randomness: str = "same") -> None:
        self.randomness = randomness
        self.number = 0
        self.closed = False

    def __enter__(self) -> Self:
        state.set(levels=(*state.levels, self))
        self.number = len(state.levels)
        if state.printer is None:
            from gradtrace.func.shown import transform_text

            state.printer = transform_text
        return self

    def __exit__(self, *exception: object) -> None:
        state.set(levels=state.levels[:-1])
        self.closed = True

    def allow_random(self) -> None:
        """Raise RuntimeError if the transform has `randomness="error"`."""
        if self.randomness == "error":
            raise RuntimeError(RANDOM_MESSAGE)

    def guard(self, name: str, target: Tensor) -> None:
        """Raise RuntimeError if an in-place operation must not change a tensor under the running transforms."""
        refuse_captured(name, target)


class Level(Running):
    """One running transform that differentiates.

    An argument keeps its history also under no_grad, because the function that vjp returns may be called outside of
    no_grad. The transform leaves inference mode while it runs; with `forward` (jvp) it allows hooks of saved tensors.
    """

    def __init__(self, forward: bool = False) -> None:
        super().__init__()
        self.forward = forward
        self.outer: tuple[bool, Any] = (False, None)
        self.entered: dict[int, tuple[Node | None, Tensor]] = {}
        self.arguments: dict[int, Tensor] = {}

    def __enter__(self) -> Self:
        self.outer = state.inference, state.no_saved_hooks
        if not self.forward:
            if state.saved_hooks:
                raise RuntimeError(HOOKS)
            state.no_saved_hooks = HOOKS
        state.set(inference=False)
        return super().__enter__()

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        inference, state.no_saved_hooks = self.outer
        state.set(inference=inference)
        self.entered.clear()  # these refer to the transform too: avoid a reference cycle
        self.arguments.clear()

    def enter(self, value: Any) -> Any:
        """Return a nested value with each tensor replaced by one to differentiate by; ValueError for other values."""
        return apply(self._enter_tensor, value)

    def wrap(self, value: Any) -> Any:
        """Return a nested argument that is not differentiated by, with its tensors as the transform's own."""
        return apply(lambda x: self._argument(x, leaf=False) if isinstance(x, Tensor) else x, value)

    def owns(self, tensor: Tensor) -> bool:
        """Return whether the transform may modify a tensor.

        It may modify its arguments and tensors that were created in it, but not views of other tensors.
        """
        if tensor._x is None or self not in tensor._x.transforms:
            return False
        base = tensor._base
        return base is None or id(tensor) in self.arguments or id(base) in self.arguments or self.owns(base)

    def _enter_tensor(self, x: Any) -> Tensor:
        if not isinstance(x, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
        if state.batching is not None:
            x = batch_in_all(x)
        return self._argument(x, leaf=True)

    def _argument(self, x: Tensor, leaf: bool) -> Tensor:
        inner = whole(x)
        if not inner.requires_grad:
            if not leaf:
                return x.detach()
            out = self.leaf(x.detach())
        else:
            out = x.view_as(x)
            self.arguments[id(whole(out))] = whole(out)
        node = source_node(whole(out))
        self.entered[id(node)] = (node, inner)
        return out

    def leaf(self, fresh: Tensor) -> Tensor:
        """Make a new tensor a leaf of the transform that requires grad, and return it."""
        inner = whole(fresh)
        if not inner.is_floating_point():
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        inner._req = True
        if inner._x is not None:
            inner._x.inference = False  # what was made in inference mode can be saved inside the transform
        return fresh

    def depends_on_outside(self, tensors: Iterable[Any]) -> bool:
        """Return whether the history of any of the tensors reaches a leaf outside the transform."""
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
        others = [level.entered for level in state.levels if isinstance(level, Level) and level is not self]
        for node in nodes_from(waiting):
            if any(id(node) in entered for entered in others):
                return True
            if isinstance(node, AccumulateGrad) and not self._is_own(node.variable):
                return True
        return False

    def differentiates(self, tensor: Tensor) -> bool:
        """Return whether a tensor was computed from an argument that the transform differentiates by."""
        source = source_node(tensor)
        return source is not None and any(id(node) in self.entered for node in nodes_from([source]))

    def _is_own(self, leaf: Tensor) -> bool:
        """Whether a leaf was created by the transform, or inside it."""
        return leaf._x is not None and self in leaf._x.transforms

    def leave(self, value: Any) -> Any:
        """Return a nested output without the history that belongs to the transform."""
        return apply(self._leave_tensor, value)

    def leave_aux(self, value: Any, has_aux: bool) -> Any:
        """Return `leave(value)` for a function's auxiliary output if `has_aux`, else None."""
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


def nodes_from(waiting: list[Node]) -> Iterator[Node]:
    """Yield the nodes of a list, from its end, and all that lead to them, each once."""
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            waiting.extend(n for n, _ in node.next_functions if n is not None)


def refuse_captured(name: str, target: Tensor) -> None:
    """Raise RuntimeError if a function under a transform modifies a captured tensor in place."""
    inner = whole(target)
    if any(isinstance(level, Level) and not level.owns(inner) for level in state.levels):
        known = records.get(name)
        raise RuntimeError(CAPTURED.format((known and known.aten) or name + "_"))


def batch_in_all(x: Tensor) -> Tensor:
    """Make a tensor batched in every running vmap, so that each sample differentiates with respect to its own copy."""
    have = set()
    inner = x
    while isinstance(inner, Batched):
        have.add(inner.level.number)
        inner = inner.value
    for level in state.levels:
        if level.batches and level.number not in have:
            x = batch_at(x, level)
    return x


def batch_at(x: Tensor, level: Any) -> Tensor:
    if isinstance(x, Batched) and x.level.number > level.number:
        return Batched(batch_at(x.value, level), x.bdim, x.level)
    return Batched(front(x, None, level.size), 0, level)


def gradients(
    outputs: Iterable[Tensor],
    inputs: Iterable[Tensor],
    grad_outputs: Iterable[Any] | None = None,
    *,
    create_graph: bool,
    retain_graph: bool | None = None,
) -> list[Tensor]:
    """Return the gradients of the outputs with respect to the inputs; zeros for an input they do not depend on."""
    outs, ins = list(outputs), list(inputs)
    given = [None] * len(outs) if grad_outputs is None else list(grad_outputs)
    pairs = [(out, g) for out, g in zip(outs, given, strict=True) if whole(out).requires_grad]
    zeros_like = torch_function("zeros_like")
    if not pairs:
        return [zeros_like(x) for x in ins]
    differentiate = one_pass if state.batching is None else state.batching.one_pass
    keep = create_graph if retain_graph is None else retain_graph
    grads = differentiate(tuple(o for o, _ in pairs), tuple(ins), tuple(g for _, g in pairs), keep, create_graph)
    return [zeros_like(x) if g is None else g for g, x in zip(grads, ins, strict=True)]


def check_outputs(output: Any, api: str) -> list[Tensor]:
    """Return the tensors of a function's nested output; RuntimeError if it is empty or has values of other types."""
    leaves, _ = flatten(output)
    if not leaves or (len(leaves) == 1 and leaves[0] is None):
        raise RuntimeError(f"{api}: Expected f to be a function that has non-empty output (got output = {leaves})")
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"{api}: expected f(*primals) to return only tensors, got unsupported type {type(leaf)}")
    return leaves


def split_aux(output: Any, api: str) -> tuple[Any, Any]:
    """Return (output, aux), the result of a function with `has_aux`; RuntimeError if it is not a pair."""
    if not (isinstance(output, tuple) and len(output) == 2):
        raise RuntimeError(f"{api}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return output


Argnums = Any  # int | tuple[int, ...]


def positions(argnums: Argnums, count: int) -> tuple[int, ...]:
    """Return `argnums` as non-negative positions among `count` arguments; RuntimeError if one is out of range."""
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    wanted = argnums if isinstance(argnums, tuple) else (argnums,)
    numbers = tuple(_position(n, count) for n in wanted)
    if not numbers:
        raise RuntimeError("argnums must be non-empty")
    if len(set(numbers)) != len(numbers):
        raise RuntimeError(f"argnums elements must be unique, got {numbers}")
    return numbers


def _position(argnum: Any, count: int) -> int:
    if not isinstance(argnum, int):
        raise RuntimeError(f"argnum must be int, got: {type(argnum)}")
    if not -count <= argnum < count:
        raise RuntimeError(f"Got argnum={argnum}, but only {count} positional inputs")
    return argnum % count


def pick(args: tuple[Any, ...], argnums: Argnums) -> Any:
    """Return the arguments at `argnums`: one argument for an int, a tuple of arguments for a tuple."""
    numbers = positions(argnums, len(args))
    return tuple(args[i] for i in numbers) if isinstance(argnums, tuple) else args[numbers[0]]


def enter_arguments(level: Level, args: tuple[Any, ...], argnums: Argnums) -> tuple[tuple[Any, ...], Any]:
    """Return (all arguments, arguments at `argnums`), after those at `argnums` have entered the transform."""
    numbers = positions(argnums, len(args))
    entered = tuple(level.enter(a) if i in numbers else level.wrap(a) for i, a in enumerate(args))
    return entered, pick(entered, argnums)
