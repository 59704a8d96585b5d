"""Facts about a Jacobian and a Hessian: blocks, weighted sums, symmetry, eigenvalues,
definiteness.
"""

from __future__ import annotations

import numpy as np

from gradtrace.analysis.paths import value_of
from gradtrace.annotations import Any, NamedTuple, Sequence
from gradtrace.trace.record import Value

ROUNDING = 1e-5  # relative: how far from symmetric, or from zero, counts as rounding


class Block(NamedTuple):
    """The derivatives of `of` with respect to `by`: a row for each element of `of`, a column for
    each of `by`.
    """

    of: str
    by: str
    of_shape: tuple[int, ...]
    by_shape: tuple[int, ...]
    matrix: Value
    weights: Value | None  # the vector of a vector-Jacobian product, one for each row
    product: Value | None  # and that product: the weighted sum of the rows


class Hessian(NamedTuple):
    """The second derivatives of a number with respect to the elements of some tensors; `labels`
    names the elements.
    """

    of: str
    by: tuple[tuple[str, tuple[int, ...]], ...]  # names and shapes
    labels: tuple[str, ...]
    matrix: Value
    symmetric: bool
    asymmetry: float  # the largest difference of two elements that should be equal
    eigenvalues: tuple[float, ...]  # of the symmetric part, ascending; empty if there are NaN
    definiteness: str  # "positive definite", "indefinite", ...


def block(
    of: str,
    by: str,
    of_shape: tuple[int, ...],
    by_shape: tuple[int, ...],
    matrix: Value,
    weights: Any,
) -> Block:
    """Return a block, with the weighted sum of its rows if there are weights."""
    if weights is None:
        return Block(of, by, of_shape, by_shape, matrix, None, None)
    vector = np.asarray(weights, float).reshape(-1)
    return Block(
        of,
        by,
        of_shape,
        by_shape,
        matrix,
        value_of(vector),
        value_of(vector @ np.asarray(matrix.data, float)),
    )


def summed_up(of: str, by: Sequence[tuple[str, tuple[int, ...]]], matrix: Value) -> Hessian:
    """Return a Hessian with its symmetry, eigenvalues and definiteness."""
    array = np.asarray(matrix.data, float).reshape(matrix.shape or (1, 1))
    labels = tuple(label for name, shape in by for label in element_names(name, shape))
    finite = bool(np.isfinite(array).all())
    size = float(np.abs(array).max(initial=0.0)) if finite else 0.0
    gap = float(np.abs(array - array.T).max(initial=0.0)) if finite else float("nan")
    values = (
        tuple(float(v) for v in np.linalg.eigvalsh((array + array.T) / 2))
        if finite and array.size
        else ()
    )
    return Hessian(
        of,
        tuple(by),
        labels,
        value_of(array),
        finite and gap <= ROUNDING * max(size, 1e-300),
        gap,
        values,
        definiteness(values) if finite else "not finite",
    )


def definiteness(values: Sequence[float]) -> str:
    """Return the definiteness by the signs of the eigenvalues; those within rounding error of zero
    count as zero.
    """
    zero = ROUNDING * max(map(abs, values), default=0.0)
    positive = sum(v > zero for v in values)
    negative = sum(v < -zero for v in values)
    if not positive and not negative:
        return "zero"
    if positive and negative:
        return "indefinite"
    sign, count = ("positive", positive) if positive else ("negative", negative)
    return f"{sign} definite" if count == len(values) else f"{sign} semidefinite"


def element_names(name: str, shape: tuple[int, ...]) -> list[str]:
    """Return names for elements: "w" for a number, "w[0, 1]" for an array's, "(x*w)[0]" for those
    of an expression.
    """
    name = f"({name})" if shape and any(c in " +-*/@%" for c in name) else name
    return [
        f"{name}[{', '.join(map(str, index))}]" if shape else name for index in np.ndindex(*shape)
    ]
