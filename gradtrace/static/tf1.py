"""TensorFlow 1's names for static graphs: what `import tensorflow as tf` gives in a program.

Only what small graphs need is here. Names, numbering, dtypes (a Python float is float32, a whole number int32) and the
refusal of Python's `while` and `if` are TensorFlow's; operations and gradients are gradtrace's own.
"""

from __future__ import annotations

from typing import Any

from gradtrace.engine.lazy import np
from gradtrace.static.derive import gradients
from gradtrace.static.graph import (
    DType,
    Graph,
    Operation,
    Tensor,
    apply,
    constant,
    defined,
    dtype_name,
    get_default_graph,
    placeholder,
    reset_default_graph,
)
from gradtrace.static.loops import cond, while_loop
from gradtrace.static.session import Session

__version__ = "1.15.0"
float16, float32, float64 = DType("float16"), DType("float32"), DType("float64")
int32, int64, bool = DType("int32"), DType("int64"), DType("bool")

# TensorFlow's name: (type of the operation, the function of torch)
OPERATIONS = {
    "add": ("Add", "add"), "subtract": ("Sub", "sub"), "multiply": ("Mul", "mul"), "divide": ("truediv", "div"),
    "truediv": ("truediv", "div"), "pow": ("Pow", "pow"), "maximum": ("Maximum", "maximum"),
    "minimum": ("Minimum", "minimum"), "matmul": ("MatMul", "matmul"), "negative": ("Neg", "neg"),
    "abs": ("Abs", "abs"), "exp": ("Exp", "exp"), "log": ("Log", "log"), "log1p": ("Log1p", "log1p"),
    "sqrt": ("Sqrt", "sqrt"), "square": ("Square", "square"), "sin": ("Sin", "sin"), "cos": ("Cos", "cos"),
    "tan": ("Tan", "tan"), "tanh": ("Tanh", "tanh"), "sigmoid": ("Sigmoid", "sigmoid"), "floor": ("Floor", "floor"),
    "less": ("Less", "lt"), "less_equal": ("LessEqual", "le"), "greater": ("Greater", "gt"),
    "greater_equal": ("GreaterEqual", "ge"), "equal": ("Equal", "eq"), "not_equal": ("NotEqual", "ne"),
    "logical_and": ("LogicalAnd", "logical_and"), "logical_or": ("LogicalOr", "logical_or"),
    "logical_not": ("LogicalNot", "logical_not"), "identity": ("Identity", "clone"),
    "stop_gradient": ("StopGradient", "detach"), "where": ("SelectV2", "where"),
}
for _name, (_type, _torch) in OPERATIONS.items():
    globals()[_name] = defined(_type, _torch)


def _reduced(type_: str, torch_name: str) -> Any:
    def function(input_tensor: Any, axis: Any = None, keepdims: Any = False, name: str | None = None) -> Any:
        def run(x: Any) -> Any:
            out = getattr(x, torch_name)() if axis is None else getattr(x, torch_name)(axis, keepdim=keepdims)
            return out.to(x.dtype)

        return apply(type_, run, [input_tensor], name)

    function.__name__ = function.__qualname__ = f"reduce_{torch_name}"
    return function


reduce_sum, reduce_mean = _reduced("Sum", "sum"), _reduced("Mean", "mean")


def cast(x: Any, dtype: Any, name: str | None = None) -> Any:
    """x in another dtype."""
    from gradtrace.engine.dtypes import BY_NAME

    wanted = BY_NAME[dtype_name(dtype)]
    return apply("Cast", lambda t: t.to(wanted), [x], name)


def reshape(tensor: Any, shape: Any, name: str | None = None) -> Any:
    """The same elements in another shape."""
    return apply("Reshape", lambda t: t.reshape(tuple(shape)), [tensor], name)


def transpose(a: Any, perm: Any = None, name: str | None = None) -> Any:
    """The dims in another order, by default reversed."""
    return apply("transpose", lambda t: t.permute(tuple(perm) if perm else tuple(reversed(range(t.ndim)))), [a], name)


def zeros(shape: Any, dtype: Any = float32, name: str = "zeros") -> Tensor:
    """A constant of zeros."""
    return constant(np.zeros(tuple(shape)), dtype, name=name)


def ones(shape: Any, dtype: Any = float32, name: str = "ones") -> Tensor:
    """A constant of ones."""
    return constant(np.ones(tuple(shape)), dtype, name=name)


__all__ = [
    *OPERATIONS, "DType", "Graph", "Operation", "Session", "Tensor", "bool", "cast", "cond", "constant", "float16",
    "float32", "float64", "get_default_graph", "gradients", "int32", "int64", "ones", "placeholder", "reduce_mean",
    "reduce_sum", "reset_default_graph", "reshape", "transpose", "while_loop", "zeros",
]
