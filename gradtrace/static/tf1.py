"""TensorFlow 1's API for static graphs: `import tensorflow as tf` in a program.

Only what small graphs need is implemented. Names, numbering, dtypes (a Python float is float32, an int int32) and the
errors for Python's `while` and `if` are TensorFlow's; operations and gradients are gradtrace's.
"""

from __future__ import annotations

from typing import Any

from gradtrace.engine.data.dtypes import BY_NAME
from gradtrace.engine.data.lazy import np
from gradtrace.lazy_names import words as _words
from gradtrace.static import loops as _loops
from gradtrace.static import tf1_nn as nn
from gradtrace.static import train
from gradtrace.static import variables as _variables
from gradtrace.static.derive import gradients
from gradtrace.static.elements import DType, dtype_name
from gradtrace.static.graph import (
    Graph,
    Operation,
    Tensor,
    apply,
    constant,
    function_of,
    get_default_graph,
    operation_function,
    placeholder,
    reset_default_graph,
)
from gradtrace.static.loops import cond
from gradtrace.static.session import InteractiveSession, Session
from gradtrace.static.variables import *  # noqa: F403  the names of its __all__, which are also TensorFlow's

__version__ = "1.15.0"
float16, float32, float64 = DType("float16"), DType("float32"), DType("float64")
int32, int64, bool = DType("int32"), DType("int64"), DType("bool")

# TensorFlow's name, the type of the operation, the function of torch.
_TABLE = _words("""
    add Add add  subtract Sub sub  multiply Mul mul  divide truediv div  truediv truediv div  pow Pow pow
    maximum Maximum maximum  minimum Minimum minimum  matmul MatMul matmul  negative Neg neg  abs Abs abs
    exp Exp exp  log Log log  log1p Log1p log1p  sqrt Sqrt sqrt  square Square square  sin Sin sin  cos Cos cos
    tan Tan tan  tanh Tanh tanh  sigmoid Sigmoid sigmoid  floor Floor floor  less Less lt
    less_equal LessEqual le  greater Greater gt  greater_equal GreaterEqual ge  equal Equal eq
    not_equal NotEqual ne  logical_and LogicalAnd logical_and  logical_or LogicalOr logical_or
    logical_not LogicalNot logical_not  identity Identity clone  stop_gradient StopGradient detach
    where SelectV2 where
""")
OPERATIONS = {_TABLE[i]: _TABLE[i + 1 : i + 3] for i in range(0, len(_TABLE), 3)}
for _name, (_type, _torch) in OPERATIONS.items():
    globals()[_name] = operation_function(_type, _torch)


def _reduced(op_type: str, torch_name: str) -> Any:
    def function(
        input_tensor: Any,
        axis: Any = None,
        keepdims: Any = None,
        name: str | None = None,
        reduction_indices: Any = None,
        keep_dims: Any = None,
    ) -> Any:
        axis = reduction_indices if axis is None else axis  # the older names of these arguments
        keepdims = keep_dims if keepdims is None else keepdims

        def reduce(x: Any) -> Any:
            dims = tuple(range(x.ndim)) if axis is None else axis
            return getattr(x, torch_name)(dims, keepdim=keepdims is True).to(x.dtype) if x.ndim else x

        return apply(op_type, reduce, [input_tensor], name)

    function.__name__ = function.__qualname__ = f"reduce_{torch_name}"
    return function


reduce_sum, reduce_mean = _reduced("Sum", "sum"), _reduced("Mean", "mean")
reduce_max, reduce_min = _reduced("Max", "amax"), _reduced("Min", "amin")


def argmax(input: Any, axis: int = 0, name: str | None = None) -> Any:
    """Return the index of the largest element along an axis."""
    return apply("ArgMax", lambda x: x.argmax(axis), [input], name)


def concat(values: Any, axis: int, name: str = "concat") -> Any:
    """Concatenate nodes along an axis."""
    return apply("ConcatV2", lambda *parts: function_of("cat")(parts, axis), list(values), name)


def stack(values: Any, axis: int = 0, name: str = "stack") -> Any:
    """Stack nodes along a new axis."""
    return apply("Pack", lambda *parts: function_of("stack")(parts, axis), list(values), name)


def expand_dims(input: Any, axis: int, name: str | None = None) -> Any:
    """Insert an axis of size 1."""
    return apply("ExpandDims", lambda x: x.unsqueeze(axis), [input], name)


def squeeze(input: Any, axis: Any = None, name: str | None = None) -> Any:
    """Remove axes of size 1, all or the given ones."""
    return apply("Squeeze", lambda x: x.squeeze() if axis is None else x.squeeze(axis), [input], name)


