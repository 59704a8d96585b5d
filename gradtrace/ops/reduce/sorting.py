"""Comparison of whole tensors, and sorting: allclose, equal, sort, topk."""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import Array
from gradtrace.engine.operators.op import d, gather_op
from gradtrace.ops.api import check_dim, public
from gradtrace.ops.index.records import take_entries
from gradtrace.ops.results import Result, values_and_indices


def copy_like(a: Array, values: Array) -> Array:
    """Copy the values into a new array with the memory layout of `a`."""
    out = np.empty_like(a, values.dtype)
    out[...] = values
    return out


def in_order(a: Array, dim: int, order: Array) -> Array:
    return copy_like(a, take_entries(a, order, dim))


ORDERED = d("~self order", "order_place(None, grad, self.shape, dim, order)")
# fmt: off
sort_by = gather_op("sort(self; dim, order)", in_order,
    "out[..., i, ...] = self[..., order[..., i, ...], ...]; out[..., i, ...] <= out[..., i + 1, ...]",
    zero="choice", computed="order",
    self=ORDERED)
sort_stable = gather_op("sort_stable(self; dim, order)", in_order,
    "out[..., i, ...] = self[..., order[..., i, ...], ...]; out[..., i, ...] <= out[..., i + 1, ...]",
    zero="choice", computed="order",
    node="SortBackward1",
    self=ORDERED)
topk_by = gather_op("topk(self; dim, order)", lambda a, dim, order: take_entries(a, order, dim),
    "out[..., i, ...] = sort(self[..., j, ...], descending)[i]; 0 <= i < k",
    zero="choice", computed="order",
    self=ORDERED)
# fmt: on


@public()
def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Return whether |input - other| <= atol + rtol * |other| everywhere (torch.allclose)."""
    check_comparable(input, other, rtol=rtol, atol=atol)
    return bool(np.allclose(input.shared(), other.shared(), rtol, atol, equal_nan))


@public()
def isclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Test elementwise whether |input - other| <= atol + rtol * |other| (torch.isclose)."""
    check_comparable(input, other, rtol=rtol, atol=atol)
    return Tensor._wrap(np.isclose(input.shared(), other.shared(), rtol, atol, equal_nan))


def check_comparable(input: Tensor, other: Tensor, **tolerances: float) -> None:
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{input.dtype.scalar_type} did not match {other.dtype.scalar_type}")
    for name, value in tolerances.items():
        if value < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value}")


@public()
def equal(input: Tensor, other: Tensor) -> bool:
    """Return whether the shapes and all elements are equal (torch.equal)."""
    return input.shape == other.shape and bool((input.shared() == other.shared()).all())


@public(forms="f")
def is_inference(input: Tensor) -> bool:
    """Return whether a tensor was made in inference mode (torch.is_inference)."""
    return input.is_inference()


@public(forms="f")
def is_tensor(obj: object) -> bool:
    """Return whether obj is a Tensor (torch.is_tensor)."""
    return isinstance(obj, Tensor)


@public(forms="f")
def is_floating_point(input: Tensor) -> bool:
    """Return whether the dtype is floating point (torch.is_floating_point)."""
    return input.is_floating_point()


@public()
def is_nonzero(input: Tensor) -> bool:
    """Return whether the only element is not zero; raise RuntimeError for any other count
    (torch.is_nonzero).
    """
    return bool(input)


@public(forms="f")
def numel(input: Tensor) -> int:
    """Return the number of elements (torch.numel)."""
    return input.numel()


def order_of(a: Array, dim: int, descending: bool) -> Array:
    """Return the indices that sort stably; nan counts as the largest."""
    if not a.ndim:
        return np.zeros((), np.int64)
    if not descending:
        return np.argsort(a, axis=dim, kind="stable")
    backward = np.flip(a, dim)
    return np.flip(a.shape[dim] - 1 - np.argsort(backward, axis=dim, kind="stable"), dim)


def named_only(args: tuple[Any, ...], options: dict[str, Any]) -> None:
    if args and "stable" in options:
        raise TypeError("with stable, all arguments are given by name")


@public()
def argsort(input: Tensor, *args: Any, **options: Any) -> Tensor:
    """Indices that sort a dim; same arguments as sort (torch.argsort)."""
    named_only(args, options)
    return positions(input, *args, **options)


def positions(
    input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool = False
) -> Tensor:
    return Tensor._wrap(
        copy_like(
            input.own_array(), order_of(input.shared(), check_dim(dim, input.ndim), descending)
        )
    )


@public()
def sort(input: Tensor, *args: Any, **options: Any) -> Result:
    """Sort a dim: (values, indices); arguments dim=-1, descending=False, or by name with stable=
    (torch.sort).
    """
    named_only(args, options)
    return values_and_positions(input, *args, **options)


def values_and_positions(
    input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool = False
) -> Result:
    dim = check_dim(dim, input.ndim)
    order = positions(input, dim, descending)
    return values_and_indices(
        "sort", ((sort_stable if stable else sort_by)(input, dim, order), order)
    )


@public()
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Result:
    """The k largest (or smallest) values along a dim: (values, indices) (torch.topk)."""
    if input.dtype.name == "bool":
        raise RuntimeError("topk does not support bool dtypes on CPU")
    dim = check_dim(dim, input.ndim)
    if not input.ndim and k <= 1:
        place = Tensor._wrap(np.zeros((), np.int64))
        return values_and_indices("topk", (topk_by(input, dim, place), place))
    if not input.ndim or k > input.shape[dim]:
        raise RuntimeError("selected index k out of range")
    order = Tensor._wrap(np.take(order_of(input.shared(), dim, largest), np.arange(k), dim))
    return values_and_indices("topk", (topk_by(input, dim, order), order))
