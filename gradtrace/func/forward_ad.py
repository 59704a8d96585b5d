"""torch.autograd.forward_ad: dual tensors, whose tangents are propagated through each operator with the values.

https://pytorch.org/docs/stable/autograd.html#forward-mode-automatic-differentiation. A record has only a reverse-mode
rule. The rule is linear in the gradient, so its derivative with respect to the gradient, along the tangents, is the
forward rule (https://j-towns.github.io/2017/06/12/A-new-trick.html).
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

from gradtrace.engine import Function, Tensor, enable_grad, grad
from gradtrace.engine.calls.inplace import change_data, flat_index
from gradtrace.engine.data.state import state, using
from gradtrace.engine.operators.op import Op
from gradtrace.func.pytree import torch_function

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

NO_LEVEL = "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
NO_JVP = "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."

NOT_IN_PLACE = (
    "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is modifying an "
    "input inplace, then the jvp function must modify the corresponding gradient inplace."
)
NOT_A_VIEW = "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view."
NOT_OF_INPUT = "A custom Function is returning a view but the jvp is not returning a view of the given grad input."
NOT_OF_BASE = (
    "A custom Function is returning a view but the jvp is not returning a view of the same base as the given grad "
    "input."
)
NOT_DIFFERENTIABLE = (
    "Function's jvp returned a gradient at position {}, but  the corresponding forward output is not a differentiable "
    "Tensor.You should return None at that position instead."
)
NO_RULE = (
    "Trying to use forward AD with {} that does not support it because it has not been implemented yet.\nPlease file "
    "an issue to PyTorch at https://github.com/pytorch/pytorch/issues/new?template=feature-request.yml so that we can "
    "prioritize its implementation or submit a PR adding the implementation to derivatives.yaml"
)


class UnpackedDualTensor(NamedTuple):
    """The primal and the tangent of a dual tensor; a tangent of None is zero."""

    primal: Tensor
    tangent: Tensor | None


class Forward:
    """The running dual level, which stores tangents and propagates them: the value of `state.forward`."""

    def tangent(self, x: Any) -> Tensor | None:
        extra = x._x if isinstance(x, Tensor) else None
        if extra is None or extra.tangent is None or extra.tangent[0] is not self:
            return None
        return extra.tangent[1]

    def set_tangent(self, x: Tensor, tangent: Tensor) -> None:
        x.extra().tangent = (self, tangent)

    def take(self, x: Tensor, source: Tensor) -> None:
        """Give `x`, which has taken over the shape and values of `source`, the tangent of `source`."""
        tangent = self.tangent(source)
        if tangent is not None:
            self.set_tangent(x, tangent)

    def drop(self, x: Tensor) -> None:
        """Remove the tangent of a tensor that was detached in place."""
        if self.tangent(x) is not None:
            x.extra().tangent = None

    def text(self, x: Tensor) -> str | None:
        """Return the text for a tensor's tangent in its repr, None if it has none."""
        tangent = self.tangent(x)
        return None if tangent is None else f"tangent={tangent}"

    def push(self, record: Op, args: tuple[Any, ...], out: Any) -> None:
        """Compute the tangents of an operator's results from the tangents of its arguments."""
        tangents = self.tangents_of(record, args)
        if tangents is None:
            return
        for result, tangent in zip(out if isinstance(out, tuple) else (out,), tangents, strict=True):
            if tangent is not None:
                self.set_tangent(result, tangent)

    def tangents_of(self, record: Op, args: tuple[Any, ...]) -> list[Tensor | None] | None:
        """Return the tangent of each result (None: zero); None if no argument is dual."""
        operands = args[0] if record.variadic else args[: record.arity]
        tangents = [self.tangent(x) for x in operands]
        if not record.has_gradient or not any(t is not None for t in tangents):
            return None
        with paused():
            if record.view:
                shown = record(tangents[0], *args[1:])
                return list(shown) if isinstance(shown, tuple) else [shown]
            try:
                return _pushed(record, args, tangents)
            except NotImplementedError:
                raise NotImplementedError(NO_RULE.format(record.name)) from None

    def settle(self, target: Tensor, tangent: Tensor | None) -> None:
        """Set the tangent of a tensor that was modified in place; an existing tangent is overwritten in place too."""
        if tangent is None:
            return
        old = self.tangent(target)
        if old is not None and not tangent.requires_grad and not old.requires_grad:
            change_data(old, tangent.own_array())
            return
        self.set_tangent(target, tangent)
        base = target._base
        if base is not None and self.tangent(base) is None:
            with paused():
                whole = torch_function("zeros_like")(base)
                whole.own_array().reshape(-1)[flat_index(base, target)] = tangent.own_array()
            self.set_tangent(base, whole)
            if whole.stride() == base.stride():  # a later change of either shows in both
                offset = target.storage_offset() - base.storage_offset()
                with paused():
                    self.set_tangent(target, whole.as_strided(tuple(target.shape), target.stride(), offset))

    def push_function(self, function: type[Function], ctx: Any, args: tuple[Any, ...], out: Any) -> None:
        """Compute the tangents of a custom Function's results by its `jvp`, and check them."""
        tangents = [self.tangent(x) for x in args]
        if not any(t is not None for t in tangents):
            return
        if function.jvp is Function.jvp:
            raise NotImplementedError(NO_JVP)
        ctx.__dict__["_in_jvp"] = True
        try:
            with paused():
                given = ctx.tangents(args, tangents)
                ctx.__dict__["_tangent_versions"] = {id(t): t._version for t in given if isinstance(t, Tensor)}
                answer = ctx.call(function.jvp, ctx, *given)
        finally:
            ctx.__dict__["_in_jvp"] = False
        results = out if isinstance(out, tuple) else (out,)
        answers = answer if isinstance(answer, tuple) else (answer,)
        if len(answers) != len(results):
            raise RuntimeError(
                "Function's jvp returned an invalid number of forward gradients "
                f"(expected {len(results)} but got {len(answers)})"
            )
        for i, (result, tangent) in enumerate(zip(results, answers, strict=True)):
            if tangent is None:
                continue
            if not isinstance(result, Tensor) or i in ctx.__dict__["_marked"] or not result.is_floating_point():
                raise RuntimeError(NOT_DIFFERENTIABLE.format(i))
            check_tangent(ctx, result, tangent, list(zip(args, given, strict=True)))
            self.set_tangent(result, tangent)


