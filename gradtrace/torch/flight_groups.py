"""The parameters that a flight recorder measures, grouped by module, and their norms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any

import numpy
import torch

from gradtrace.torch import private, sharded
from gradtrace.trace.flight_log import not_noted

SAMPLE = 4096  # elements of a parameter that measure its update
MOST_GROUPS = 64  # of parameters, which are grouped by module
NONE = -1.0  # in place of a norm, for a parameter without gradient


class HeldParameters:
    """Parameters of one device and dtype that an optimizer holds, with the number of each one's
    group.

    `sizes` are the numbers of sampled elements, `scales` what makes a sample's norm the estimate of
    a parameter's. Of a shard only this process's part is read. `shares` are factors with which the
    squares of all processes' norms add up.
    """

    def __init__(self, parameters: list[Any], groups: list[int], processes: int) -> None:
        self.parameters = parameters
        self.groups = numpy.array(groups)
        self.wide = torch.float64 if parameters[0].dtype is torch.float64 else torch.float32
        counts = [sharded.local(p).numel() for p in parameters]
        self.strides = [max(1, -(-count // SAMPLE)) for count in counts]
        self.sizes = [
            -(-count // stride) for count, stride in zip(counts, self.strides, strict=True)
        ]
        sizes = numpy.array(self.sizes)
        self.scales = numpy.sqrt(numpy.array(counts) / numpy.maximum(sizes, 1))
        copies = [sharded.copies_of(p) if sharded.is_sharded(p) else processes for p in parameters]
        self.shares = 1 / numpy.sqrt(numpy.array(copies))
        # of the sampled elements, during an update: they would keep freed memory
        self.views: list[Any] = []
        self.addresses: list[int] = []  # of the parameters when the views were made

    def sample(self) -> Any:
        """Return a copy of at most SAMPLE elements of each parameter, at equal distances, in one
        dimension.
        """
        held = [sharded.local(p.detach()) for p in self.parameters]
        addresses = [p.data_ptr() for p in held]
        if not self.views or addresses != self.addresses:  # p.data = other moves a parameter
            self.views = [
                in_memory_order(p)[::stride] for p, stride in zip(held, self.strides, strict=True)
            ]
            self.addresses = addresses
        return torch.cat(self.views)

    def norms(self, tensors: Sequence[Any]) -> Any:
        """Return the norm of each tensor in one tensor, NONE for None."""
        held = [sharded.local(t.detach()) for t in tensors if t is not None]
        there = [t.coalesce().values() if t.is_sparse else t for t in held]
        if not there:
            return torch.full((len(tensors),), NONE, dtype=self.wide)
        norms = torch.stack(private.norms(there, self.wide))
        if len(there) == len(tensors):
            return norms
        placed = torch.full((len(tensors),), NONE, dtype=self.wide, device=norms.device)
        placed[
            torch.tensor([i for i, t in enumerate(tensors) if t is not None], device=norms.device)
        ] = norms
        return placed


class Groups:
    """The parameters of a model by module, and by the optimizer that holds them.

    A parameter whose name matches one of `patterns` is a group of its own.
    """

    def __init__(self, model: Any, optimizers: Iterable[Any], patterns: Sequence[str] = ()) -> None:
        held = [
            [p for group in optimizer.param_groups for p in group["params"]]
            for optimizer in optimizers
        ]
        in_optimizers = {id(p) for parameters in held for p in parameters}
        named = {id(p): name for name, p in model.named_parameters() if id(p) in in_optimizers}
        if not named:
            raise ValueError(
                "no parameter of the optimizer is the model's; make the optimizer of "
                "model.parameters()"
            )
        owners = {
            key: name.rpartition(".")[0]
            for key, name in named.items()
            if not any(fnmatchcase(name, pattern) for pattern in patterns)
        }
        depth = depth_for(list(owners.values()))
        joined = {
            key: ".".join(owner.split(".")[:depth]) or "model" for key, owner in owners.items()
        }
        group_of = {key: joined.get(key, name) for key, name in named.items()}
        self.names = list(dict.fromkeys(group_of.values()))
        numbers = {name: i for i, name in enumerate(self.names)}
        self.shares = any(sharded.is_sharded(p) for parameters in held for p in parameters)
        processes = torch.distributed.get_world_size() if self.shares else 1
        self.parts: dict[int, list[HeldParameters]] = {}
        for optimizer, parameters in zip(optimizers, held, strict=True):
            by_kind: dict[Any, list[Any]] = {}
            for p in parameters:
                if id(p) in named and p.numel():
                    by_kind.setdefault((p.device, p.dtype), []).append(p)
            self.parts[id(optimizer)] = [
                HeldParameters(some, [numbers[group_of[id(p)]] for p in some], processes)
                for some in by_kind.values()
            ]

    def of(self, optimizer: Any) -> list[HeldParameters]:
        return self.parts[id(optimizer)]

    def modules(self, model: Any) -> list[tuple[int, Any]]:
        """Return the module of each group that is one, with the group's number."""
        modules = dict(model.named_modules())
        modules["model"] = modules.get("model", model)
        return [(i, modules[name]) for i, name in enumerate(self.names) if name in modules]

    def joined(self, measured: Sequence[Sequence[tuple[HeldParameters, Any]]]) -> tuple[Any, Any]:
        """Return the norm of each group at each step, and a second one if there are two norms for
        each parameter: those of samples.
        """
        squares = numpy.zeros((2, len(measured), len(self.names)))
        mask = numpy.zeros(squares.shape, bool)
        rows: dict[HeldParameters, list[tuple[int, Any]]] = {}
        arrays = iter(read([tensor for some in measured for _, tensor in some]))
        for step, some in enumerate(measured):
            for part, _ in some:
                rows.setdefault(part, []).append((step, next(arrays)))
        for part, entries in rows.items():
            norms = numpy.stack([array for _, array in entries]).reshape(
                len(entries), -1, len(part.parameters)
            )
            row, which, place = numpy.nonzero(norms != NONE)
            scales = part.shares[place] * (part.scales[place] if norms.shape[1] > 1 else 1.0)
            where = which, numpy.array([step for step, _ in entries])[row], part.groups[place]
            numpy.add.at(squares, where, (norms[row, which, place] * scales) ** 2)
            mask[where] = True
        first, second = numpy.where(mask, numpy.sqrt(squares), not_noted(*squares.shape))
        return first, second


