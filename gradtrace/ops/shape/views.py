"""Views of another shape: reshape, permute, squeeze, expand. Their results share memory with the
input.
"""

from __future__ import annotations

import warnings

from gradtrace.annotations import Any, Callable, Iterable, Sequence
from gradtrace.engine.calls.call import renamed
from gradtrace.engine.calls.inplace import (
    INFERENCE_MESSAGE,
    refuse_unless_tracked,
    refuse_untrackable,
    reshape_history,
)
from gradtrace.engine.data.describe import Size
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import XP, Array, Ints, Operand, Shape
from gradtrace.engine.operators.broadcast import sum_tensor_to
from gradtrace.engine.operators.broadcast import sum_to as sum_array_to
from gradtrace.engine.operators.namespace import TRACED
from gradtrace.engine.operators.op import PASS_ON, d, elementwise_op, reduction_op, view_op
from gradtrace.ops.api import (
    check_dim,
    check_dims,
    copying,
    expose,
    given_sizes,
    is_int,
    named,
    public,
    sizes,
)
from gradtrace.ops.arguments import torch_function
from gradtrace.ops.create.factories import clone, in_c_order

INCOMPATIBLE = (
    "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
    "contiguous subspaces). Use .reshape(...) instead."
)


def view_kernel(a: Array, shape: Shape) -> Array:
    try:
        return np.reshape(a, shape, copy=False)
    except ValueError:
        raise RuntimeError(INCOMPATIBLE) from None


def inverse(dims: Ints) -> Ints:
    return tuple(sorted(range(len(dims)), key=dims.__getitem__))


def expand_kernel(a: Array, shape: Shape) -> Array:
    if a.shape == tuple(shape):
        return a.view()
    out = np.broadcast_to(a, shape, subok=False)
    if a.flags.writeable:
        out.flags.writeable = True
    if 1 not in shape:
        return out
    return np.lib.stride_tricks.as_strided(
        out, shape, expanded_strides(a, shape), writeable=a.flags.writeable
    )


def expanded_strides(a: Array, shape: Shape) -> Shape:
    """Return PyTorch's strides of an expanded array, which differ from numpy's for dims of size
    1.
    """
    strides: list[int] = []
    step = a.itemsize if a.ndim else 0  # the stride of a new dim of size 1, from the next dim
    for i in range(-1, -len(shape) - 1, -1):
        is_own = -i <= a.ndim
        stride = a.strides[i] if is_own else step
        strides.insert(0, 0 if shape[i] != (a.shape[i] if is_own else 1) else stride)
        step = shape[i] * strides[0]
    return tuple(strides)


def unsqueeze_kernel(a: Array, dim: int) -> Array:
    if dim < a.ndim or not a.ndim:
        return np.expand_dims(a, dim)
    return np.lib.stride_tricks.as_strided(a, (*a.shape, 1), (*a.strides, a.itemsize))


def swapped(a: Array, dim0: int, dim1: int) -> Array:
    return a.swapaxes(dim0, dim1) if a.ndim else a.view()


def squeeze_dims_kernel(a: Array, dims: Sequence[int]) -> Array:
    return (
        a.reshape(tuple(n for i, n in enumerate(a.shape) if n != 1 or i not in dims))
        if dims
        else a.view()
    )


def reshape_back(xp: XP, g: Any, out: Operand, self: Operand, *_: object) -> Operand:
    if xp is TRACED:
        return reshaped(g, tuple(self.shape))
    return xp.reshape(g, tuple(self.shape))


def dims_back(xp: XP, g: Operand, self: Operand, dims: Iterable[int]) -> Operand:
    """Restore the dims that squeezing removed from `self`, one by one."""
    for dim in dims:
        if self.ndim and self.shape[dim] == 1:
            g = xp.unsqueeze(g, dim)
    return g


RESHAPED = d("~self", reshape_back)
# fmt: off
view = view_op("view(self; shape)", view_kernel, "flat(out)[i] = flat(self)[i]", identity="self", self=RESHAPED)
reshape = view_op("reshape(self; shape)", lambda a, shape: a.reshape(shape), "flat(out)[i] = flat(self)[i]",
    identity="self", node="ViewBackward0", view=False, self=RESHAPED)
