"""torch.nn.utils.parametrizations: weight norm and spectral norm, and their older forms by hooks.

https://arxiv.org/abs/1602.07868 and https://arxiv.org/abs/1802.05957.
"""

from __future__ import annotations

import warnings
from typing import Any

from gradtrace import linalg
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.modes import no_grad
from gradtrace.engine.data.tensor import Tensor
from gradtrace.nn import functional as F
from gradtrace.nn.modules import conv
from gradtrace.nn.modules.module import Module
from gradtrace.nn.modules.utils import function, tensor_of
from gradtrace.nn.parameter import Parameter, is_lazy
from gradtrace.nn.utils.parametrize import (
    check_tensor,
    hook_of,
    put_tensor,
    register_parametrization,
)

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

ORTHOGONAL_MAPS = ("matrix_exp", "cayley", "householder")


def norm_except_dim(v: Any, dim: int) -> Any:
    """Return the 2-norm over all dims but one, kept as dims of size 1; over all dims for -1."""
    if dim == -1:
        return v.norm(2)
    others = [d for d in range(v.ndim) if d != dim % v.ndim]
    return v.norm(2, others, keepdim=True)


class _Orthogonal(Module):
    """Map any matrix to one with orthonormal columns, or rows if it is wide."""

    base: Any

    def __init__(
        self, weight: Any, orthogonal_map: str, *, use_trivialization: bool = True
    ) -> None:
        super().__init__()
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Any) -> Any:
        n = X.size(-2)
        k = X.size(-1)
        is_wide = n < k
        if is_wide:
            X, n, k = X.mT, k, n
        if self.orthogonal_map == "householder":
            Q = reflected(X)
        else:
            Q = self.rotation(X.tril(), n, k)[..., :k]
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if is_wide else Q

    def rotation(self, X: Any, n: int, k: int) -> Any:
        """Return the exponential or the Cayley transform of a skew-symmetric matrix, given by its
        lower triangle.
        """
        if n != k:
            X = function("cat")([X, X.new_zeros(n, n - k).expand(*X.shape[:-2], -1, -1)], dim=-1)
        A = X - X.mH
        if self.orthogonal_map == "matrix_exp":
            return function("matrix_exp")(A)
        identity = function("eye")(n, dtype=A.dtype)
        return linalg.solve(identity - A / 2, identity + A / 2)

    @no_grad()
    def right_inverse(self, Q: Any) -> Any:
        """Return the matrix that is mapped to Q, or to its orthogonal factor."""
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of "
                f"shape {Q.shape}."
            )
        if not hasattr(self, "base"):
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley "
                "parametrizations when use_trivialization=False."
            )
        negative = function("zeros_like")(Q)
        negative.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        if Q.size(-2) < Q.size(-1):
            Q = Q.mT
        n = Q.size(-2)
        k = Q.size(-1)
        if n != k:
            Q = function("cat")(
                [Q, function("randn")(*Q.shape[:-2], n, n - k, dtype=Q.dtype)], dim=-1
            )
        self.base = Q.clone() if n == k and is_orthogonal(Q) else make_orthogonal(Q)
        return negative


def reflected(X: Any) -> Any:
    """Return the product of the Householder reflections of the columns of X, with the signs of its
    diagonal.
    """
    A = X.tril(-1)
    tau = 2.0 / (1.0 + (A * A).sum(dim=-2))
    Q = linalg.householder_product(A, tau)
    return Q * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)


def is_orthogonal(Q: Any) -> bool:
    """Return whether the columns of a matrix are orthonormal, up to rounding."""
    n = Q.size(-2)
    k = Q.size(-1)
    identity = function("eye")(k, dtype=Q.dtype)
    eps = 10.0 * n * float(np.finfo(Q.numpy().dtype).eps)
    return bool((Q.mH @ Q).allclose(identity, atol=eps))


def make_orthogonal(A: Any) -> Any:
    """Return the orthogonal factor of a matrix whose triangular factor has a positive diagonal."""
    Q, R = linalg.qr(A)
    return Q * R.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Module:
    """Keep a matrix of a module orthogonal; https://arxiv.org/abs/1909.09501.

    The initial value is the matrix itself if it is orthogonal, or else its orthogonal factor.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions."
        )
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.shape[-2] == weight.shape[-1] else "householder"
    if orthogonal_map not in ORTHOGONAL_MAPS:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    parametrization = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return register_parametrization(module, name, parametrization, unsafe=True)


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Any, weight_v: Any) -> Any:
        return weight_v * (weight_g / norm_except_dim(weight_v, self.dim))

    def right_inverse(self, weight: Any) -> tuple[Any, Any]:
        return norm_except_dim(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Split a weight into its magnitude for each index of `dim` and its direction."""
    return register_parametrization(module, name, _WeightNorm(dim), unsafe=True)


