"""Which names a program can use without binding them: built-ins, and in expressions the mathematics of torch."""

from __future__ import annotations

from typing import Any

# In expressions without imports these stand for torch's functions; listed so that parsing needs no operator loaded.
MATHEMATICS = frozenset(["abs", "absolute", "acos", "acosh", "add", "addmm", "all", "allclose", "amax", "amin", "any", "arange", "arccos", "arcsin", "arctan", "arctan2", "argmax", "argmin", "asin", "asinh", "atan", "atan2", "atanh", "bmm", "cat", "ceil", "chunk", "clamp", "clip", "concat", "cos", "cosh", "cross", "cumprod", "cumsum", "det", "diag", "diff", "div", "dot", "einsum", "elu", "eq", "erf", "erfc", "exp", "exp2", "expm1", "eye", "flatten", "flip", "float_power", "floor", "fmod", "frac", "full", "gather", "ge", "gelu", "gt", "hypot", "inverse", "layer_norm", "le", "leaky_relu", "lerp", "lgamma", "linspace", "log", "log10", "log1p", "log2", "log_softmax", "logaddexp", "logdet", "logsigmoid", "logsumexp", "lt", "masked_fill", "matmul", "max", "maximum", "mean", "median", "meshgrid", "min", "minimum", "mm", "mse_loss", "mul", "mv", "ne", "neg", "norm", "ones", "ones_like", "outer", "permute", "pow", "prod", "rand", "randn", "reciprocal", "relu", "remainder", "repeat_interleave", "reshape", "round", "rsqrt", "selu", "sigmoid", "sign", "silu", "sin", "sinc", "sinh", "softmax", "softplus", "sort", "sqrt", "square", "squeeze", "stack", "std", "sub", "sum", "tan", "tanh", "tensor", "tensordot", "tile", "trace", "transpose", "tril", "triu", "trunc", "unsqueeze", "var", "where", "xlogy", "zeros", "zeros_like", "cross_entropy", "binary_cross_entropy", "linear", "conv1d", "conv2d", "huber_loss", "l1_loss", "smooth_l1_loss", "normalize", "cosine_similarity", "detach", "clone"])
CONSTANTS: dict[str, Any] = {
    "pi": 3.141592653589793, "e": 2.718281828459045, "tau": 6.283185307179586, "inf": float("inf"), "nan": float("nan"),
}
MODULES = frozenset({"torch", "math", "F", "nn"})


def is_known(name: str) -> bool:
    from gradtrace.lang.builtins import BUILTINS

    return name in BUILTINS or name in MATHEMATICS or name in CONSTANTS or name in MODULES
