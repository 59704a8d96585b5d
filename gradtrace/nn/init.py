"""torch.nn.init: parameter initialisation. Every function works in place without recording and
returns its tensor.

The same seed gives PyTorch's values; those of `orthogonal_` may differ in the last places, by
LAPACK's rounding (https://pytorch.org/docs/stable/nn.init.html).
"""

from __future__ import annotations

import math
import warnings
from typing import Any

from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.modes import no_grad
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor
from gradtrace.lazy_names import words
from gradtrace.ops.random.sampling import randperm

# of the normal distribution in [a, b], up to which trunc_normal_ draws uniform values
LARGE_SHARE = 0.3
LINEAR = words(
    "linear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d sigmoid"
)
GAINS = {**dict.fromkeys(LINEAR, 1), "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the recommended scale of weights before a nonlinearity; `param` is leaky_relu's
    slope.
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity not in GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return GAINS[nonlinearity]


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with values uniform in [a, b)."""
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with normally distributed values."""
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Any = None,
) -> Tensor:
    """Fill with normally distributed values; values outside [a, b] are redrawn."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
            "The distribution of values may be incorrect.",
            stacklevel=2,
        )
    share = normal_cdf((b - mean) / std) - normal_cdf((a - mean) / std)
    with no_grad():
        if share > LARGE_SHARE:
            redraw_outside(tensor, mean, std, a, b, generator)
        else:
            accept_by_density(tensor, mean, std, a, b, generator)
    return tensor


def normal_cdf(x: float) -> float:
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def redraw_outside(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any
) -> None:
    """Fill with normal values, redrawing those outside [a, b] until there are none."""
    low, high = (tensor.new_tensor(bound).item() for bound in (a, b))
    tensor.normal_(mean, std, generator=generator)
    outside = (tensor < low) | (tensor > high)
    while bool(outside.any()):
        drawn = tensor.clone().normal_(mean, std, generator=generator)
        tensor.copy_(drawn.where(outside, tensor))
        outside = (tensor < low) | (tensor > high)


def accept_by_density(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any
) -> None:
    """Fill by rejection sampling: uniform values in [a, b], each accepted in proportion to its
    normal density.
    """
    highest = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    pending: Tensor | None = None
    while pending is None or bool(pending.any()):
        drawn = tensor.clone().uniform_(a, b, generator=generator)
        tensor.copy_(drawn if pending is None else drawn.where(pending, tensor))
        log_density = drawn.sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(highest)
        refused = tensor.clone().uniform_(generator=generator).log_().gt(log_density)
        pending = refused if pending is None else refused & pending


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with `val`."""
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with 1."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with 0."""
    with no_grad():
        return tensor.zero_()


def eye_(tensor: Tensor) -> Tensor:
    """Fill with the identity matrix."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with no_grad():
        tensor.zero_()
        for i in range(min(tensor.shape)):
            tensor[i, i] = 1
    return tensor


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill convolution weights so that each channel passes through unchanged."""
    if tensor.ndimension() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    sizes = tensor.size()
    if sizes[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = sizes[0] // groups
    middle = tuple(size // 2 for size in sizes[2:])
    with no_grad():
        tensor.zero_()
        for g in range(groups):
            for d in range(min(per_group, sizes[1])):
                tensor[(g * per_group + d, d, *middle)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    if tensor.dim() < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    field = math.prod(tensor.shape[2:])
    return tensor.size(1) * field, tensor.size(0) * field


def _correct_fan(tensor: Tensor, mode: str) -> int:
    modes = ["fan_in", "fan_out"]
    if mode.lower() not in modes:
        raise ValueError(f"Mode {mode.lower()} not supported, please use one of {modes}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode.lower())]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill uniformly with variance 2 / (fan_in + fan_out) (Glorot)."""
    a = math.sqrt(3.0) * gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))
    return uniform_(tensor, -a, a, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill normally with variance 2 / (fan_in + fan_out) (Glorot)."""
    std = gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))
    return normal_(tensor, 0.0, std, generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float | None:
    """Return the standard deviation, or None (with a warning) for an empty tensor."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return None
    return calculate_gain(nonlinearity, a) / math.sqrt(_correct_fan(tensor, mode))


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Fill uniformly with variance gain^2 / fan (He)."""
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Fill normally with variance gain^2 / fan (He)."""
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else normal_(tensor, 0, std, generator)


def fan_in_uniform_(bias: Tensor | None, weight: Tensor) -> None:
    """Initialise a bias as Linear and Conv do: uniform in +-1/sqrt(fan_in of the weight)."""
    if bias is None:
        return
    fan_in, _ = _calculate_fan_in_and_fan_out(weight)
    bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
    uniform_(bias, -bound, bound)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Fill with a (semi-)orthogonal matrix from a QR decomposition; dims after the first are
    flattened.
    """
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.size(0)
    columns = tensor.numel() // rows
    with no_grad():
        flat = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator).array
        q, r = np.linalg.qr(flat.T if rows < columns else flat)
        q = q * np.sign(np.diagonal(r))
        state.keeper.before_write(tensor)
        tensor.array[...] = (gain * (q.T if rows < columns else q)).reshape(tensor.shape)
    return tensor


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Fill with normally distributed values, of which the fraction `sparsity` of each column is set
    to 0.
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[randperm(rows)[:zeros], column] = 0
    return tensor


def _deprecated(new_name: str) -> Any:
    """Return the old name of an initialisation, without the underscore, with PyTorch's warning."""
    function = globals()[new_name]
    old_name = new_name[:-1]

    def deprecated_init(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(
            f"`nn.init.{old_name}` is now deprecated in favor of `nn.init.{new_name}`.",
            FutureWarning,
            stacklevel=2,
        )
        return function(*args, **kwargs)

    deprecated_init.__name__ = deprecated_init.__qualname__ = old_name
    return deprecated_init


uniform, normal, constant, eye, dirac = map(
    _deprecated, ("uniform_", "normal_", "constant_", "eye_", "dirac_")
)
xavier_uniform, xavier_normal = map(_deprecated, ("xavier_uniform_", "xavier_normal_"))
kaiming_uniform, kaiming_normal = map(_deprecated, ("kaiming_uniform_", "kaiming_normal_"))
orthogonal, sparse = map(_deprecated, ("orthogonal_", "sparse_"))
