"""The types of raw data, of derivative rules, and of what a rule works on.

Nothing here runs: the names serve annotations, so a scalar expression does not import numpy for them.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, Callable, Mapping, Protocol, Sequence

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy import dtype, generic
    from numpy.typing import NDArray

    from gradtrace.engine.function import Function
    from gradtrace.engine.node import Edge, GradientEdge, Node
    from gradtrace.engine.op import Op
    from gradtrace.engine.tensor import Tensor

    Array = NDArray[Any]
    Raw = float | bool | Array  # a tensor's data: a float64 scalar, a bool, or an array of any dtype
    Number = float | int | bool
    NumpyDtype = dtype[Any]
    NumpyScalar = generic[Any]
    Shape = tuple[int, ...]
    Kernel = Callable[..., Any]  # from raw operands and plain arguments to raw results
    Rule = Callable[..., Any]  # rule(xp, g, out, *arguments): the gradient of one argument
    Gradient: TypeAlias = float | Array | Tensor  # raw data, or a Tensor in a recorded pass
    NodeGradient: TypeAlias = Gradient | dict[int, Gradient] | None  # a dict by output number if there are several
    Hook = Callable[..., Any]  # a user's hook
    Outputs: TypeAlias = Tensor | Edge | GradientEdge | Sequence[Tensor | Edge | GradientEdge]  # of `backward`, `grad`
    Inputs: TypeAlias = Outputs | Mapping[str, Tensor]
    Vectors: TypeAlias = Tensor | Sequence[Tensor | None] | None  # of the vector-Jacobian product

    class ForwardMode(Protocol):
        """The active level of forward-mode differentiation (`func.forward_ad`)."""

        def give(self, x: Tensor, tangent: Tensor, /) -> None: ...

        def tangent(self, x: object, /) -> Tensor | None: ...

        def take(self, x: Tensor, source: Tensor, /) -> None: ...

        def text(self, x: Tensor, /) -> str | None: ...

        def push(self, record: Op, args: tuple[object, ...], out: object, /) -> None: ...

        def tangents_of(self, record: Op, args: tuple[object, ...], /) -> list[Tensor | None] | None: ...

        def settle(self, target: Tensor, tangent: Tensor | None, /) -> None: ...

        def push_function(
            self, function: type[Function], ctx: Node, args: tuple[object, ...], out: object, /
        ) -> None: ...

else:
    Array = Raw = Number = NumpyDtype = NumpyScalar = Shape = None
    Kernel = Rule = Hook = Gradient = NodeGradient = Outputs = Inputs = Vectors = ForwardMode = None


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