# What reshape returns if the tensor is not contiguous but can still be viewed.
reshape_alias = view_op("reshape_alias(self; shape)", view_kernel, "flat(out)[i] = flat(self)[i]", self=RESHAPED)
unsafe_view = view_op("unsafe_view(self; shape)", lambda a, shape: a.reshape(shape), "flat(out)[i] = flat(self)[i]",
    identity="self", view=False, self=RESHAPED)
alias = elementwise_op("alias(self)", lambda a: a.view(), "self", identity="self", view=True,
    self=PASS_ON)
unsqueeze = view_op("unsqueeze(self; dim)", unsqueeze_kernel, "flat(out)[i] = flat(self)[i]",
    inplace_node="UnsqueezeBackward1",
    self=d("~self", reshape_back, lambda xp, g, out, self, dim: xp.squeeze_dim(g, dim)))
squeeze_all = view_op("squeeze_all(self)", lambda a: np.squeeze(a), "flat(out)[i] = flat(self)[i]",
    node="SqueezeBackward0",
    self=d("~self", reshape_back, lambda xp, g, out, self: dims_back(xp, g, self, range(self.ndim))))
squeeze_dim = view_op("squeeze_dim(self; dim)", lambda a, dim: squeeze_dims_kernel(a, (dim,)),
    "flat(out)[i] = flat(self)[i]", node="SqueezeBackward1",
    self=d("~self", reshape_back, lambda xp, g, out, self, dim: dims_back(xp, g, self, (dim,))))
squeeze_dims = view_op("squeeze_dims(self; dims)", squeeze_dims_kernel,
    "flat(out)[i] = flat(self)[i]", node="SqueezeBackward2",
    self=d("~self", reshape_back, lambda xp, g, out, self, dims: dims_back(xp, g, self, sorted(dims))))
permute = view_op("permute(self; dims)", lambda a, dims: a.transpose(dims), "out[i] = self[j]; j[dims[k]] = i[k]",
    self=d("", lambda xp, g, out, self, dims: xp.permute(g, inverse(dims))))
transpose = view_op("transpose(self; dim0, dim1)", swapped,
    "out[..., i, ..., j, ...] = self[..., j, ..., i, ...]", self="transpose(grad, dim0, dim1)")
t_record = view_op("t(self)", lambda a: a.transpose(), "out[i, j] = self[j, i]", self="t(grad)")
expand = view_op("expand(self; shape)", expand_kernel, "out[i] = self[i % n]", identity="self",
    self=d("~self", lambda xp, g, out, self, shape: xp.sum_to(g, tuple(self.shape)),
        lambda xp, g, out, self, shape: sum_tensor_to(g, tuple(self.shape))))
# fmt: on
# For single numbers only: a recorded pass shows its steps.
sum_to = reduction_op(
    "sum_to(self; shape)", sum_array_to, "out[j] = sum[i](self[i, j])", identity="self"
)


