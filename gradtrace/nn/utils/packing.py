"""PackedSequence: a batch of sequences of different lengths without padding, step by step.

https://pytorch.org/docs/stable/generated/torch.nn.utils.rnn.PackedSequence.html. The sequences are
sorted by length, longest first, so `batch_sizes[t]` sequences are active at step t.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.operators.op import gather_op
from gradtrace.nn.modules.utils import function

NOT_SORTED = (
    "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can "
    "pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this "
    "requirement if you do not need ONNX exportability."
)

# fmt: off
pack_rows = gather_op("pack_padded(self; indices)", lambda a, indices: a[indices],
    "out[i, ...] = self[indices[i], ...]", node="PackPaddedSequenceBackward0",
    self="index_place(None, grad, self.shape, indices)")
unpack_rows = gather_op("pad_packed(self; shape, indices, padding)", lambda a, *rest: unpacked(a, *rest),
    "out[j] = padding; out[indices[i]] = self[i]", node="CopySlices", self="index(grad, indices)")
# fmt: on


class PackedSequence(NamedTuple):
    """Sequences packed step by step: `data` (sum of lengths, *), the number of sequences per step,
    their order.
    """

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None = None
    unsorted_indices: Tensor | None = None


def unpacked(a: Any, shape: Any, indices: Any, padding: float) -> Any:
    out = np.full(shape, padding, a.dtype)
    out[indices] = a
    return out


def places(lengths: list[int]) -> tuple[Any, list[int]]:
    """Return (step, sequence) of each packed row, and the batch sizes; lengths are in descending
    order.
    """
    sizes = [sum(n > t for n in lengths) for t in range(lengths[0])]
    steps = np.repeat(np.arange(len(sizes)), sizes)
    rows = np.concatenate([np.arange(n) for n in sizes])
    return (steps, rows), sizes


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack (L, N, *), or (N, L, *) with batch_first; `lengths` is a list or a tensor.

    Raises RuntimeError for lengths that are not positive, of a wrong number, or (with
    enforce_sorted) not sorted.
    """
    row_lengths = torch_lengths(lengths)
    order = None
    if not enforce_sorted:
        order, back = sorting(row_lengths)
        row_lengths = [row_lengths[i] for i in order.tolist()]
        input = input.index_select(0 if batch_first else 1, order)
    if batch_first:
        input = input.transpose(0, 1)
    check_lengths(row_lengths, input)
    indices, sizes = places(row_lengths)
    data = pack_rows(input, indices)
    counts = function("tensor")(sizes)
    return (
        PackedSequence(data, counts) if order is None else PackedSequence(data, counts, order, back)
    )


def torch_lengths(lengths: Any) -> list[int]:
    return [int(n) for n in (lengths.tolist() if isinstance(lengths, Tensor) else lengths)]


def sorting(lengths: list[int]) -> tuple[Tensor, Tensor]:
    """Return the indices that sort by descending length, and the inverse permutation."""
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    tensor = function("tensor")
    return tensor(order), tensor([order.index(i) for i in range(len(order))])


def check_lengths(lengths: list[int], input: Tensor) -> None:
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    if len(lengths) != input.shape[1]:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(lengths)} "
            f"(batch_size={input.shape[1]})"
        )
    if min(lengths) <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' "
            "that is <= 0"
        )
    if sorted(lengths, reverse=True) != lengths:
        raise RuntimeError(NOT_SORTED)
    if lengths[0] > input.shape[0]:
        raise RuntimeError(
            f"Expected length of all samples to be at most {input.shape[0]}, but got {lengths[0]}"
        )


def lengths_of(batch_sizes: Tensor) -> list[int]:
    sizes = batch_sizes.tolist()
    return [sum(n > i for n in sizes) for i in range(sizes[0])]


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the padded batch and the lengths, in the original order."""
    data, sizes, _, unsorted_indices = sequence
    lengths = lengths_of(sizes)
    longest = lengths[0]
    if total_length is not None:
        if total_length < longest:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in "
                f"input, but got total_length={total_length} and max sequence length being "
                f"{longest}"
            )
        longest = total_length
    indices, _ = places(lengths)
    padded = unpack_rows(data, (longest, len(lengths), *data.shape[1:]), indices, padding_value)
    counts = function("tensor")(lengths)
    if batch_first:
        padded = padded.transpose(0, 1)
    if unsorted_indices is None:
        return padded, counts
    return padded.index_select(0 if batch_first else 1, unsorted_indices), counts[unsorted_indices]


def pack_sequence(sequences: Iterable[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack a list of tensors (L_i, *)."""
    from gradtrace.nn.utils.rnn import pad_sequence

    listed = list(sequences)
    return pack_padded_sequence(
        pad_sequence(listed), [s.size(0) for s in listed], enforce_sorted=enforce_sorted
    )


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Return the list of tensors that was packed."""
    from gradtrace.nn.utils.rnn import unpad_sequence

    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
