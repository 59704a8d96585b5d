"""Activations: elementwise functions of torch.nn.functional.

The derivatives at kinks are PyTorch's: relu6 and hardtanh give 0 at both bounds; leaky_relu, elu
and prelu use the negative side at 0.
"""

from __future__ import annotations

import math

from gradtrace.annotations import Any, Callable
from gradtrace.engine.calls.inplace import inplace as in_place
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import XP, Array, Operand
from gradtrace.engine.operators.op import OneResult, arith_op, d, elementwise_op, structural_op
from gradtrace.engine.operators.rounding import fitting, in_float32, in_float64, times_number
from gradtrace.engine.operators.select import select
from gradtrace.ops import scalars
from gradtrace.ops.api import check_dim, expose, named, not_a_tensor, public
from gradtrace.ops.nn.activation_backward import CUBIC, KAPPA, ROOT_HALF
from gradtrace.ops.pointwise.elementary import rectified, sigmoid_kernel
from gradtrace.ops.pointwise.elementary import relu as relu_record

exponential = in_float64("exp")
expm1 = in_float64("expm1")
log1p = in_float64("log1p")
tanh = in_float64("tanh")
SELU_ALPHA = 1.6732632423543772
SELU_SCALE = 1.0507009873554805


def gelu_kernel(x: Array, approximate: str) -> Array:
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(KAPPA * (x + CUBIC * x * x * x)))
    from gradtrace.ops.special.error_functions import erf

    return 0.5 * x * (1 + erf.kernel(x * ROOT_HALF))


def gelu_of_float(x: float, approximate: str) -> float:
    if approximate == "tanh":
        return 0.5 * x * (1 + math.tanh(KAPPA * (x + CUBIC * x * x * x)))
    return 0.5 * x * (1 + math.erf(x * ROOT_HALF))


def softplus_kernel(x: Array, beta: float, threshold: float) -> Array:
    if x.dtype == np.float16:
        return in_float32(softplus_kernel, x, beta, threshold)
    beta = fitting(beta, x.dtype)
    threshold = fitting(threshold, x.dtype)
    scaled = x * beta
    low = np.where(scaled > threshold, np.zeros_like(x), scaled)
    return select(scaled > threshold, x, log1p(exponential(low)) / beta)


def elu_kernel(x: Array, alpha: float, scale: float, input_scale: float) -> Array:
    if x.dtype == np.float16:
        return in_float32(elu_kernel, x, alpha, scale, input_scale)
    alpha = fitting(alpha, x.dtype)
    return select(x < 0, expm1(np.minimum(x, 0) * input_scale) * (alpha * scale), x * scale).astype(
        x.dtype
    )


def silu_grad(xp: XP, g: Operand, out: object, x: Operand) -> Operand:
    s = xp.sigmoid(x)
    return g * s * (x * (1 - s) + 1)


def mish_grad(xp: XP, g: Operand, x: Operand, softplus: Operand) -> Operand:
    t = xp.tanh(softplus)
    return g * (t + x * xp.sigmoid(x) * (1 - t * t))


def silu_kernel(x: Array) -> Array:
    return x / (1 + exponential(-x))


def glu_kernel(x: Array, dim: int) -> Array:
    a, b = np.split(x, 2, dim)
    return a * sigmoid_kernel(b)


def softshrink_kernel(x: Array, lambd: float) -> Array:
    return np.where(x > lambd, x - lambd, np.where(x < -lambd, x + lambd, x * 0)).astype(x.dtype)


# ---- records; a derivative given as text calls an operator of activation_backward.py

# fmt: off
gelu_record = elementwise_op("gelu(self; approximate)", gelu_kernel,
    "self / 2 * (1 + erf(self / sqrt(2))) if approximate == 'none' "
        "else self / 2 * (1 + tanh(sqrt(2 / pi) * (self + 0.044715 * self**3)))", zero="saturated",
    scalar=gelu_of_float, unsupported_dtypes="bi GeluKernelImpl", self="gelu_backward(grad, self, approximate)")
silu_record = elementwise_op("silu(self)", silu_kernel, "self / (1 + exp(-self))", scalar=scalars.silu,
    unsupported_dtypes="bi silu_cpu", self=d("self", silu_grad))
softplus_record = elementwise_op("softplus(self; beta, threshold)", softplus_kernel,
    "where(beta * self > threshold, self, log(1 + exp(beta * self)) / beta)", zero="saturated",
    symbolic=lambda s, a: s.log(1 + s.exp(a)), scalar=scalars.softplus, unsupported_dtypes="bi softplus_cpu",
    self="softplus_backward(grad, self, beta, threshold)")
