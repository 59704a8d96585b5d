"""The checksum and the sketch of a tensor (see `trace/array_sketch.py`), computed on its device.

A tensor in the CPU's memory is read through numpy. For a tensor on another device the result is one
small tensor there: the sums of the sketch, then the upper and the lower half of the checksum.
"""

from __future__ import annotations

from typing import Any

import torch

from gradtrace.torch.memory import array_of, is_readable, numpy
from gradtrace.trace import array_sketch as sketch

FLOATS = (torch.float32, torch.float64)
WIDE = (torch.int32, torch.int64)
_tables: dict[Any, Any] = {}


def sketched(tensor: Any) -> Any:
    """Return the checksum and the sketch of a tensor without history: as a tuple for one on the
    CPU, else as a tensor. None without numpy.
    """
    if numpy is None:
        return None
    if is_readable(tensor):
        dense = tensor.contiguous()  # its copy of a transposed tensor takes less time than numpy's
        array = array_of(dense)
        return sketch.checksum_of(array), sketch.sketch_of(array)
    if tensor.is_cpu and tensor.dtype is torch.bfloat16:
        # The tensors must outlive their arrays.
        bits = tensor.contiguous().view(torch.int16)
        wide = tensor.float()
        return sketch.checksum_of(array_of(bits)), sketch.sketch_of(array_of(wide))
    packed = on_device(tensor)
    return split(packed) if tensor.is_cpu else packed


def split(packed: Any) -> tuple[int, tuple[float, ...]]:
    """Return the checksum and the sketch that a tensor of `on_device` has."""
    *sums, upper, lower = packed.tolist()
    return int(upper) << 32 | int(lower), tuple(sums)


def on_device(tensor: Any) -> Any:
    """Return the checksum and the sketch as one tensor, without waiting for the device."""
    flat = tensor.contiguous().reshape(-1)
    if flat.dtype in FLOATS:
        values = flat
    else:
        values = flat.double() if flat.dtype in WIDE else flat.float()
    values = torch.where(torch.isfinite(values), values, 0)
    sums = buckets(values)
    most = sketch.LARGEST / sketch.SCALE
    scaled = buckets(values.double() / sketch.SCALE).clamp(-most, most)
    sums = torch.where(torch.isfinite(sums), sums, scaled * sketch.SCALE)
    total = checksum(flat)
    halves = torch.stack([total >> 32 & 0xFFFFFFFF, total & 0xFFFFFFFF])
    return torch.cat([sums, halves.double()])


def buckets(values: Any) -> Any:
    """Return the sums of a sketch, as a float64 tensor."""
    blocks = -(-values.numel() // sketch.BLOCK)
    table = signs(sketch.BLOCK + blocks * sketch.LANES, values)
    filled = torch.nn.functional.pad(values, (0, blocks * sketch.BLOCK - values.numel()))
    parts = filled.view(blocks, sketch.RUN, sketch.LANES) * table[: sketch.BLOCK].view(
        sketch.RUN, sketch.LANES
    )
    lanes = (parts.sum(1).double() * table[sketch.BLOCK :].view(blocks, sketch.LANES)).sum(0)
    sums = lanes.view(-1, sketch.FOLDED).sum(0)
    folded = sketch.FOLDED - sketch.BUCKETS
    return torch.cat([sums[:folded] + sums[sketch.BUCKETS :], sums[folded : sketch.BUCKETS]])


def signs(count: int, like: Any) -> Any:
    """Return the first signs of the sketch, in the dtype and on the device of `like`."""
    key = like.device, like.dtype
    table = _tables.get(key)
    if table is None or table.numel() < count:
        name = str(like.dtype).removeprefix("torch.")
        table = _tables[key] = torch.from_numpy(sketch.signs(count, name).copy()).to(like.device)
    return table[:count]


def checksum(flat: Any) -> Any:
    """Return the checksum of a contiguous tensor of one dimension, as a tensor of int64."""
    octets = flat.view(torch.uint8)
    count = max(-(-octets.numel() // 8), 1)
    words = torch.nn.functional.pad(octets, (0, 8 * count - octets.numel())).view(torch.int64)
    lanes = sketch.WORD_LANES
    rows = -(-(count - 1) // lanes)
    odd = torch.from_numpy(sketch.odds(max(rows, lanes + 2)).astype("int64")).to(flat.device)
    filled = torch.nn.functional.pad(words[:-1], (0, rows * lanes - count + 1)).view(rows, lanes)
    sums = (filled * odd[:rows, None]).sum(0)
    total = (fold(sums) * odd[:lanes]).sum() + fold(words[-1]) * odd[lanes]
    return total + count * odd[lanes + 1]


def fold(words: Any) -> Any:
    """Return words of 64 bits whose lower half is combined with the upper one."""
    return words ^ (words >> 32 & 0xFFFFFFFF)
