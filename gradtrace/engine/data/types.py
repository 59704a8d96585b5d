"""The types of raw data, of derivative rules, and of the operands of a rule.

The names are only for annotations, so that a scalar expression does not import numpy for them.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, Callable, Iterator, Protocol

if TYPE_CHECKING:
    from numpy import dtype, generic
    from numpy.typing import NDArray

    Array = NDArray[Any]
    # a tensor's data: a float64 scalar, a bool, or an array of any dtype
    Raw = float | bool | Array
    Number = float | int | bool
    NumpyDtype = dtype[Any]
    NumpyScalar = generic[Any]
    Shape = tuple[int, ...]
    Ints = tuple[int, ...]  # other numbers, one for each dim
    Dims = int | tuple[int, ...] | None  # which dims: one, several, or all
    Kernel = Callable[..., Any]  # from raw operands and plain arguments to raw results
    Rule = Callable[..., Any]  # rule(xp, g, out, *arguments): the gradient of one argument
    Hook = Callable[..., Any]  # a user's hook

    class Operand(Protocol):
        """The operand of a rule: a Python float, an array, or a Tensor.

        All three have arithmetic; only arrays and Tensors have shapes and items, so a rule that
        uses these never runs on floats. Iterating over an operand gives the results of an operator
        with several results.
        """

        @property
        def shape(self) -> Shape: ...

        @property
        def ndim(self) -> int: ...

        @property
        def dtype(self) -> Any: ...

        def __getitem__(self, key: Any, /) -> Operand: ...

        def any(self) -> Any: ...

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
        """The array namespace of a rule: each of its names calls an operator record on floats,
        arrays or Tensors.
        """

        def __getattr__(self, name: str, /) -> Callable[..., Operand]: ...

else:
    Array = Raw = Number = NumpyDtype = NumpyScalar = Shape = Ints = Dims = None
    Kernel = Rule = Hook = Operand = XP = None