mish_record = elementwise_op("mish(self)", lambda x: x * tanh(softplus_kernel(x, 1.0, 20.0)),
    "self * tanh(log(1 + exp(self)))", unsupported_dtypes="bi mish_cpu",
    self=d("self", lambda xp, g, out, self: mish_grad(xp, g, self, xp.softplus(self, 1.0, 20.0)), lambda xp, g, out,
        self: mish_grad(xp, g, self, xp.log1p(xp.exp(self)))))
leaky_relu_record = elementwise_op("leaky_relu(self; slope)", lambda x, slope: select(x > 0, x, times_number(x, slope)),
    "where(self > 0, self, slope * self)", zero="rectifier", scalar=scalars.leaky_relu,
    inplace_node="LeakyReluBackward1", unsupported_dtypes="bi leaky_relu_cpu",
    self="leaky_relu_backward(grad, self, slope)")
elu_record = elementwise_op("elu(self; alpha, scale, input_scale)", elu_kernel,
    "scale * where(self > 0, self, alpha * (exp(input_scale * self) - 1))", zero="rectifier", scalar=scalars.elu,
    inplace_node="EluBackward1", unsupported_dtypes="bi elu_cpu",
    self="elu_backward(grad, self, alpha, scale, input_scale)")
# PyTorch has a float32 in celu's rule, too.
celu_record = elementwise_op("celu(self; alpha)", lambda x, alpha: elu_kernel(x, alpha, 1.0, 1 / alpha),
    "where(self > 0, self, alpha * (exp(self / alpha) - 1))", inplace_node="CeluBackward1",
    unsupported_dtypes="bi elu_cpu",
    self=d("self", lambda xp, g, out, self, alpha: xp.elu_backward(g, self, alpha, 1.0, 1 / float(np.float32(alpha)))))
hardtanh_record = elementwise_op("hardtanh(self; low, high)",
    lambda x, low, high: np.clip(x, fitting(low, x.dtype), fitting(high, x.dtype)).astype(x.dtype),
    "min(max(self, low), high)", zero="clamp",
    unsupported_dtypes="b Bool inputs not supported for hardtanh", self="hardtanh_backward(grad, self, low, high)")
hardswish_record = elementwise_op("hardswish(self)", lambda x: (x * np.clip(x + 3, 0, 6) / 6).astype(x.dtype),
    "self * min(max(self + 3, 0), 6) / 6", zero="saturated", unsupported_dtypes="bi hardswish_cpu",
    self="hardswish_backward(grad, self)")
hardsigmoid_record = elementwise_op("hardsigmoid(self)", lambda x: (np.clip(x + 3, 0, 6) / 6).astype(x.dtype),
    "min(max(self + 3, 0), 6) / 6", zero="clamp", unsupported_dtypes="bi hardsigmoid_cpu",
    self="hardsigmoid_backward(grad, self)")
logsigmoid_record = elementwise_op("log_sigmoid(self)", lambda x: np.minimum(x, 0) - log1p(exponential(-np.abs(x))),
    "-log(1 + exp(-self))", c_order=True, scalar=scalars.log_sigmoid, unsupported_dtypes="bi log_sigmoid_cpu",
    self="log_sigmoid_backward(grad, self)")
prelu_record = arith_op("prelu(self, weight)", lambda x, w: select(x > 0, x, x * w),
    "where(self > 0, self, weight * self)", node="PreluKernelBackward0", unsupported_dtypes="bi prelu_cpu",
    self="prelu_input_backward(grad, self, weight)", weight="prelu_weight_backward(grad, self, weight)")
threshold_record = elementwise_op("threshold(self; threshold, value)",
    lambda x, threshold, value:
        np.where(x <= fitting(threshold, x.dtype), np.asarray(fitting(value, x.dtype), x.dtype), x),
    "where(self > threshold, self, value)", zero="rectifier", inplace_node="ThresholdBackward1",
    self="threshold_backward(grad, self, threshold)")
softshrink_record = elementwise_op("softshrink(self; lambd)", softshrink_kernel,
    "where(self > lambd, self - lambd, where(self < -lambd, self + lambd, 0))", zero="rectifier",
    unsupported_dtypes="bi softshrink_check", self="softshrink_backward(grad, self, lambd)")