class _SpectralNorm(Module):
    def __init__(
        self, weight: Any, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        ndim = weight.ndim
        if dim >= ndim or dim < -ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got "
                f"{dim})"
            )
        check_iterations(n_power_iterations)
        self.dim = dim % ndim
        self.eps = eps
        self.n_power_iterations = n_power_iterations
        if ndim > 1:
            matrix = as_matrix(weight, self.dim)
            u, v = (matrix.new_empty(n).normal_(0, 1) for n in matrix.shape)
            self.register_buffer("_u", F.normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", F.normalize(v, dim=0, eps=eps))
            self._power_method(matrix, 15)

    def _power_method(self, matrix: Any, n: int) -> None:
        with no_grad():
            for _ in range(n):
                self._u.copy_(F.normalize(matrix.mv(self._v), dim=0, eps=self.eps))
                self._v.copy_(F.normalize(matrix.t().mv(self._u), dim=0, eps=self.eps))

    def forward(self, weight: Any) -> Any:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        return weight / self._u.clone().dot(matrix.mv(self._v.clone()))

    def right_inverse(self, value: Any) -> Any:
        return value


def check_iterations(n: int) -> None:
    if n <= 0:
        raise ValueError(
            f"Expected n_power_iterations to be positive, but got n_power_iterations={n}"
        )


def as_matrix(weight: Any, dim: int) -> Any:
    if dim:
        weight = weight.permute(dim, *(d for d in range(weight.ndim) if d != dim))
    return weight.flatten(1)


def output_dim(module: Module, dim: int | None) -> int:
    if dim is not None:
        return dim
    return int(
        isinstance(module, (conv.ConvTranspose1d, conv.ConvTranspose2d, conv.ConvTranspose3d))
    )


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divide a weight by its largest singular value, found by power iteration."""
    parametrization = _SpectralNorm(
        tensor_of(module, name), n_power_iterations, output_dim(module, dim), eps
    )
    return register_parametrization(module, name, parametrization)


# ---- the older forms: a hook computes the weight before each call


class WeightNormHook:
    """The hook of torch.nn.utils.weight_norm, which computes `NAME` from the parameters `NAME_g`
    and `NAME_v`.
    """

    def __init__(self, name: str, dim: int) -> None:
        self.name = name
        self.dim = dim

    def compute_weight(self, module: Module) -> Any:
        g, v = (tensor_of(module, f"{self.name}_{part}") for part in "gv")
        return v * (g / norm_except_dim(v, self.dim))

    def __call__(self, module: Module, inputs: Any) -> None:
        put_tensor(module, self.name, self.compute_weight(module))


def weight_norm_by_hook(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Split a weight into `NAME_g` and `NAME_v` (torch.nn.utils.weight_norm)."""
    warnings.warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of "
        "`torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    refuse_second(module, name, WeightNormHook, "weight_norm")
    hook = WeightNormHook(name, -1 if dim is None else dim)
    weight: Any = check_tensor(module._parameters.pop(name))
    module.register_parameter(f"{name}_g", Parameter(norm_except_dim(weight, hook.dim).data))
    module.register_parameter(f"{name}_v", Parameter(weight.data))
    hook(module, ())
    module.register_forward_pre_hook(hook)
    return module


def refuse_second(module: Module, name: str, kind: type, title: str) -> None:
    if hook_of(module, name, kind)[1] is not None:
        raise RuntimeError(f"Cannot register two {title} hooks on the same parameter {name}")
    if is_lazy(tensor_of(module, name)):
        raise ValueError(
            f"The module passed to `{kind.__name__.removesuffix('Hook')}` can't have uninitialized "
            "parameters. Make sure to run the dummy forward before applying "
            f"{title.replace('_norm', '')} normalization"
        )


def remove_hook(module: Module, name: str, kind: type, title: str) -> Any:
    key, hook = hook_of(module, name, kind)
    if hook is None:
        raise ValueError(f"{title} of '{name}' not found in {module}")
    del module._forward_pre_hooks[key]
    return hook


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Make the weight an ordinary parameter again (torch.nn.utils.remove_weight_norm)."""
    weight = remove_hook(module, name, WeightNormHook, "weight_norm").compute_weight(module)
    delattr(module, name)
    del module._parameters[f"{name}_g"], module._parameters[f"{name}_v"]
    put_tensor(module, name, Parameter(weight.data))
    return module


class SpectralNormHook:
    """The hook of torch.nn.utils.spectral_norm: it computes `NAME` from `NAME_orig`, `NAME_u` and
    `NAME_v`.
    """

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        check_iterations(n_power_iterations)
        self.name = name
        self.n_power_iterations = n_power_iterations
        self.dim = dim
        self.eps = eps

    def compute_weight(self, module: Module, iterate: bool) -> Any:
        weight, u, v = (tensor_of(module, f"{self.name}_{part}") for part in ("orig", "u", "v"))
        matrix = as_matrix(weight, self.dim)
        if iterate:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(matrix.t().mv(u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(matrix.mv(v), dim=0, eps=self.eps))
                u = u.clone()
                v = v.clone()
        return weight / u.dot(matrix.mv(v))

    def __call__(self, module: Module, inputs: Any) -> None:
        put_tensor(module, self.name, self.compute_weight(module, module.training))


def spectral_norm_by_hook(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divide a weight by its largest singular value before each call
    (torch.nn.utils.spectral_norm).
    """
    refuse_second(module, name, SpectralNormHook, "spectral_norm")
    hook = SpectralNormHook(name, n_power_iterations, output_dim(module, dim), eps)
    weight: Any = check_tensor(module._parameters.pop(name))
    with no_grad():
        sizes = as_matrix(weight, hook.dim).shape
        u, v = (F.normalize(weight.new_empty(n).normal_(0, 1), dim=0, eps=eps) for n in sizes)
    module.register_parameter(f"{name}_orig", weight)
    put_tensor(module, name, weight.data)
    module.register_buffer(f"{name}_u", u)
    module.register_buffer(f"{name}_v", v)
    module.register_forward_pre_hook(hook)
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Make the weight an ordinary parameter again (torch.nn.utils.remove_spectral_norm)."""
    hook = remove_hook(module, name, SpectralNormHook, "spectral_norm")
    with no_grad():
        weight: Tensor = hook.compute_weight(module, False)
    for attribute in (name, f"{name}_u", f"{name}_v", f"{name}_orig"):
        delattr(module, attribute)
    module.register_parameter(name, Parameter(weight.detach()))
    return module
