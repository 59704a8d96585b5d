"""Compare gradients with finite differences: verdicts for elements, leaves and operations.

The caller provides `measure(leaf, element, by)`, which runs the program again with one element
shifted; this module judges the numbers and summarizes them.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Callable, NamedTuple, Sequence
from gradtrace.trace.finite import FLOAT64, WRONG, judge
from gradtrace.trace.record import Span

CUT = "cut"  # the program cuts the gradient on purpose: detach() and the like


class Element(NamedTuple):
    """One element of one leaf. `order` is 1, or 2 for the derivative of the gradient along a fixed
    direction.
    """

    leaf: str
    place: tuple[int, ...]  # its index
    order: int
    analytic: float
    numeric: float
    error: float
    verdict: str  # "ok", "wrong", "kink", "jump", "edge", "not finite", "cut"
    left: float
    right: float

    @property
    def along(self) -> str:
        """The direction of a second derivative in words; "" for a first one."""
        return "a fixed vector" if self.order == 2 else ""


class Wrong(NamedTuple):
    """An operation whose own derivative is wrong."""

    name: str
    custom: bool
    span: Span | None
    source: str
    operand: int  # which input, from 0
    element: int
    analytic: float
    numeric: float


class Check(NamedTuple):
    """The result of a check. `cuts` names what cuts gradients on purpose; `skipped` is the number
    of elements not tried.
    """

    elements: tuple[Element, ...]
    wrong: tuple[Wrong, ...]
    functions: tuple[str, ...]  # the program's own Functions, which were checked on their own
    cuts: tuple[str, ...]
    hidden: tuple[str, ...]  # changes of saved values that autograd did not see
    skipped: int
    dtype: str
    where: str  # "backward on line 5", "the result"

    @property
    def passed(self) -> bool:
        return not self.wrong and all(e.verdict != WRONG for e in self.elements)


def elements(
    leaf: str,
    shape: tuple[int, ...],
    values: Any,
    analytic: Any,
    measure: Callable[[int, float], float],
    chosen: Sequence[int],
    order: int,
    eps: float = FLOAT64,
) -> list[Element]:
    """Return the verdicts on the chosen elements (flattened indices) of a leaf. `analytic` None
    means a gradient of zeros.
    """
    verdicts = []
    for element in chosen:
        measured: dict[float, float] = {}

        def f(by: float, element: int = element, cache: dict[float, float] = measured) -> float:
            if by not in cache:
                cache[by] = measure(element, by)
            return cache[by]

        expected = 0.0 if analytic is None else float(analytic.reshape(-1)[element])
        judged = judge(f, expected, float(values.reshape(-1)[element]), eps)
        verdicts.append(
            Element(
                leaf,
                unravel(element, shape),
                order,
                expected,
                judged.numeric,
                judged.error,
                judged.verdict,
                judged.left,
                judged.right,
            )
        )
    return verdicts


def unravel(element: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the index of a flattened element."""
    index: list[int] = []
    for size in reversed(shape):
        index.append(element % size)
        element //= size
    return tuple(reversed(index))


def excused(elements: Sequence[Element], cut: Callable[[str], bool]) -> tuple[Element, ...]:
    """Return the elements; wrong ones get the verdict "cut" if the program itself cuts their leaf's
    gradient.
    """
    return tuple(
        e._replace(verdict=CUT) if e.verdict == WRONG and cut(e.leaf) else e for e in elements
    )
