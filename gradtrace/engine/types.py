"""The types of raw data, of derivative rules, and of what a rule works on.

Nothing here runs: the names serve annotations, so a scalar expression does not import numpy for them.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, Callable, Iterator, Protocol

if TYPE_CHECKING:
    from numpy import dtype
    from numpy.typing import NDArray

    Array = NDArray[Any]
    Raw = float | bool | Array  # a tensor's data: a float64 scalar, a bool, or an array of any dtype
    Number = float | int | bool
    NumpyDtype = dtype[Any]
    Shape = tuple[int, ...]
    Dims = int | tuple[int, ...] | None  # which dims: one, several, or all
    Kernel = Callable[..., Any]  # from raw operands and plain arguments to raw results
    Rule = Callable[..., Any]  # rule(xp, g, out, *arguments): the gradient of one argument
else:
    Array = Raw = Number = NumpyDtype = Shape = Dims = Kernel = Rule = None


class Operand(Protocol):
    """What a rule works on: a Python float, an array, or a Tensor.

    All three have the arithmetic; only arrays and Tensors have shapes and items, so a rule that uses those never runs
    on floats. Iterating gives the results of an operator with several of them.
    """

    @property
    def shape(self) -> Shape: ...

    @property
    def ndim(self) -> int: ...

    @property
    def dtype(self) -> Any: ...

    def __getitem__(self, key: Any, /) -> Operand: ...

    def __iter__(self) -> Iterator[Operand]: ...

    def __add__(self, other: Any, /) -> Operand: ...

    def __radd__(self, other: Any, /) -> Operand: ...

    def __sub__(self, other: Any, /) -> Operand: ...

    def __rsub__(self, other: Any, /) -> Operand: ...

    def __mul__(self, other: Any, /) -> Operand: ...

    def __rmul__(self, other: Any, /) -> Operand: ...

    def __truediv__(self, other: Any, /) -> Operand: ...

    def __rtruediv__(self, other: Any, /) -> Operand: ...

    def __pow__(self, other: Any, /) -> Operand: ...

    def __neg__(self) -> Operand: ...

    def __eq__(self, other: Any, /) -> Operand: ...  # type: ignore[override]

    def __ne__(self, other: Any, /) -> Operand: ...  # type: ignore[override]

    def __lt__(self, other: Any, /) -> Operand: ...

    def __le__(self, other: Any, /) -> Operand: ...

    def __gt__(self, other: Any, /) -> Operand: ...

    def __ge__(self, other: Any, /) -> Operand: ...


class XP(Protocol):
    """The array namespace of a rule: each of its names is an operator record, on floats, arrays or Tensors."""

    def __getattr__(self, name: str, /) -> Callable[..., Operand]: ...