hardshrink_record = elementwise_op("hardshrink(self; lambd)",
    lambda x, lambd: np.where((x >= -fitting(lambd, x.dtype)) & (x <= lambd), np.zeros_like(x), x),
    "where(abs(self) > lambd, self, 0)",
    zero="rectifier", unsupported_dtypes="bi hardshrink_cpu", self="hardshrink_backward(grad, self, lambd)")
glu_record = structural_op("glu(self; dim)", glu_kernel, "a / (1 + exp(-b)); (a, b) = chunk(self, 2, dim)",
    unsupported_dtypes="bi glu_cpu", self="glu_backward(grad, self, dim)")
# fmt: on


# ---- public names


def apply(record: OneResult, input: object, inplace: bool, *numbers: Any) -> Tensor:
    """Apply a record to the input, in place if `inplace` is true."""
    if not isinstance(input, Tensor):
        raise not_a_tensor(record.name, "input", 1, input)
    return in_place(record, input, *numbers) if inplace else record(input, *numbers)


ISSUE = (
    " File an issue at https://github.com/pytorch/pytorch if you do require supporting in-place leakRelu backward "
    "calculation with negative slope"
)


def without_backward(output: Tensor, name: str) -> Tensor:
    """Return the output of an in-place activation with a negative slope, whose input cannot be
    found from it.
    """

    def refuse(grads: Any) -> None:
        raise RuntimeError(
            f"In-place {name} backward calculation is triggered with a negative slope which is not supported. This is "
            "caused by calling in-place forward function with a negative slope, please call out-of-place version "
            f"instead.{ISSUE if name != 'elu' else ''}"
        )

    if output.grad_fn is not None:
        output.grad_fn.register_prehook(refuse)
    return output


def _with_inplace(
    name: str, record: OneResult, doc: str, *numbers: float, forms: str = "n"
) -> Callable[..., Tensor]:
    """Expose an activation whose only argument is `inplace`; `numbers` are those of the record."""

    def function(input: Tensor, inplace: bool = False) -> Tensor:
        return apply(record, input, inplace, *numbers)

    return expose(named(function, name, f"{doc} (torch.nn.functional.{name})."), name, forms=forms)


_with_inplace("silu", silu_record, "Return x * sigmoid(x)")
_with_inplace("mish", mish_record, "Return x * tanh(softplus(x))")
selu = _with_inplace(
    "selu",
    elu_record,
    "Scaled elu, whose constants preserve mean 0 and variance 1",
    SELU_ALPHA,
    SELU_SCALE,
    1.0,
    forms="fn",
)
_with_inplace("relu6", hardtanh_record, "Clamp x to [0, 6]", 0, 6)
_with_inplace("hardswish", hardswish_record, "x relu6(x + 3) / 6")
_with_inplace("hardsigmoid", hardsigmoid_record, "relu6(x + 3) / 6")


@public(forms="n")
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return input where positive, else 0 (torch.nn.functional.relu)."""
    return apply(relu_record, input, True) if inplace else rectified(input)


@public(forms="n")
def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """Return x * Phi(x), or its tanh approximation (torch.nn.functional.gelu)."""
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return apply(gelu_record, input, False, approximate)


@public(forms="n")
def softplus(input: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    """log(1 + exp(beta x)) / beta, or x where beta x > threshold (torch.nn.functional.softplus)."""
    return apply(softplus_record, input, False, beta, threshold)


@public(forms="n")
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """Return x where positive, else negative_slope * x (torch.nn.functional.leaky_relu)."""
    out = apply(leaky_relu_record, input, inplace, negative_slope)
    return without_backward(out, "leakyReLu") if inplace and negative_slope < 0 else out


@public(forms="n")
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return x where positive, else alpha (exp(x) - 1) (torch.nn.functional.elu)."""
    out = apply(elu_record, input, inplace, alpha, 1.0, 1.0)
    return without_backward(out, "elu") if inplace and alpha < 0 else out


@public(forms="fn")
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """max(0, x) + min(0, alpha (exp(x / alpha) - 1)) (torch.nn.functional.celu)."""
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    out = apply(celu_record, input, inplace, alpha)
    return without_backward(out, "elu") if inplace and alpha < 0 else out


