"""Entry and exit of a transform: which history belongs to the transform and which to its
surroundings.

A transform differentiates with respect to its own tensors. An argument without history becomes a
new leaf; an argument with history (of an enclosing transform, or of ordinary autograd) becomes a
view of itself, so that higher derivatives reach it. An output keeps its history only if this
history reaches a leaf outside of the transform.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Self

from gradtrace.engine import AccumulateGrad, Node, Tensor
from gradtrace.engine.data.state import state, using
from gradtrace.engine.reverse.gradients import one_pass
from gradtrace.engine.reverse.saved import source_node
from gradtrace.func.pytree import apply, flatten, torch_function

NO_SAVED_HOOKS = (
    "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open "
    "an issue with your use case."
)


class Level:
    """A transform that differentiates; it is on the stack `state.levels` while its `with` block
    runs.

    An argument keeps its history also under no_grad, because the function that vjp returns may be
    called outside of no_grad. The transform leaves inference mode while it runs; with `forward`
    (jvp) it allows hooks of saved tensors.
    """

    def __init__(self, forward: bool = False) -> None:
        self.forward = forward
        # The leaves that this transform and the transforms inside it have made, by id.
        self.own: dict[int, Tensor] = {}
        # The nodes of the views of its arguments that have a history, by id.
        self.entered: dict[int, Node | None] = {}

    def __enter__(self) -> Self:
        if state.saved_hooks and not self.forward:
            raise RuntimeError(NO_SAVED_HOOKS)
        refusal = state.no_saved_hooks if self.forward else NO_SAVED_HOOKS
        self.modes = using(inference=False, levels=(*state.levels, self), no_saved_hooks=refusal)
        self.modes.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self.modes.__exit__(*exception)
        del self.modes  # It refers to this level, and the cycle would keep tensors alive.

    def enter(self, value: Any) -> Any:
        """Return a nested value with each tensor replaced by one to differentiate by; ValueError
        for other values.
        """
        return apply(self._enter_tensor, value)

    def _enter_tensor(self, x: Any) -> Tensor:
        if not isinstance(x, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
        if not x.requires_grad:
            return self.leaf(x.detach())
        view = x.view_as(x)
        node = source_node(view)
        self.entered[id(node)] = node
        return view

    def leaf(self, fresh: Tensor) -> Tensor:
        """Make a new tensor a leaf of the transform that requires grad, and return it."""
        if not fresh.is_floating_point():
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        fresh._req = True
        if fresh._x is not None:
            # Tensors made in inference mode can be saved for backward inside the transform.
            fresh._x.inference = False
        for level in (self, *state.levels):
            level.own[id(fresh)] = fresh
        return fresh

    def depends_on_outside(self, tensors: Iterable[Any]) -> bool:
        """Return whether the history of any of the tensors reaches a leaf, or another transform's
        argument, outside.
        """
        sources = [source_node(t) for t in tensors if isinstance(t, Tensor) and t.requires_grad]
        outer_arguments: set[int] = set()
        for level in state.levels:
            if level is not self:
                outer_arguments.update(level.entered)
        for node in nodes_from([node for node in sources if node is not None]):
            if id(node) in outer_arguments:
                return True
            if isinstance(node, AccumulateGrad) and id(node.variable) not in self.own:
                return True
        return False

    def leave(self, value: Any) -> Any:
        """Return a nested output without the history that belongs to the transform."""
        return apply(self._leave_tensor, value)

    def leave_aux(self, value: Any, has_aux: bool) -> Any:
        """Return `leave(value)` for a function's auxiliary output if `has_aux`, else None."""
        return self.leave(value) if has_aux else None

    def _leave_tensor(self, x: Any) -> Any:
        if not isinstance(x, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(x)}")
        if not x.requires_grad or (state.grad_enabled and self.depends_on_outside((x,))):
            return x
        base = x._base
        is_outer_view = base is not None and base.is_leaf and id(base) not in self.own
        # Under no_grad a view of a leaf still requires grad.
        return x.view_as(x) if is_outer_view and not state.grad_enabled else x.detach()


def nodes_from(waiting: list[Node]) -> Iterator[Node]:
    """Yield the nodes of a list, last first, and all nodes reachable from them, each once. The list
    is emptied.
    """
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            waiting.extend(n for n, _ in node.next_functions if n is not None)


def gradients(
    outputs: Iterable[Tensor],
    inputs: Iterable[Tensor],
    grad_outputs: Iterable[Any] | None = None,
    *,
    create_graph: bool,
    retain_graph: bool | None = None,
) -> list[Tensor]:
    """Return the gradients of the outputs with respect to the inputs; zeros for an input they do
    not depend on.
    """
    outs = list(outputs)
    ins = list(inputs)
    cotangents = [None] * len(outs) if grad_outputs is None else list(grad_outputs)
    pairs = [(out, g) for out, g in zip(outs, cotangents, strict=True) if out.requires_grad]
    zeros_like = torch_function("zeros_like")
    if not pairs:
        return [zeros_like(x) for x in ins]
    keep = create_graph if retain_graph is None else retain_graph
    grads = one_pass(
        tuple(o for o, _ in pairs), tuple(ins), tuple(g for _, g in pairs), keep, create_graph
    )
    return [zeros_like(x) if g is None else g for g, x in zip(grads, ins, strict=True)]


def check_outputs(output: Any, api: str) -> list[Tensor]:
    """Return the tensors of a function's nested output; RuntimeError if it is empty or has values
    of other types.
    """
    leaves, _ = flatten(output)
    if not leaves or (len(leaves) == 1 and leaves[0] is None):
        raise RuntimeError(
            f"{api}: Expected f to be a function that has non-empty output (got output = {leaves})"
        )
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(
                f"{api}: expected f(*primals) to return only tensors, got unsupported type "
                f"{type(leaf)}"
            )
    return leaves


def split_aux(output: Any, api: str) -> tuple[Any, Any]:
    """Return (output, aux), the result of a function with `has_aux`; RuntimeError if it is not a
    pair.
    """
    if not (isinstance(output, tuple) and len(output) == 2):
        raise RuntimeError(
            f"{api}: output of function f should be a tuple: (output, aux) if has_aux is True"
        )
    return output


Argnums = Any  # int | tuple[int, ...]


def positions(argnums: Argnums, count: int) -> tuple[int, ...]:
    """Return `argnums` as non-negative positions among `count` arguments; RuntimeError if one is
    out of range.
    """
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
    """Return the arguments at `argnums`: one argument for an int, a tuple of arguments for a
    tuple.
    """
    numbers = positions(argnums, len(args))
    return tuple(args[i] for i in numbers) if isinstance(argnums, tuple) else args[numbers[0]]


def enter_arguments(
    level: Level, args: tuple[Any, ...], argnums: Argnums
) -> tuple[tuple[Any, ...], Any]:
    """Return (all arguments, arguments at `argnums`), after those at `argnums` have entered the
    transform.
    """
    numbers = positions(argnums, len(args))
    entered = tuple(level.enter(a) if i in numbers else a for i, a in enumerate(args))
    return entered, pick(entered, argnums)
