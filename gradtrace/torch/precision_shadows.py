"""The float64 values of tensors, kept by storage, so that views and writes in place need no special
rules.

A `Shadow` has an element for each element of a storage; its view of a tensor on that storage has
those that the tensor's offset, shape and strides select. A storage without a shadow has no error.
"""

from __future__ import annotations

import math
import weakref
from typing import Any, NamedTuple

import torch

from gradtrace.torch import private

WIDE = {False: torch.float64, True: torch.complex128}  # by whether a dtype is complex


class Owner(NamedTuple):
    """The tensor whose error a shadow shows: an entry, or with `of_gradient` the gradient of its
    tensor.
    """

    entry: Any
    of_gradient: bool


class Shadow:
    """The float64 elements of one storage."""

    __slots__ = ("dtype", "errors", "flat", "owner", "parts", "shared")

    def __init__(
        self, flat: Any, dtype: Any, owner: Owner | None = None, shared: bool = False
    ) -> None:
        self.flat = flat
        self.dtype = dtype  # of the tensors that it stands for
        self.owner = owner
        self.errors: dict[Any, Any] = {}  # the measured errors, by the extent of the elements
        # The owners of the tensors that have a part of the elements, by their places.
        self.parts: dict[Any, Owner] = {}
        # Whether another Shadow may use `flat`, which is then copied before it is written to.
        self.shared = shared

    def view(self, tensor: Any) -> Any:
        """Return the elements of a tensor on the storage; ValueError if it reads them as another
        kind of number.
        """
        flat = self.flat
        if tensor.dtype is not self.dtype or tensor.is_neg():
            if (
                not self.dtype.is_complex
                or tensor.element_size() * 2 != self.dtype.itemsize
                or tensor.is_neg()
            ):
                raise ValueError(f"{self.dtype} is read as {tensor.dtype}")
            flat = torch.view_as_real(flat).reshape(-1)
        seen = flat.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
        return seen.conj() if tensor.is_conj() else seen

    def owner_of(self, tensor: Any) -> Owner | None:
        return self.parts.get(place_of(tensor), self.owner)

    def write(self, tensor: Any, value: Any) -> None:
        """Write the elements of a tensor on the storage."""
        self.parts.clear()
        self.errors.clear()
        if self.shared:
            self.flat = self.flat.clone()
            self.shared = False
        self.view(tensor).copy_(value)

    def copy(self) -> Shadow:
        """Return a Shadow that shares the elements until one of them is written to."""
        self.shared = True
        return Shadow(self.flat, self.dtype, self.owner, shared=True)


def place_of(tensor: Any) -> Any:
    """Return where on its storage a tensor has its elements."""
    return tensor.storage_offset(), tensor.shape, tensor.stride()


def extent_of(tensor: Any) -> tuple[Any, int]:
    """Return which elements of its storage a tensor has, in whatever order, and how often it has
    each of them.
    """
    if tensor.is_contiguous():
        return (tensor.storage_offset(), (1, tensor.numel())), 1
    dims = [dim for dim in zip(tensor.stride(), tensor.shape, strict=True) if dim[1] != 1]
    times = math.prod(size for stride, size in dims if not stride)
    merged: list[tuple[int, int]] = []
    for stride, size in sorted(dim for dim in dims if dim[0]):
        if merged and merged[-1][0] * merged[-1][1] == stride:
            stride = merged[-1][0]
            size = merged.pop()[1] * size
        merged.append((stride, size))
    return (tensor.storage_offset(), *(merged or [(1, 1)])), times


def is_wide(dtype: Any) -> bool:
    return dtype in WIDE.values()


def is_number(tensor: Any) -> bool:
    """Whether a tensor has floating-point or complex elements that can be read."""
    dtype = tensor.dtype
    return (
        (dtype.is_floating_point or dtype.is_complex)
        and tensor.layout is torch.strided
        and not tensor.is_meta
    )


def wide(tensor: Any) -> Any:
    """Return a copy of a tensor on the CPU in float64 or complex128."""
    seen = tensor.detach()
    if seen.dtype is torch.float16:  # three times as fast as the direct cast
        seen = seen.float()
    return seen.to("cpu", WIDE[tensor.is_complex()], copy=True)