def infer_size(shape: Ints, numel: int) -> Ints:
    """Replace a -1 in the shape; raise RuntimeError if it does not match `numel`."""
    unknown = [i for i, n in enumerate(shape) if n == -1]
    if len(unknown) > 1:
        raise RuntimeError("only one dimension can be inferred")
    product = 1
    for n in shape:
        if n < -1:
            raise RuntimeError(
                f"invalid shape dimension {n} at index {shape.index(n)} of shape {list(shape)}"
            )
        product *= 1 if n == -1 else n
    if unknown:
        if product == 0 and numel:
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
        if product == 0:
            raise RuntimeError(
                f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension size "
                "-1 can be any value and is ambiguous"
            )
        if numel % product == 0:
            return tuple(numel // product if n == -1 else n for n in shape)
    elif product == numel:
        return shape
    raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")


def can_view(a: Array, shape: Ints) -> bool:
    try:
        view_kernel(a, shape)
    except RuntimeError:
        return False
    return True


@public("view", forms="m")
def as_view(self: Tensor, *shape: Any, **named: object) -> Tensor:
    """View the storage with another shape; RuntimeError if the strides do not allow it
    (Tensor.view).
    """
    if len(shape) == 1 and not isinstance(shape[0], (int, tuple, list, Tensor)):
        return view_as_dtype(self, shape[0])
    if "dtype" in named:
        return view_as_dtype(self, named["dtype"])
    return view(self, infer_size(sizes(given_sizes(shape, named, "size")), self.numel()))


def view_as_dtype(self: Tensor, dtype: Any) -> Tensor:
    """View the bytes as elements of another dtype (Tensor.view)."""
    if dtype is self.dtype:
        return self.alias()
    raw = self.shared()
    new = dtype.np
    if new.itemsize != raw.itemsize:
        kinds = f"to view {self.dtype.scalar_type} as {dtype.scalar_type} (different element sizes)"
        strides = self.stride()
        if not strides:
            raise RuntimeError(f"self.dim() cannot be 0 {kinds}")
        if strides[-1] != 1:
            raise RuntimeError(f"self.stride(-1) must be 1 {kinds}, but got {strides[-1]}")
        ratio = max(new.itemsize // raw.itemsize, 1)
        steps = [(f"stride({i})", step) for i, step in enumerate(strides[:-1])]
        for quantity, got in (
            ("size(-1)", raw.shape[-1]),
            ("storage_offset()", self.storage_offset()),
            *steps,
        ):
            if got % ratio:
                raise RuntimeError(
                    f"self.{quantity} must be divisible by {ratio} {kinds}, but got {got}"
                )
        if not raw.size:
            return Tensor._wrap(
                np.empty((*raw.shape[:-1], raw.shape[-1] * raw.itemsize // new.itemsize), new)
            )
    return self.alias(raw.view(new))


@public("reshape")
def reshaped(input: Tensor, *shape: int | Sequence[int], **named: object) -> Tensor:
    """Reshape: a view if the strides allow it, else a copy (torch.reshape)."""
    wanted = infer_size(sizes(given_sizes(shape, named, "shape")), input.numel())
    if input.is_contiguous():
        return view(input, wanted)
    if can_view(input.own_array(), wanted):
        return reshape_alias(input, wanted)
    return unsafe_view(in_c_order(input), wanted)


expose(copying(reshaped, "view"), forms="f")
expose(copying(alias, "alias"), forms="f", record=alias)


@public(forms="m")
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """View with the shape of `other` (Tensor.view_as)."""
    return view(self, infer_size(tuple(other.shape), self.numel()))


@public(forms="m")
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """Reshape to the shape of `other` (Tensor.reshape_as)."""
    return reshaped(self, tuple(other.shape))


@public()
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Flatten dims start_dim to end_dim into one (torch.flatten)."""
    start = check_dim(start_dim, input.ndim)
    end = check_dim(end_dim, input.ndim)
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if input.ndim == 0:
        return reshaped(input, 1)
    if start == end:
        return input
    shape = tuple(input.shape)
    return reshaped(
        input, (*shape[:start], Size(shape[start : end + 1]).numel(), *shape[end + 1 :])
    )


@public()
def ravel(input: Tensor) -> Tensor:
    """Flatten all dims into one (torch.ravel)."""
    return view(contiguous(input), (input.numel(),))


@public()
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Split one dim into several (torch.unflatten)."""
    dim = check_dim(dim, input.ndim)
    shape = tuple(input.shape)
    parts = split_size(tuple(sizes), dim, shape[dim])
    return view(input, (*shape[:dim], *parts, *shape[dim + 1 :]))


def split_size(parts: Ints, dim: int, n: int) -> Ints:
    """Return the sizes that one dim is split into, with a -1 resolved."""
    if not parts:
        raise RuntimeError("unflatten: sizes must be non-empty")
    if parts.count(-1) > 1:
        raise RuntimeError("unflatten got an unexpected error:\nonly one dimension can be inferred")
    try:
        return infer_size(parts, n)
    except RuntimeError:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(parts)} don't multiply up to the size of dim {dim} ({n}) in the input "
            "tensor"
        ) from None


@public("unsqueeze", forms="fmc")
def unsqueezed(input: Tensor, dim: int) -> Tensor:
    """Insert a dim of size 1 at `dim` (torch.unsqueeze)."""
    return unsqueeze(input, check_dim(dim, input.ndim + 1))


@public("squeeze", forms="fmc")
def squeezed(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Remove dims of size 1, all or the given ones (torch.squeeze)."""
    if dim is None:
        return squeeze_all(input)
    if is_int(dim):
        return squeeze_dim(input, check_dim(dim, input.ndim))
    return squeeze_dims(input, check_dims(dim, input.ndim) if dim else ())


@public("permute", forms="fmc")
def permuted(input: Tensor, *dims: int | Sequence[int], **named: object) -> Tensor:
    """Permute the dims (torch.permute)."""
    order = sizes(given_sizes(dims, named, "dims"))
    if len(order) != input.ndim:
        raise RuntimeError(
            f"permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {input.ndim} is not equal to len(dims) = {len(order)}"
        )
    axes = tuple(check_dim(dim, input.ndim) for dim in order)
    if len(set(axes)) != len(axes):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return permute(input, axes)


@public("transpose", "swapdims", "swapaxes", forms="fmc")
def transposed(
    input: Tensor,
    dim0: int | None = None,
    dim1: int | None = None,
    *,
    axis0: int | None = None,
    axis1: int | None = None,
) -> Tensor:
    """Swap two dims (torch.transpose; swapaxes calls its arguments axis0 and axis1)."""
    dim0 = axis0 if dim0 is None else dim0
    dim1 = axis1 if dim1 is None else dim1
    if dim0 is None or dim1 is None:
        raise TypeError('transpose() missing 2 required positional argument: "dim0", "dim1"')
    return transpose(input, check_dim(dim0, input.ndim), check_dim(dim1, input.ndim))


@public(forms="fmc")
def t(input: Tensor) -> Tensor:
    """Transpose a matrix; tensors of fewer dims are unchanged (torch.t)."""
    need_matrix_or_less("t", input)
    return t_record.call(input)


def need_matrix_or_less(name: str, input: Tensor) -> None:
    if input.ndim > 2:
        raise RuntimeError(
            f"{name}() expects a tensor with <= 2 dimensions, but self is {input.ndim}D"
        )


@public("movedim", "moveaxis")
def movedim(input: Tensor, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """Move dims to other positions; the others keep their order (torch.movedim)."""
    single = isinstance(source, int)
    sources: Any = (source,) if single else source
    destinations: Any = (destination,) if single else destination
    if len(sources) != len(destinations):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(sources)} dims) should contain the same "
            f"number of dims as destination ({list(destinations)} dims)"
        )
    come = [check_dim(s, input.ndim) for s in sources]
    go = [check_dim(s, input.ndim) for s in destinations]
    for name, dims, asked in (("source", come, sources), ("destination", go, destinations)):
        if len(set(dims)) < len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({list(asked)})")
    if not input.ndim:
        return alias(input)
    order = [i for i in range(input.ndim) if i not in come]
    for target, moved in sorted(zip(go, come, strict=True)):
        order.insert(target, moved)
    return permute(input, tuple(order))


@public(forms="m")
def contiguous(self: Tensor, memory_format: object = None) -> Tensor:
    """Return the tensor itself if it is contiguous, else a contiguous copy (Tensor.contiguous)."""
    return self if self.is_contiguous() else in_c_order(self)


@public("clone")
def cloned(input: Tensor, *, memory_format: object = None) -> Tensor:
    """Differentiable copy with a new storage (torch.clone)."""
    return in_c_order(input) if memory_format == "torch.contiguous_format" else clone(input)


@public(forms="fmc")
def detach(input: Tensor) -> Tensor:
    """Return a tensor outside the graph that shares the storage and the version counter
    (Tensor.detach).
    """
    out = input.alias()
    state.record("detach", (input,), out)
    return out


def detach_(self: Tensor) -> Tensor:
    """Detach this tensor from the graph; it becomes a leaf (Tensor.detach_)."""
    if self._is_view():
        raise RuntimeError(
            "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
            "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence "
            "detach_() cannot be called on these gradients. To fix this error, please refer to the "
            "Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution."
        )
    if self._fn is not None and self._fn.out is not None:
        self.counter()
    state.watcher.escapes("detach_", self, self)
    if self._fn is not None:
        self.extra().detached = state.seq
        self.disable_fast_path()
    self._fn = None
    self._nr = 0
    self._req = False
    return self


T_OF_SCALAR = "Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases."
T_OF_MANY = (
    "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an "
    "error in a future release. Consider `x.mT` to transpose batches of matrices or "
    "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor."
)


def reversed_dims(self: Tensor) -> Tensor:
    if self.ndim != 2 and self.ndim != 1:
        warnings.warn(T_OF_SCALAR if not self.ndim else T_OF_MANY, UserWarning, stacklevel=2)
    return permute(self, tuple(reversed(range(self.ndim))))


def matrix_transpose(name: str) -> Callable[[Tensor], Tensor]:
    """Return the function for the property mT, mH or H, or for adjoint; a 0-d tensor is its own
    transpose.
    """

    def get(input: Tensor) -> Tensor:
        n = input.ndim
        if not n:
            return input
        if n == 1 or (n > 2 and name == "H"):
            of = "matrices (2-D tensors)" if name == "H" else "matrices or batches of matrices"
            advice = " For batches of matrices, consider using tensor.mH" if n > 2 else ""
            raise RuntimeError(
                f"tensor.{name} is only supported on {of}. Got {n}-D tensor.{advice}"
            )
        return transpose(input, n - 2, n - 1)

    return named(
        get, name, "Return the conjugate transpose of matrices: the transpose, as numbers are real."
    )


torch_function("adjoint")(matrix_transpose("adjoint()"))


def itself(input: Tensor) -> Tensor:
    """Return the tensor itself, since its numbers are real."""
    return input


for _name in ("conj", "conj_physical", "resolve_conj", "resolve_neg"):
    torch_function(_name)(itself)
public("real", forms="f")(itself)


def imag(input: Tensor) -> Tensor:
    """Raise RuntimeError: numbers are real (torch.imag)."""
    raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")


def t_inplace(self: Tensor) -> Tensor:
    """In-place form of t (Tensor.t_)."""
    refuse_unless_tracked(self)
    need_matrix_or_less("t_", self)
    return t_in_place(self)


def inplace_view(function: Callable[..., Tensor], node: str) -> Callable[..., Tensor]:
    """Return the in-place form of a view function: the tensor itself takes the new shape."""

    def method(self: Tensor, *args: Any, **options: Any) -> Tensor:
        if self.requires_grad and state.grad_enabled:
            refuse_untrackable(self)
        out = function(self, *args, **options)
        self._data = out._data
        if self.is_inference() and not state.inference:
            raise RuntimeError(INFERENCE_MESSAGE)
        self.counter().n += 1
        if out._fn is not None:
            reshape_history(self, renamed(out._fn, node))
            if self._x is not None and self._x.view is not None:
                # the data did not change, so its history remains valid
                self._x.view.version = self._version
        return self

    method.__wrapped__ = function  # type: ignore[attr-defined]
    return named(method, function.__name__ + "_", f"In-place form of {function.__name__}.")


t_in_place = inplace_view(t, "TBackward1")
_METHODS: dict[str, Any] = {
    "detach_": detach_,
    "T": property(reversed_dims),
    "mT": property(matrix_transpose("mT")),
    "H": property(matrix_transpose("H")),
    "real": property(itself),
    "imag": property(imag),
    "mH": property(matrix_transpose("mH")),
    "t_": t_inplace,
    "transpose_": inplace_view(transposed, "TransposeBackward1"),
    "swapaxes_": inplace_view(transposed, "TransposeBackward1"),
    "swapdims_": inplace_view(transposed, "TransposeBackward1"),
    "unsqueeze_": inplace_view(unsqueezed, "UnsqueezeBackward1"),
}
for _name, _method in _METHODS.items():
    setattr(Tensor, _name, _method)


def _squeeze_inplace(self: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    if dim is None:
        return inplace_view(squeezed, "SqueezeBackward3")(self)
    return inplace_view(squeezed, "SqueezeBackward4" if is_int(dim) else "SqueezeBackward5")(
        self, dim
    )


Tensor.squeeze_ = _squeeze_inplace  # type: ignore[assignment, method-assign]
