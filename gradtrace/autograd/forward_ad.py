"""torch.autograd.forward_ad: derivatives of results along the tangents of dual tensors.

https://pytorch.org/docs/stable/autograd.html#forward-mode-automatic-differentiation. A dual tensor
is a tensor to differentiate by; `unpack_dual` computes the tangent of a result from the graph, by
differentiating the vjp with respect to its cotangent
(https://j-towns.github.io/2017/06/12/A-new-trick.html).
"""

from __future__ import annotations

from typing import NamedTuple

from gradtrace.engine import Tensor, enable_grad, grad
from gradtrace.engine.data.state import state, using
from gradtrace.func.levels import Level, gradients
from gradtrace.func.pytree import torch_function
from gradtrace.func.transforms import check_sizes

__all__ = ["UnpackedDualTensor", "dual_level", "make_dual", "unpack_dual"]

NO_LEVEL = (
    "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
    "enter_dual_level() first."
)


class UnpackedDualTensor(NamedTuple):
    """The primal and the tangent of a dual tensor; a tangent of None is zero."""

    primal: Tensor
    tangent: Tensor | None


class dual_level:
    """Context manager of a dual level, inside which tensors can be dual.

    It enables gradients: what is computed under a `no_grad` inside of it has no tangent.
    """

    current: dual_level | None = None

    def __enter__(self) -> int:
        if dual_level.current is not None:
            raise RuntimeError("Nested forward mode AD is not supported at the moment")
        self.outer_grad_enabled = state.grad_enabled
        self.modes = using(grad_enabled=True)
        self.modes.__enter__()
        self.level = Level(forward=True)
        self.duals: list[tuple[Tensor, Tensor]] = []  # each dual tensor with its tangent
        dual_level.current = self
        return 0

    def __exit__(self, *exception: object) -> None:
        dual_level.current = None
        self.modes.__exit__(*exception)


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """Create a dual tensor: a view of `tensor`, with a tangent of the same shape.

    Raises RuntimeError outside a dual level and for different shapes, ValueError for integers.
    """
    if dual_level.current is None:
        raise RuntimeError(NO_LEVEL)
    for name, x in (("primal", tensor), ("tangent", tangent)):
        if not x.is_floating_point():
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {x.dtype}")
    check_sizes([tensor], [tangent])
    with enable_grad():
        dual = dual_level.current.level.enter(tensor)
    dual_level.current.duals.append((dual, tangent))
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """Return a tensor's value, and its tangent; None if it does not depend on a dual tensor."""
    current = dual_level.current
    if current is None or not current.duals or not tensor.requires_grad:
        return UnpackedDualTensor(tensor, None)
    with enable_grad():
        cotangent = current.level.leaf(torch_function("zeros_like")(tensor).detach())
        duals, all_tangents = zip(*current.duals, strict=True)
        vjps = grad(tensor, duals, cotangent, create_graph=True, allow_unused=True)
        used_vjps = []
        tangents = []
        for vjp, tangent in zip(vjps, all_tangents, strict=True):
            if vjp is not None:
                used_vjps.append(vjp)
                tangents.append(tangent)
        if not tangents:
            return UnpackedDualTensor(tensor, None)
        outside = current.level.depends_on_outside((tensor, *tangents))
        derivatives = gradients(
            used_vjps,
            [cotangent],
            tangents,
            create_graph=current.outer_grad_enabled and outside,
            retain_graph=True,
        )
    with using(grad_enabled=current.outer_grad_enabled):
        return UnpackedDualTensor(*current.level.leave((tensor, *derivatives)))
