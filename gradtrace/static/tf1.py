"""TensorFlow 1's API for static graphs: `import tensorflow as tf` in a program.

Only what shows how a static graph works is implemented: constants, placeholders, elementwise
operations, gradients, loops and sessions. Names, numbering, dtypes (a Python float is float32, an
int int32) and the errors for Python's `while` and `if` are TensorFlow's; operations and gradients
are gradtrace's.
"""

from __future__ import annotations

from gradtrace.lazy_names import words as _words
from gradtrace.static.derive import gradients
from gradtrace.static.elements import DType
from gradtrace.static.graph import (
    Graph,
    Operation,
    Tensor,
    constant,
    get_default_graph,
    operation_function,
    placeholder,
    reset_default_graph,
)
from gradtrace.static.loops import while_loop
from gradtrace.static.session import Session

__version__ = "1.15.0"
float16 = DType("float16")
float32 = DType("float32")
float64 = DType("float64")
int32 = DType("int32")
int64 = DType("int64")
bool = DType("bool")

# TensorFlow's name, the type of the operation, the function of torch.
_TABLE = _words("""
    add Add add  subtract Sub sub  multiply Mul mul  divide truediv div  truediv truediv div  pow Pow pow
    maximum Maximum maximum  minimum Minimum minimum  matmul MatMul matmul  negative Neg neg  abs Abs abs
    exp Exp exp  log Log log  sqrt Sqrt sqrt  square Square square  sin Sin sin  cos Cos cos  tanh Tanh tanh
    sigmoid Sigmoid sigmoid  less Less lt  less_equal LessEqual le  greater Greater gt
    greater_equal GreaterEqual ge  equal Equal eq  not_equal NotEqual ne  logical_and LogicalAnd logical_and
    logical_or LogicalOr logical_or  logical_not LogicalNot logical_not  identity Identity clone
    stop_gradient StopGradient detach  where SelectV2 where
""")
OPERATIONS = {_TABLE[i]: _TABLE[i + 1 : i + 3] for i in range(0, len(_TABLE), 3)}
for _name, (_type, _torch) in OPERATIONS.items():
    globals()[_name] = operation_function(_type, _torch)


def disable_v2_behavior() -> None:
    """Do nothing: graph mode is the only mode, as in TensorFlow 1 (tensorflow.compat.v1)."""


disable_eager_execution = disable_v2_behavior

__all__ = [
    *OPERATIONS, "DType", "Graph", "Operation", "Session", "Tensor", "bool", "constant",
    "disable_eager_execution", "disable_v2_behavior", "float16", "float32", "float64", "get_default_graph", "gradients",
    "int32", "int64", "placeholder", "reset_default_graph", "while_loop",
]  # fmt: skip
