"""Gathering and scattering by index tensors and masks: gather, scatter, index_select, where,
masked_fill, nonzero.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Sequence
from gradtrace.engine.calls.inplace import inplace, place_kernel, refuse_unless_tracked
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.dtypes import python_number
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import Array
from gradtrace.engine.operators.broadcast import broadcast, check_takes
from gradtrace.engine.operators.op import PASS_ON, ZERO_GRAD, d, elementwise_op, gather_op
from gradtrace.engine.operators.rounding import fitting
from gradtrace.ops.api import Choice, check_dim, not_a_tensor, public
from gradtrace.ops.arguments import in_both_forms
from gradtrace.ops.create.factories import cast
from gradtrace.ops.index.index_checks import (
    added_index,
    flat_positions,
    gather_index,
    scatter_index,
    select_index,
    source_for,
)
from gradtrace.ops.index.indexing import index_arrays
from gradtrace.ops.index.records import (
    NO_GRAD,
    along,
    gather,
    index_put,
    index_select,
    scatter,
    scatter_add,
    scatter_kernel,
    scatter_value,
    written,
)
from gradtrace.ops.pointwise.choice import where


def mask_kernel(onto: object, source: Array, mask: Array) -> Array:
    out = np.zeros(mask.shape, source.dtype)
    out[mask] = source
    return out


# fmt: off
masked_fill = elementwise_op("masked_fill(self; mask, value)",
    lambda a, mask, value: np.where(mask, np.asarray(fitting(value, a.dtype)).astype(a.dtype), a),
    "where(mask, value, self)", zero="mask", overlap="idempotent", aten="masked_fill_.Scalar", c_order=True,
    self=d("mask", "zeroed(grad, mask)"))
masked_fill_tensor = elementwise_op("masked_fill_tensor(self, value; mask)",
    lambda a, value, mask: np.where(mask, value.astype(a.dtype), a), "where(mask, value, self)", zero="mask",
    overlap="idempotent number", aten="masked_fill_.Tensor", c_order=True, node="MaskedFillBackward1",
    self=d("mask", "zeroed(grad, mask)"),
    value=d("mask", lambda xp, g, out, self, value, mask: xp.where(mask, g, xp.zeros_like(g))))
masked_select = gather_op("masked_select(self; mask)",
    lambda a, mask: np.broadcast_arrays(a, mask)[0][np.broadcast_to(mask, np.broadcast_shapes(a.shape, mask.shape))],
    "out = self[mask]", zero="index",
    self=d("~self mask", lambda xp, g, out, self, mask: xp.mask_place(
        None, g, np.broadcast_to(raw_array(mask), np.broadcast_shapes(tuple(self.shape), tuple(mask.shape))))))
mask_place = gather_op("mask_place(onto, source; mask)", mask_kernel, "out[mask] = source",
    node="MaskedScatterBackward0",
    onto=NO_GRAD, source=d("mask", lambda xp, g, out, onto, source, mask: xp.index(g, (mask,))))
take_record = gather_op("take(self; index)", lambda a, index: a.reshape(-1)[index], "out[i] = flat(self)[index[i]]",
    self=d("~self index", "put_flat(None, grad, index, self.shape)"))
put_flat = gather_op("put_flat(zeros, source; index, shape)",
    lambda zeros, source, index, shape: place_kernel(source, index, shape), "out[index[i]] = source[i]",
    node="PutBackward0", zeros=ZERO_GRAD, source=d("index", "take(grad, index)"))
# fmt: on


# fmt: off
index_add = gather_op("index_add(self, source; dim, index, alpha)",
    lambda a, source, dim, index, alpha: written(a, along(dim, index) if a.ndim else (), source * alpha, "add"),
    "out[..., index[i], ...] = self[..., index[i], ...] + alpha * source[..., i, ...]", overlap="reads", c_order=True,
    self=PASS_ON,
    source=d("index", lambda xp, g, out, self, source, dim, index, alpha: xp.index_select(g, dim, index) * alpha))
# fmt: on


# scatter(reduce=...) has no derivative in PyTorch.
# fmt: off
scatter_by = gather_op("scatter_by(self; dim, index, src, reduce)",
    lambda a, dim, index, src, reduce: scatter_kernel(a, src, dim, index, reduce),
    "out[..., index[..., i, ...], ...] = reduce(self[..., index[..., i, ...], ...], src[..., i, ...])",
    undefined="scatter")
# fmt: on


def raw_array(value: Any) -> Array:
    return value.shared() if isinstance(value, Tensor) else value


# For two floating dtypes PyTorch casts inside the kernel, so the graph shows no cast.
# fmt: off
where_mixed = elementwise_op("where_mixed(condition, self, other; np_dtype)",
    lambda c, a, b, np_dtype: np.where(c, a.astype(np_dtype), b.astype(np_dtype)), "where(condition, self, other)",
    zero="branch", node="WhereBackward0",
    self=d("condition", lambda xp, g, out, c, self, other, np_dtype: xp.where(c, g, xp.zeros_like(g))),
    other=d("condition", lambda xp, g, out, c, self, other, np_dtype: xp.where(c, xp.zeros_like(g), g)))
# fmt: on


@public("where")
def where_or_nonzero(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """Select input where condition holds, else other; with the condition alone, nonzero
    (torch.where).
    """
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    if input is None or other is None:
        raise TypeError("where() takes the condition alone, or both input and other")
    if not isinstance(condition, Tensor):
        raise TypeError(
            f"where(): argument 'condition' (position 1) must be Tensor, not {type(condition).__name__}"
        )
    if condition.dtype is not dtypes.bool_ and condition.dtype is not dtypes.uint8:
        raise RuntimeError(
            "where expected condition to be a boolean tensor, but got a tensor with dtype "
            f"{condition.dtype.scalar_type}"
        )
    input = python_number(input)
    other = python_number(other)
    operands = [(v._data, True) if isinstance(v, Tensor) else (v, False) for v in (input, other)]
    wanted = dtypes.result_type(*operands)
    if (
        all(isinstance(v, Tensor) and v.is_floating_point() for v in (input, other))
        and input.dtype is not other.dtype
    ):
        return where_mixed(condition, input, other, wanted.np)
    return where(condition, *(as_dtype(v, wanted) for v in (input, other)))


def as_dtype(value: Tensor | float, wanted: dtypes.dtype) -> Tensor:
    if isinstance(value, Tensor):
        return value if value.dtype is wanted else cast(value, wanted.np)
    return Tensor._wrap(
        float(value) if wanted is dtypes.float64 else np.asarray(value).astype(wanted.np)
    )


Tensor.where = lambda self, condition, other: where_or_nonzero(condition, self, other)  # type: ignore[method-assign]


@public("gather")
def gathered(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """out[i][j] = input[index[i][j]][j] for dim 0, and so on (torch.gather)."""
    dim = check_dim(dim, input.ndim)
    return gather(input, dim, gather_index(input, dim, index))


@in_both_forms("scatter")
def choose_scatter(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor | float | None = None,
    value: Tensor | float | None = None,
    *,
    reduce: str | None = None,
) -> Choice:
    """Return a copy with src written (or added, or multiplied) at the index along dim
    (torch.scatter).
    """
    src = src if src is not None else value
    dim = check_dim(dim, input.ndim)
    index = scatter_index(input, dim, index, src)
    if isinstance(src, Tensor) and index.numel():
        src = source_for(index, src)
    if reduce is None and isinstance(src, Tensor):
        return scatter, (input, src, dim, index)
    if reduce is None:
        return scatter_value, (input, dim, index, src)
    if reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    if not isinstance(src, Tensor):
        src = Tensor._wrap(np.full(index.shape, src, input.dtype.np))
    return scatter_by, (input, dim, index.shared(), src.shared(), reduce)


@in_both_forms("scatter_add")
def choose_scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Choice:
    """Return a copy with src added at the index along dim (torch.scatter_add)."""
    dim = check_dim(dim, input.ndim)
    index = scatter_index(input, dim, index, src)
    return scatter_add, (input, source_for(index, src) if index.numel() else src, dim, index)


@public("index_select")
def index_selected(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """Select the entries along a dim that the index lists (torch.index_select)."""
    if not isinstance(index, Tensor):
        raise not_a_tensor("index_select", "index", 3, index)
    dim = check_dim(dim, input.ndim)
    return index_select(input, dim, select_index(input, dim, index))


@in_both_forms("index_add")
def choose_index_add(
    input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1
) -> Choice:
    """Return a copy with the slices of source added at the index (torch.index_add)."""
    dim = check_dim(dim, input.ndim)
    return index_add, (input, source, dim, added_index(input, dim, index, source), alpha)


@in_both_forms("index_put")
def choose_index_put(
    input: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False
) -> Choice:
    """Return a copy with values written (or added) at the indices (torch.index_put)."""
    return index_put, (input, values, put_indices(input, indices, values), accumulate)


def put_indices(self: Tensor, indices: Sequence[Tensor], values: Tensor) -> tuple[Any, ...]:
    if self.dtype is not values.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{self.dtype.scalar_type} for the destination and {values.dtype.scalar_type} for the source."
        )
    return index_arrays(self, list(indices))


def fill_choice(mask: Tensor, value: Tensor | float) -> tuple[Any, tuple[Any, ...]]:
    if mask.dtype.category != dtypes.BOOL:
        raise RuntimeError(
            f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype.c_name}"
        )
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(
                "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                f"{value.ndim} dimension(s)."
            )
        return masked_fill_tensor, (value, mask)
    return masked_fill, (mask, value)


@public("masked_fill")
def masked_filled(input: Tensor, mask: Tensor, value: Tensor | float) -> Tensor:
    """Return a copy with value where the mask is True (torch.masked_fill)."""
    # a record would store the mask's values
    if state.planning and mask.dtype.category == dtypes.BOOL:
        broadcast(tuple(mask.shape), tuple(input.shape))
        return where_or_nonzero(mask, value, input)
    record, rest = fill_choice(mask, value)
    broadcast(tuple(mask.shape), tuple(input.shape))
    return record.call(input, *rest)


@public(forms="m")
def masked_fill_(self: Tensor, mask: Tensor, value: Tensor | float) -> Tensor:
    """In-place form of masked_fill (Tensor.masked_fill_)."""
    refuse_unless_tracked(self, value)
    record, rest = fill_choice(mask, value)
    check_takes(tuple(self.shape), tuple(mask.shape))
    return inplace(record, self, *rest)


@public("masked_select")
def masked_selected(input: Tensor, mask: Tensor) -> Tensor:
    """Return the elements where the mask is True as a 1-d tensor (torch.masked_select)."""
    if mask.dtype.category != dtypes.BOOL:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    broadcast(tuple(mask.shape), tuple(input.shape))
    return masked_select(input, mask)


@public()
def take(input: Tensor, index: Tensor) -> Tensor:
    """Select elements by flat position (torch.take)."""
    return take_record(input, flat_positions("take", input, index))


@public()
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: bool = False) -> Any:
    """Indices of the non-zero elements: (n, ndim), or a tuple of one tensor for each dim
    (torch.nonzero).
    """
    result = np.nonzero(np.atleast_1d(input.shared()))
    if as_tuple:
        return tuple(Tensor._wrap(i) for i in result)
    return Tensor._wrap(
        np.stack(result, 1) if input.ndim else np.zeros((len(result[0]), 0), np.int64)
    )


@public(forms="n")
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """One-hot encode class indices as int64 (torch.nn.functional.one_hot)."""
    classes = tensor.shared()
    if classes.dtype != np.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if classes.size and int(classes.min()) < 0:
        raise RuntimeError("Class values must be non-negative.")
    if not classes.size and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    n = int(classes.max()) + 1 if num_classes == -1 else num_classes
    if classes.size and int(classes.max()) >= n:
        raise RuntimeError("Class values must be smaller than num_classes.")
    out = Tensor._wrap(np.eye(n, dtype=np.int64)[classes])
    out.counter().n = 2  # PyTorch fills with zeros and then scatters ones: two versions
    return out
