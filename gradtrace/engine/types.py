"""The types of raw data, of derivative rules, and of what a rule works on.

Nothing here runs: the names serve annotations, so a scalar expression does not import numpy for them.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, Callable, Protocol

if TYPE_CHECKING:
    from numpy import dtype
    from numpy.typing import NDArray

    Array = NDArray[Any]
    Raw = float | bool | Array  # a tensor's data: a float64 scalar, a bool, or an array of any dtype
    Number = float | int | bool
    NumpyDtype = dtype[Any]
    Shape = tuple[int, ...]
    Kernel = Callable[..., Any]  # from raw operands and plain arguments to raw results
    Rule = Callable[..., Any]  # rule(xp, g, out, *arguments): the gradient of one argument
else:
    Array = Raw = Number = NumpyDtype = Shape = Kernel = Rule = None


class Operand(Protocol):
    """What a rule works on: a Python float, an array, or a Tensor. All three have these operators."""

    def __add__(self, other: Any, /) -> Any: ...

    def __radd__(self, other: Any, /) -> Any: ...

    def __sub__(self, other: Any, /) -> Any: ...

    def __rsub__(self, other: Any, /) -> Any: ...

    def __mul__(self, other: Any, /) -> Any: ...

    def __rmul__(self, other: Any, /) -> Any: ...

    def __truediv__(self, other: Any, /) -> Any: ...

    def __rtruediv__(self, other: Any, /) -> Any: ...

    def __neg__(self) -> Any: ...


class XP(Protocol):
    """The array namespace of a rule: each of its names is an operator record, on floats, arrays or Tensors."""

    def __getattr__(self, name: str, /) -> Callable[..., Any]: ...