def size_of_storage(tensor: Any) -> int:
    return int(tensor.untyped_storage().nbytes() // tensor.element_size())


def of_storage(tensor: Any) -> Shadow:
    """Return a shadow of a tensor's storage as it is."""
    return Shadow(
        wide(tensor.detach().as_strided((size_of_storage(tensor),), (1,), 0)), tensor.dtype
    )


def of_result(tensor: Any, value: Any) -> Shadow:
    """Return the shadow of a result's new storage, from the result in float64."""
    count = size_of_storage(tensor)
    if count == tensor.numel() == size_of_storage(value) and value.stride() == tensor.stride():
        return Shadow(value.as_strided((count,), (1,), 0), tensor.dtype)
    make = value.new_empty if count == tensor.numel() else value.new_zeros
    shadow = Shadow(make(count), tensor.dtype)
    shadow.view(tensor).copy_(value)
    return shadow


def largest(tensor: Any) -> float:
    """Return the largest finite magnitude in a tensor."""
    if not tensor.numel():
        return 0.0
    if not tensor.is_complex():
        low, high = torch.aminmax(tensor)
        maximum = max(-float(low), float(high))
        if math.isfinite(maximum):
            return maximum
    sizes = tensor.abs()
    return float(torch.where(torch.isfinite(sizes), sizes, 0).max())


class WideFrame:
    """The float64 runs of the operations of one call, or of one turn of a node.

    Track 0 reads the shadows of all inputs. In track k the first k inputs that have errors are read
    as they are, the others as their shadows, so that the last track is the operation in float64 on
    its actual inputs. A track has the shadows of the results of the frame's operations; those of
    track 0 are in `Shadows.held`.
    """

    def __init__(self) -> None:
        self.sources: list[Owner | None] = []
        # By the storage of an input with an error, its place among the sources.
        self.index: dict[int, int] = {}
        self.storages: set[int] = set()
        self.tracks: list[dict[int, Shadow]] = []
        # By the storage of a result whose tracks are not computed, or only for a sample.
        self.pending: dict[int, Any] = {}
        self.most = 8  # inputs with errors that are distinguished
        self.grouped = False  # the last source stands for several inputs
        self.terms = 1
        self.rounds = False  # a sum of two numbers was rounded in float64
        self.dtype: Any = None  # the widest of the inputs
        self.summand = 0.0
        self.failed = ""  # why an operation was not measured

    def clear(self) -> None:
        """Drop all elements."""
        self.index.clear()
        self.storages.clear()
        self.tracks.clear()
        self.pending.clear()

    def forget(self, storage: int) -> None:
        self.storages.discard(storage)
        self.pending.pop(storage, None)
        self.index.pop(storage, None)
        for track in self.tracks:
            track.pop(storage, None)


class Shadows:
    """The shadows of all storages, and the frames that are being computed."""

    def __init__(self) -> None:
        self.held: dict[int, Shadow] = {}
        self.refs: dict[int, Any] = {}
        self.frames: list[WideFrame] = []
        # The largest magnitude in a tensor on a storage, at a version.
        self.sizes: dict[int, tuple[Any, float]] = {}
        # The float64 elements of storages as they are, at a version.
        self.copies: dict[int, tuple[int, Shadow]] = {}

    def note(self, tensor: Any, storage: int) -> None:
        """Forget a storage when it is freed."""
        if storage not in self.refs:
            self.refs[storage] = weakref.ref(
                tensor.untyped_storage(), lambda _: self.forget(storage)
            )

    def forget(self, storage: int) -> None:
        self.refs.pop(storage, None)
        self.held.pop(storage, None)
        self.sizes.pop(storage, None)
        self.copies.pop(storage, None)
        for frame in self.frames:
            frame.forget(storage)

    def size_of(self, tensor: Any, storage: int) -> float:
        """Return the largest finite magnitude in a tensor; computed once for each version of its
        storage.
        """
        at = private.version_of(tensor), tensor.storage_offset(), tensor.numel()
        if self.sizes.get(storage, (None, 0.0))[0] != at:
            self.note(tensor, storage)
            self.sizes[storage] = at, largest(tensor.detach())
        return self.sizes[storage][1]

    def actual(self, tensor: Any) -> Any:
        """Return the float64 elements of a tensor as they are; those of a parameter are kept until
        it is written to.
        """
        storage = private.storage_of(tensor)
        version = private.version_of(tensor)
        base = private.base_of(tensor)
        is_kept = storage in self.copies or isinstance(
            tensor if base is None else base, torch.nn.Parameter
        )
        if storage is None or not is_kept or not tensor.untyped_storage().resizable():
            return wide(tensor)
        if self.copies.get(storage, (-1, None))[0] != version:
            self.note(tensor, storage)
            self.copies[storage] = version, of_storage(tensor)
        return self.copies[storage][1].view(tensor)

    def meet(self, frame: WideFrame, tensor: Any, storage: int) -> None:
        """Note a tensor that is read in a frame as one of its inputs, if its storage has an
        error.
        """
        shadow = self.held.get(storage)
        if shadow is None or storage in frame.storages or storage in frame.index:
            return
        owner = shadow.owner_of(tensor)
        if owner is not None and owner in frame.sources:
            frame.index[storage] = frame.sources.index(owner)
            return
        if len(frame.sources) >= frame.most:
            frame.grouped = True
        else:
            storages = frame.storages - frame.pending.keys()
            before = frame.tracks[-1] if frame.tracks else {key: self.held[key] for key in storages}
            frame.tracks.append({key: track_shadow.copy() for key, track_shadow in before.items()})
            frame.sources.append(owner)
        frame.index[storage] = len(frame.sources) - 1

    def shadow(self, frame: WideFrame | None, storage: int | None, track: int) -> Shadow | None:
        """Return the shadow of a storage in a track; None if its elements are read as they are."""
        if storage is None:
            return None
        if frame is None or track == 0:
            return self.held.get(storage)
        if storage in frame.storages:
            return frame.tracks[track - 1].get(storage)
        return None if frame.index.get(storage, track) < track else self.held.get(storage)

    def value(self, frame: WideFrame | None, tensor: Any, track: int) -> Any:
        """Return the float64 elements of a tensor in a track."""
        shadow = self.shadow(frame, private.storage_of(tensor), track)
        return wide(tensor) if shadow is None else shadow.view(tensor)

    def put(self, frame: WideFrame | None, tensor: Any, values: list[Any], fresh: bool) -> None:
        """Store the result of an operation in each track. A `fresh` tensor is new; without it the
        result was written into an older tensor.
        """
        storage = private.storage_of(tensor)
        if storage is None:
            return
        self.note(tensor, storage)
        shadows: list[Shadow] = []
        for track, value in enumerate(values):
            if fresh and shadows and value is values[track - 1]:
                shadow = shadows[-1].copy()
            elif fresh:
                shadow = of_result(tensor, value)
            else:
                old = self.shadow(frame, storage, track)
                if track == 0 and old is None and tensor.numel() == size_of_storage(tensor):
                    shadow = of_result(tensor, value)
                else:
                    if old is None:
                        shadow = of_storage(tensor)
                    else:
                        shadow = old if track == 0 else old.copy()
                    shadow.write(tensor, value)
            shadows.append(shadow)
        self.held[storage] = shadows[0]
        if frame is not None:
            # A pending result has a value for track 0 alone.
            for shadow, table in zip(shadows[1:], frame.tracks, strict=False):
                table[storage] = shadow
            frame.storages.add(storage)

    def take_actual(self, tensor: Any) -> None:
        """Replace the shadow of a tensor by its elements as they are."""
        storage = private.storage_of(tensor)
        if storage not in self.held:
            return
        if tensor.numel() == size_of_storage(tensor):
            self.held.pop(storage)
            for frame in self.frames:
                frame.forget(storage)
            return
        for shadow in (
            self.held[storage],
            *(track[storage] for f in self.frames for track in f.tracks if storage in track),
        ):
            shadow.write(tensor, wide(tensor))