def check_tangent(ctx: Any, result: Tensor, tangent: Tensor, given: list[tuple[Any, Any]]) -> None:
    """Raise RuntimeError if the tangent that jvp returned for a result does not fit this result.

    For an input that forward changed in place, jvp must change the input's tangent in place; for a view, it must return
    a view of the input's tangent. The shapes must be equal. `given` are pairs of an argument and its tangent.
    """
    is_dirty = any(result is one for one in ctx._dirty)
    if is_dirty:
        # The arguments' tangents are read before forward, and a jvp that changes one in place returns that tensor.
        if not any(tangent is one for _, one in given) or tangent._version == ctx.__dict__["_tangent_versions"].get(
            id(tangent)
        ):
            raise RuntimeError(NOT_IN_PLACE)
    elif result._is_view():
        check_view_of_tangent(result, tangent, given)
    if tangent.shape != result.shape:
        raise RuntimeError(other_size(result, tangent))


def check_view_of_tangent(result: Tensor, tangent: Tensor, given: list[tuple[Any, Any]]) -> None:
    """Raise RuntimeError if `result` is a view of an input, but `tangent` is not a view of that input's tangent."""
    if not tangent._is_view():
        raise RuntimeError(NOT_A_VIEW)
    for argument, own in given:
        if argument is result._base or (isinstance(argument, Tensor) and argument._base is result._base):
            base = own if own._base is None else own._base
            if tangent._base is not base:
                raise RuntimeError(NOT_OF_INPUT if own._base is None else NOT_OF_BASE)
            return


def other_size(tensor: Tensor, tangent: Tensor) -> str:
    return (
        "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
        f"supported. Tensor is of size {list(tensor.shape)} while the given forward gradient is of size "
        f"{list(tangent.shape)}."
    )


def paused() -> using:
    """Return a context in which no tangents are pushed and no operators are recorded."""
    return using(forward=None, recorder=None, watcher=None)


