"""torch.nn.utils.rnn: combine sequences of different lengths in one tensor, and separate them."""

from __future__ import annotations

from collections.abc import Iterable

from gradtrace.engine.data.tensor import Tensor
from gradtrace.nn.modules.utils import function
from gradtrace.nn.utils.packing import (
    PackedSequence,
    pack_padded_sequence,
    pack_sequence,
    pad_packed_sequence,
    unpack_sequence,
)

__all__ = [
    "PackedSequence", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence", "pad_sequence", "unpack_sequence",
    "unpad_sequence",
]  # fmt: skip


def pad_sequence(
    sequences: Iterable[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Stack sequences (L_i, *) into one tensor (max L, N, *), or (N, max L, *) with batch_first."""
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            "Expected padding_side to be one of left or right, but got " + padding_side + "."
        )
    listed = list(sequences)
    if not listed:
        raise RuntimeError("received an empty list of sequences")
    longest = max(s.size(0) for s in listed)
    padded = []
    for s in listed:
        missing = longest - s.size(0)
        if not missing:
            padded.append(s)
            continue
        filler = s.new_full((missing, *s.shape[1:]), padding_value)
        padded.append(function("cat")([filler, s] if padding_side == "left" else [s, filler]))
    return function("stack")(padded, 0 if batch_first else 1)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
) -> list[Tensor]:
    """Return the sequences of the given lengths, without their padding."""
    batch = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [sequence[:length] for sequence, length in zip(batch, lengths.tolist(), strict=True)]