def in_memory_order(tensor: Any) -> Any:
    """Return a dense tensor in one dimension without a copy, also one in the format
    channels_last.
    """
    return tensor.permute(sorted(range(tensor.dim()), key=tensor.stride, reverse=True)).reshape(-1)


def read(tensors: Sequence[Any]) -> list[Any]:
    """Return some tensors of one dimension as arrays of float64; each device is waited for once."""
    arrays: list[Any] = [None] * len(tensors)
    by_kind: dict[Any, list[int]] = {}
    for i, tensor in enumerate(tensors):
        by_kind.setdefault((tensor.device, tensor.dtype), []).append(i)
    for places in by_kind.values():
        together = torch.cat([tensors[i] for i in places]).cpu().double().numpy()
        ends = numpy.cumsum([len(tensors[i]) for i in places])
        for i, array in zip(places, numpy.split(together, ends[:-1]), strict=True):
            arrays[i] = array
    return arrays


def depth_for(owners: Sequence[str]) -> int:
    """Return the largest depth of names at which there are at most MOST_GROUPS, at least 1."""
    deepest = max((owner.count(".") + 1 for owner in owners), default=1)
    fitting = (
        d
        for d in range(deepest, 1, -1)
        if len({tuple(o.split(".")[:d]) for o in owners}) <= MOST_GROUPS
    )
    return next(fitting, 1)