def one_hot(indices: Any, depth: int, dtype: Any = float32, name: str = "one_hot") -> Any:
    """Return rows of zeros, each with a one at its index."""
    wanted = BY_NAME[dtype_name(dtype)]

    def encode(x: Any) -> Any:
        return (x.unsqueeze(-1) == function_of("arange")(depth)).to(wanted)

    return apply("OneHot", encode, [indices], name)


def cast(x: Any, dtype: Any, name: str | None = None) -> Any:
    """Cast x to another dtype."""
    wanted = BY_NAME[dtype_name(dtype)]
    return apply("Cast", lambda t: t.to(wanted), [x], name)


def to_float(x: Any) -> Any:
    """Cast x to float32."""
    return cast(x, float32)


def reshape(tensor: Any, shape: Any, name: str | None = None) -> Any:
    """Reshape to another shape with the same elements."""
    return apply("Reshape", lambda t: t.reshape(tuple(shape)), [tensor], name)


def transpose(a: Any, perm: Any = None, name: str | None = None) -> Any:
    """Permute the dims, by default in reverse order."""
    return apply("transpose", lambda t: t.permute(tuple(perm) if perm else tuple(reversed(range(t.ndim)))), [a], name)


def zeros_like(tensor: Any, name: str = "zeros_like") -> Any:
    """Return zeros of a node's shape and dtype."""
    return apply("ZerosLike", function_of("zeros_like"), [tensor], name)


def ones_like(tensor: Any, name: str = "ones_like") -> Any:
    """Return ones of a node's shape and dtype."""
    return apply("OnesLike", function_of("ones_like"), [tensor], name)


def zeros(shape: Any, dtype: Any = float32, name: str = "zeros") -> Tensor:
    """Return a constant node of zeros."""
    return constant(np.zeros(tuple(shape)), dtype, name=name)


def ones(shape: Any, dtype: Any = float32, name: str = "ones") -> Tensor:
    """Return a constant node of ones."""
    return constant(np.ones(tuple(shape)), dtype, name=name)


def while_loop(
    cond: Any,
    body: Any,
    loop_vars: Any,
    shape_invariants: None = None,
    parallel_iterations: int = 10,
    back_prop: Any = True,
    swap_memory: Any = False,
    name: str = "while",
    maximum_iterations: int | None = None,
) -> Any:
    """Call `loops.while_loop` with TensorFlow's arguments; parallel_iterations and swap_memory are ignored."""
    if shape_invariants is not None:
        raise NotImplementedError("while_loop: shape_invariants is not supported; the variables must keep their shapes")
    if maximum_iterations is None:
        result = _loops.while_loop(cond, body, loop_vars, name)
    else:

        def within(count: Any, *values: Any) -> Any:
            return apply("LogicalAnd", function_of("logical_and"), [count < maximum_iterations, cond(*values)])

        def step(count: Any, *values: Any) -> Any:
            results = body(*values)
            return count + 1, *(results if isinstance(results, (list, tuple)) else [results])

        result = _loops.while_loop(within, step, [constant(0), *loop_vars], name)[1:]
        result = result[0] if len(result) == 1 else result
    if back_prop:
        return result
    stop = globals()["stop_gradient"]
    return list(map(stop, result)) if isinstance(result, list) else stop(result)


def name_scope(name: str) -> Any:
    """Context manager that prefixes names with `name/`."""
    return get_default_graph().name_scope(name)


def variable_scope(name: str) -> Any:
    """Context manager like name_scope, also for variables; it does not share variables (`reuse` does not exist)."""
    return get_default_graph().name_scope(name)


def disable_v2_behavior() -> None:
    """Do nothing: graph mode is the only mode, as in TensorFlow 1 (tensorflow.compat.v1)."""


disable_eager_execution = disable_v2_behavior

__all__ = [
    *OPERATIONS, *_variables.__all__, "DType", "Graph", "InteractiveSession", "Operation", "Session", "Tensor",
    "argmax", "bool", "cast", "concat", "cond", "constant", "disable_eager_execution", "disable_v2_behavior",
    "expand_dims", "float16", "float32", "float64", "get_default_graph", "gradients", "int32", "int64", "name_scope",
    "nn", "one_hot", "ones", "ones_like", "placeholder", "reduce_max", "reduce_mean", "reduce_min", "reduce_sum",
    "reset_default_graph", "reshape", "squeeze", "stack", "to_float", "train", "transpose", "variable_scope",
    "while_loop", "zeros", "zeros_like",
]  # fmt: skip
