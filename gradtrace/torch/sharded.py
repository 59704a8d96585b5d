"""Parameters that FSDP2 (`fully_shard`) divides between the ranks.

A module computes with whole parameters, which FSDP2 gathers before it and frees after it; an
optimizer holds shards (DTensors). A record has the whole parameter under the name that the program
gave it, and notes of each shard the sum of squares, without a collective: what FSDP2 itself does to
gather and to reduce is not recorded.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch

from gradtrace.torch import private
from gradtrace.torch.memory import PLAIN
from gradtrace.trace.record import TENSOR_PARALLEL, Shard

if TYPE_CHECKING:
    from gradtrace.torch.recorder import Recorder

INTERNAL = (
    "lazy_init",
    "unshard",
    "wait_for_unshard",
    "reshard",
    "pre_forward",
    "post_forward",
    "pre_backward",
    "post_backward",
    "finalize_backward",
)


def distributed_tensor() -> Any:
    """Return the class DTensor if it is loaded; else None."""
    return getattr(sys.modules.get("torch.distributed.tensor"), "DTensor", None)


def is_sharded(tensor: Any) -> bool:
    if type(tensor) in PLAIN:
        return False
    kind = distributed_tensor()
    return kind is not None and isinstance(tensor, kind)


def local(tensor: Any) -> Any:
    """Return the part of a tensor that this process holds."""
    return private.local_of(tensor) if is_sharded(tensor) else tensor


def copies_of(tensor: Any) -> int:
    """Return how many processes hold the same part of a DTensor."""
    sizes = (
        tensor.device_mesh.size(i)
        for i, placement in enumerate(tensor.placements)
        if placement.is_replicate()
    )
    return math.prod(sizes)


def whole(rec: Recorder, tensor: Any) -> Any:
    """Return the parameter that modules compute with in place of a shard; the tensor itself if it
    is not known.
    """
    held = rec.shards.get(id(tensor))
    if held is None or held.sharded_param is not tensor:
        return tensor
    return private.gathered(held) if private.gathered(held) is not None else tensor


def is_any_flattened(modules: list[tuple[str, Any]]) -> bool:
    """Whether a module is FSDP1's, whose flat parameters do not tell the program's own apart."""
    kind = getattr(sys.modules.get("torch.distributed.fsdp"), "FullyShardedDataParallel", None)
    return kind is not None and any(isinstance(module, kind) for _, module in modules)


def outdate(rec: Recorder, updated: Iterable[Any], version: int) -> None:
    """Note that the whole parameters of some shards have other contents when they are next
    gathered: their version counters do not tell. `version` is the mark for that.
    """
    for shard in updated:
        gathered = whole(rec, shard)
        identity = None if gathered is shard else rec.find(gathered)
        if identity is not None:
            identity.version = version


def unrecorded(rec: Recorder, original: Any) -> Any:
    """Return a method that is not recorded."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        with rec.unrecorded():
            return original(self, *args, **kwargs)

    return method


def internal(rec: Recorder, original: Any) -> Any:
    """Return a method of FSDP2's that is not recorded, and after which its parameters are known."""
    hidden = unrecorded(rec, original)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return hidden(self, *args, **kwargs)
        finally:
            rec.shards.update(
                (id(parameter.sharded_param), parameter) for parameter in self.fsdp_params
            )

    return method


def note_computing(rec: Recorder, named: Iterable[tuple[str, Any]]) -> None:
    """Note that operations used DTensors themselves, as in tensor parallelism, and not what FSDP2
    gathers from them.
    """
    pairs = [(name, p, whole(rec, p)) for name, p in named if is_sharded(p)]
    parameters = [(name, p, rec.find(used)) for name, p, used in pairs if is_sharded(used)]
    if not parameters:
        return
    used = {id(entry.tensor) for call in rec.calls for entry in call.inputs.values()}
    for name, p, identity in parameters:
        if identity is not None and id(identity) in used:
            rec.left_out[f"{TENSOR_PARALLEL} ({name} is {placement_of(p)})"] = []
            return


def placement_of(p: Any) -> str:
    return ", ".join(map(str, p.placements))


def shards_of(named: Iterable[tuple[str, Any]]) -> list[Shard]:
    """Return the notes of the shards among some parameters."""
    shards: dict[int, Shard] = {}
    for name, p in named:
        if is_sharded(p) and id(p) not in shards:
            shards[id(p)] = shard(name, p)
    return list(shards.values())


def shard(name: str, p: Any) -> Shard:
    part = local(p).detach()
    gradient = None if p.grad is None else local(p.grad)
    # ranks add parts of a partial one
    is_unknown = part.is_meta or any(placement.is_partial() for placement in p.placements)
    return Shard(
        name,
        tuple(p.shape),
        tuple(part.shape),
        placement_of(p),
        copies_of(p),
        int(p.device_mesh.size()),
        None if is_unknown else squares(part),
        None if is_unknown or gradient is None else squares(gradient),
    )


def squares(part: Any) -> float:
    """Return the sum of squares of a part, in float64; 0 for a rank that holds no element."""
    return float(torch.linalg.vector_norm(part, dtype=torch.float64)) ** 2 if part.numel() else 0.0