def _pushed(record: Op, args: tuple[Any, ...], tangents: list[Tensor | None]) -> list[Tensor | None]:
    """Differentiate the record's reverse rule with respect to the gradient, along the tangents."""
    operands = list(args[0] if record.variadic else args[: record.arity])
    traced = state.grad_enabled and any(x.requires_grad for x in (*operands, *tangents) if isinstance(x, Tensor))
    with enable_grad():
        for i, (x, t) in enumerate(zip(operands, tangents, strict=True)):
            if t is not None:
                operands[i] = x.view_as(x) if traced and x.requires_grad else _leaf(x.detach())
            elif isinstance(x, Tensor) and not traced:
                operands[i] = x.detach()
        full = (tuple(operands),) if record.variadic else tuple(operands)
        out = record(*full, *args[len(full) :])
        results = list(out) if isinstance(out, tuple) else [out]
        smooth = [r for r in results if r.requires_grad]
        if not smooth:
            return [None] * len(results)
        duals = [(operands[i], t) for i, t in enumerate(tangents) if t is not None]
        derivatives = iter(_transposed(smooth, duals, traced))
    pushed = [next(derivatives) if r.requires_grad else None for r in results]
    return pushed if traced else [None if t is None else t.detach() for t in pushed]


def _transposed(results: list[Tensor], duals: list[tuple[Tensor, Tensor]], traced: bool) -> list[Tensor]:
    zeros_like = torch_function("zeros_like")
    vectors = [_leaf(zeros_like(r).detach()) for r in results]
    pulled = grad(results, [x for x, _ in duals], vectors, create_graph=True, allow_unused=True)
    pairs = [(p, t) for p, (_, t) in zip(pulled, duals, strict=True) if p is not None and p.requires_grad]
    if not pairs:
        return [v.detach() for v in vectors]
    grads = grad(
        [p for p, _ in pairs], vectors, [t.to(p.dtype) for p, t in pairs], create_graph=traced, allow_unused=True
    )
    return [zeros_like(v) if f is None else f for f, v in zip(grads, vectors, strict=True)]


def _leaf(x: Tensor) -> Tensor:
    x._req = True
    return x


def __getattr__(name: str) -> Any:
    if name == "_current_level":  # of the dual level that is open; -1 for none
        return -1 if state.forward is None else 0
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def enter_dual_level() -> int:
    """Open the dual level and return its number, 0. Dual tensors can be created only inside a dual level."""
    if state.forward is not None:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    state.set(forward=Forward())
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the dual level: dual tensors become ordinary ones."""
    if state.forward is None:
        raise RuntimeError("Dual level must be a positive number.")
    state.set(forward=None)


class dual_level:
    """Context manager of a dual level, inside which tensors can be dual."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exception: object) -> None:
        exit_dual_level()

    def __copy__(self) -> Self:
        return self


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """Create a dual tensor: a view of `tensor` with `tangent`, which must have the same shape.

    In-place operations on the dual tensor overwrite the tangent too. Raises RuntimeError outside a dual level, for
    different shapes, and for a tensor that is already dual.
    """
    forward = state.forward
    if forward is None:
        raise RuntimeError(NO_LEVEL)
    for name, x in (("primal", tensor), ("tangent", tangent)):
        if not x.is_floating_point():
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {x.dtype}")
    if tensor.shape != tangent.shape:
        raise RuntimeError(other_size(tensor, tangent))
    if forward.tangent(tensor) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not "
            "supported."
        )
    if forward.tangent(tangent) is not None:
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level0 is not supported."
        )
    dual = tensor.alias() if tensor.is_inference() else tensor.view_as(tensor)
    forward.set_tangent(dual, tangent if has_same_layout(tensor, tangent) else in_layout(tensor, tangent))
    return dual


def has_same_layout(tensor: Tensor, tangent: Tensor) -> bool:
    """Return whether both tensors have equal strides and storages of equal size, so that both have the same views."""
    if not tensor.numel():
        return True
    if type(tensor._data) is float or type(tangent._data) is float:
        return True
    return bool(tensor.stride() == tangent.stride() and len(tensor.storage()) == len(tangent.storage()))


def in_layout(tensor: Tensor, tangent: Tensor) -> Tensor:
    """Return a copy of the tangent in a new storage with the size and strides of the tensor's."""
    with paused():
        storage = torch_function("zeros")(len(tensor.storage()), dtype=tangent.dtype)
        place = storage.as_strided(tuple(tensor.shape), tensor.stride(), tensor.storage_offset())
        return place.copy_(tangent)


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """Return a view of a tensor's value, and its tangent."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"_unpack_dual(): argument 'dual' (position 1) must be Tensor, not {type(tensor).__name__}")
    if state.forward is None:
        return UnpackedDualTensor(tensor, None)
    with paused():
        primal = tensor.view_as(tensor)
    return UnpackedDualTensor(primal, state.forward.tangent(tensor))
