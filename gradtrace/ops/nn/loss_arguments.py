"""Argument checks of the losses, with PyTorch's messages and in its order."""

from __future__ import annotations

from gradtrace.engine.data import dtypes
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import Shape
from gradtrace.engine.operators.broadcast import broadcast, check_takes


def check_has_size(*arguments: object) -> None:
    """Raise AttributeError for the first argument that is not a tensor and so has no `size`."""
    for value in arguments:
        if not isinstance(value, Tensor):
            raise AttributeError(f"'{type(value).__name__}' object has no attribute 'size'")


def check_same_dtype(input: Tensor, target: Tensor) -> None:
    if target.dtype is not input.dtype:
        raise RuntimeError(
            f"Found dtype {target.dtype.scalar_type} but expected {input.dtype.scalar_type}"
        )


def check_castable(input: Tensor, target: Tensor) -> None:
    """Raise RuntimeError if the promoted dtype of input and target cannot be cast to the input's
    dtype.
    """
    common = dtypes.result_type((input._data, True), (target._data, True))
    if common.category > input.dtype.category:
        kept = {"int64": "Long", "int32": "Int", "bool": "Bool"}.get(
            input.dtype.name, input.dtype.scalar_type
        )
        raise RuntimeError(
            f"result type {common.scalar_type} can't be cast to the desired output type {kept}"
        )


def check_broadcasts(shape: Shape, to: Shape) -> None:
    """Raise RuntimeError if a weight does not expand to the operands' shape."""
    if len(shape) > len(to):
        check_takes(tuple(to), tuple(shape))
    for i in range(1, len(shape) + 1):
        n = shape[-i]
        m = to[-i] if i <= len(to) else 1
        if n not in (1, m) and m != 1:
            raise RuntimeError(
                f"Attempting to broadcast a dimension of length {n} at -{i}! Mismatching argument at index 1 had "
                f"torch.Size({list(shape)}); but expected shape should be broadcastable to {list(to)}"
            )
        if n != m and n != 1:
            full = broadcast(tuple(shape), tuple(to))
            raise RuntimeError(
                f"output with shape {list(to)} doesn't match the broadcast shape {list(full)}"
            )


# ---- classes


def check_class_weight(weight: Tensor | None, classes: int, start: str = "") -> None:
    if weight is not None and tuple(weight.shape) != (classes,):
        raise RuntimeError(
            f"{start}weight tensor should be defined either for all {classes} classes or no classes but got weight "
            f"tensor of shape: {list(weight.shape)}"
        )


def check_targets(input: Tensor, target: Tensor, weight: Tensor | None, ignore: int) -> None:
    """Raise nll_loss's errors for shapes, dtypes and classes out of range."""
    raw = input.own_array()
    values = target.array
    shape = raw.shape
    dims = raw.ndim
    if dims < 1:
        raise ValueError(f"Expected 1 or more dimensions (got {dims})")
    batch = values.shape[0] if values.ndim else 0
    if dims > 1 and shape[0] != batch:
        raise ValueError(
            f"Expected input batch_size ({shape[0]}) to match target batch_size ({batch})."
        )
    classes = shape[0 if dims == 1 else 1]
    if dims != 2 or values.ndim != 1:
        (check_rows if dims < 3 else check_images)(input, target)
    if weight is not None:
        check_class_weight(weight, classes)
        if weight.dtype is not input.dtype:
            raise RuntimeError(
                f"expected scalar type {input.dtype.scalar_type} but found {weight.dtype.scalar_type}"
            )
    if raw.dtype.kind != "f":
        raise NotImplementedError(
            f"\"nll_loss_out_frame\" not implemented for '{input.dtype.scalar_type}'"
        )
    if target.dtype.name not in ("int64", "uint8"):
        raise RuntimeError(
            f"expected target dtype to be Long or Byte, but got {target.dtype.scalar_type}"
        )
    # argmin is several times as fast as min on few elements
    if values.size and values.item(values.argmin()) >= 0 and values.item(values.argmax()) < classes:
        return
    wrong = values[(values != ignore) & ((values < 0) | (values >= classes))]
    if wrong.size:
        raise IndexError(f"Target {int(wrong.flat[0])} is out of bounds.")


def check_rows(input: Tensor, target: Tensor) -> None:
    if target.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if input.ndim == 1 and target.ndim == 1 and target.shape[0] != 1:
        raise ValueError(
            f"For 1D input, 1D target must have size 1, but got target size: {target.shape[0]}"
        )


def check_images(input: Tensor, target: Tensor) -> None:
    if input.ndim == 4 and target.ndim != 3:
        raise RuntimeError(
            f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {target.ndim}"
        )
    wanted = [input.shape[0], *input.shape[2:]]
    if list(target.shape) == wanted:
        return
    if input.ndim == 4:
        raise RuntimeError(
            f"size mismatch (got input: {list(input.shape)} , target: {list(target.shape)}"
        )
    raise RuntimeError(f"Expected target size {wanted}, got {list(target.shape)}")
