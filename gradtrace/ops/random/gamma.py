"""Gamma and Dirichlet numbers: the samples of Gamma, Beta and Dirichlet in torch.distributions.

The method is that of PyTorch's CPU kernel: Marsaglia and Tsang's rejection
(https://doi.org/10.1145/358407.358414).
"""

from __future__ import annotations

import math

from gradtrace.annotations import NoReturn
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import Array
from gradtrace.engine.operators.op import Op, d, random_op
from gradtrace.ops.random.distributions import normal_pairs
from gradtrace.ops.random.generator import sample
from gradtrace.ops.random.sampling import require_floats
from gradtrace.ops.random.stream import Stream

THIRD = 1.0 / 3.0
SQUEEZE = float(np.float32(0.0331))  # the kernel has these numbers as float32


def sample_record(name: str, aten: str, node: str, formula: str) -> Op:
    """Return the record of samples whose derivative is not available; differentiating it raises
    RuntimeError.
    """

    def refuse(*_: object) -> NoReturn:
        raise RuntimeError(
            "gradtrace does not differentiate samples made of gamma numbers; use sample() and log_prob() in place of "
            "rsample()"
        )

    return random_op(f"{name}(self; values)", lambda a, values: values, formula, aten=aten, node=node,
        self=d("", refuse))  # fmt: skip


# fmt: off
gamma_record = sample_record("standard_gamma_sample", "_standard_gamma", "StandardGammaBackward0",
    "out[i] ~ Gamma(self[i], 1)")
dirichlet_record = sample_record("dirichlet_sample", "_sample_dirichlet", "_DirichletBackward",
    "out[..., :] ~ Dirichlet(self[..., :])")
# fmt: on


def gamma_number(alpha: float, narrow: bool, stream: Stream) -> float:
    """Return one gamma number; `narrow` rounds as PyTorch does for a float32 concentration."""
    if alpha == 0:
        return 0.0
    scale = 1.0
    if alpha < 1:
        power = float(np.float32(1) / np.float32(alpha)) if narrow else 1.0 / alpha
        scale = (1 - uniform(stream)) ** power
        alpha = float(np.float32(alpha) + np.float32(1)) if narrow else alpha + 1.0
    width = (
        float(np.float32(alpha) - np.float32(THIRD)) if narrow else alpha - float(np.float32(THIRD))
    )
    slope = 1.0 / math.sqrt(9.0 * width)
    while True:
        x = 0.0
        y = 0.0
        while y <= 0:
            x = float(normal_pairs(stream, 1)[0])
            y = 1.0 + slope * x
        v = y * y * y
        u = 1 - uniform(stream)
        square = x * x
        if u < 1.0 - SQUEEZE * square * square or math.log(u) < 0.5 * square + width * (
            1.0 - v + math.log(v)
        ):
            return scale * width * v


def uniform(stream: Stream) -> float:
    return float(stream.uniform64(1)[0])


def gamma_numbers(stream: Stream, concentration: Array, narrow: bool) -> Array:
    drawn = [gamma_number(alpha, narrow, stream) for alpha in concentration.reshape(-1).tolist()]
    return np.array(drawn, np.float64).reshape(concentration.shape)


def standard_gamma(concentration: Tensor) -> Tensor:
    """Sample gamma distributions of rate 1 (torch._standard_gamma)."""
    alpha = concentration.shared()
    require_floats(alpha.dtype, "gamma_cpu", least=4)
    narrow = alpha.dtype.itemsize == 4
    numbers = sample(None, alpha.size, lambda stream: gamma_numbers(stream, alpha, narrow)).astype(
        alpha.dtype
    )
    return gamma_record(concentration, np.maximum(numbers, np.finfo(alpha.dtype).tiny))


def sample_dirichlet(concentration: Tensor) -> Tensor:
    """Sample Dirichlet distributions over the last dim (torch._sample_dirichlet)."""
    alpha = concentration.shared()
    require_floats(alpha.dtype, "dirichlet", least=4)
    drawn = sample(None, alpha.size, lambda stream: gamma_numbers(stream, alpha, False))
    numbers = np.maximum(drawn, np.finfo(np.float64).tiny)
    shares = (numbers / numbers.sum(-1, keepdims=True)).astype(alpha.dtype)
    info = np.finfo(alpha.dtype)
    return dirichlet_record(concentration, np.clip(shares, info.tiny, 1 - info.epsneg))