@public(forms="n")
def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """Clamp x to [min_val, max_val] (torch.nn.functional.hardtanh)."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return apply(hardtanh_record, input, inplace, min_val, max_val)


@public(forms="n")
def logsigmoid(input: Tensor) -> Tensor:
    """Return log(sigmoid(x)) without overflow (torch.nn.functional.logsigmoid)."""
    return apply(logsigmoid_record, input, False)


@public(forms="fn")
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """Return x where it exceeds the threshold, else value (torch.nn.functional.threshold)."""
    return apply(threshold_record, input, inplace, threshold, value)


@public(forms="n")
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Shrink x towards 0 by lambd; 0 within -lambd..lambd (torch.nn.functional.softshrink)."""
    if lambd < 0:
        most = np.finfo(input.dtype.np).max
        raise RuntimeError(
            f"lambda must be in range [0, {most:g}] for input dtype {input.dtype.scalar_type}, but found {lambd:g}"
        )
    return apply(softshrink_record, input, False, lambd)


@public(forms="fmn")
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Return x outside -lambd..lambd, else 0 (torch.nn.functional.hardshrink)."""
    return apply(hardshrink_record, input, False, lambd)


@public(forms="n")
def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|) (torch.nn.functional.softsign)."""
    return input / (input.abs() + 1)


@public(forms="n")
def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x) (torch.nn.functional.tanhshrink)."""
    return input - input.tanh()


@public(forms="n")
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """Multiply the first half along dim by the sigmoid of the second (torch.nn.functional.glu)."""
    if input.ndim == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    wrapped = check_dim(dim, input.ndim)
    if input.shape[wrapped] % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {wrapped} is size {input.shape[wrapped]}"
        )
    return apply(glu_record, input, False, wrapped)


@public(forms="fmn")
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Return x where positive, else weight * x; one weight, or one per channel (dim 1)
    (torch.nn.functional.prelu).
    """
    if weight.numel() != 1:
        if input.ndim == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = input.shape[1] if input.ndim >= 2 else 1
        if channels != weight.numel():
            raise RuntimeError(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {weight.numel()} and "
                f"channel size = {channels}."
            )
    if weight.ndim > 1:
        raise RuntimeError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}"
        )
    if weight.dtype is not input.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {input.dtype.scalar_type} and {weight.dtype.scalar_type}"
        )
    shape = (1, weight.numel(), *(1,) * (input.ndim - 2)) if input.ndim >= 2 else (1,) * input.ndim
    return prelu_record(input, weight.reshape(shape) if tuple(weight.shape) != shape else weight)


@public(forms="fn")
def rrelu(
    input: Tensor,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """leaky_relu with a random slope per element in training, else the mean slope
    (torch.nn.functional.rrelu).
    """
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if not training:
        out = apply(rrelu_middle, input, inplace, (lower + upper) / 2)
        return without_backward(out, "leakyReLu") if inplace and lower + upper < 0 else out
    from gradtrace.ops.random.generator import sample

    negative = input.array <= 0
    slopes = np.ones(input.shape)
    least, most = (float(input.dtype.np.type(bound)) for bound in (lower, upper))
    count = int(negative.sum())
    slopes[negative] = (
        sample(None, count, lambda stream: stream.uniform64(count)) * (most - least) + least
    )
    return apply(rrelu_record, input, inplace, slopes.astype(input.dtype.np))


# fmt: off
rrelu_record = elementwise_op("rrelu(self; slopes)", lambda x, slopes: x * slopes, "slopes * self",
    node="RreluWithNoiseBackward0", inplace_node="RreluWithNoiseBackward1", self="rrelu_backward(grad, self, slopes)")
rrelu_middle = elementwise_op("rrelu_middle(self; slope)", lambda x, slope: select(x > 0, x, times_number(x, slope)),
    "where(self > 0, self, slope * self)", node="RreluWithNoiseBackward0", inplace_node="RreluWithNoiseBackward1",
    unsupported_dtypes="bi leaky_relu_cpu", self="rrelu_middle_backward(grad, self, slope)")
times_array = elementwise_op("times_array(self; array)", lambda x, array: x * array, "self * array",
    node="MulBackward0", self="times_array(grad, array)")
# fmt: on


def _with_underscore(function: Callable[..., Tensor], forms: str) -> None:
    """Expose the in-place form of a function as F.NAME_, and as torch.NAME_ if PyTorch has it."""
    name = function.__name__ + "_"

    def call(input: Tensor, *args: Any, **options: Any) -> Tensor:
        return function(input, *args, **options, inplace=True)

    expose(named(call, name, f"In-place form of {function.__name__}."), forms=forms)


_function: Callable[..., Tensor]
for _function in (leaky_relu, elu, hardtanh):
    _with_underscore(_function, "n")
for _function in (selu, celu, rrelu, threshold):
    _with_underscore(_function, "fn")
expose(lambda input: apply(relu_record, input, True), "relu_", forms="fn")
