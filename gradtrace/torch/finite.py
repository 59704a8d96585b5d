"""Check that losses and gradients are finite, at little cost, and say which are not."""

from __future__ import annotations

import cmath
import math
from typing import Any

import torch

from gradtrace.torch import private

# elements; a tensor below this is joined with others, which costs less than a sum of its own
SMALL = 4096
SHOWN = 3  # names in a sentence


def losses_of(result: Any) -> list[Any]:
    """Return the single numbers that a step returned, of a dict with "loss" that one."""
    if isinstance(result, dict) and "loss" in result:
        result = result["loss"]
    if isinstance(result, float):
        result = torch.tensor(result)
    return [
        tensor
        for tensor in flat(result)
        if tensor.is_floating_point() and tensor.numel() == 1 and has_elements(tensor)
    ]


def all_finite(tensors: list[Any]) -> bool:
    """Whether all elements are finite; this waits once for the device.

    A sum or norm is finite only if every element is. If it is not, it may have overflowed, and the
    elements decide.
    """
    small: list[Any] = []
    others: list[Any] = []
    for tensor in tensors:
        if has_elements(tensor):
            (small if tensor.numel() < SMALL else others).append(tensor)
    if not small and not others:
        return True
    try:
        if small:
            others.append(
                torch.cat([tensor if tensor.dim() == 1 else tensor.reshape(-1) for tensor in small])
            )
        # on the CPU a sum takes half as long as a norm; on a device all norms are one kernel
        numbers = [tensor.sum() for tensor in others] if others[0].is_cpu else private.norms(others)
        totals = torch.stack(numbers).tolist()
    except RuntimeError:  # several devices, or a sparse tensor
        return each_finite(tensors)
    return all(map(cmath.isfinite, totals)) or each_finite(tensors)


def has_elements(tensor: Any) -> bool:
    """Whether a tensor's elements can be read: those of the meta device and of fake tensors have
    none.
    """
    return not tensor.is_meta and type(tensor).__name__ != "FakeTensor"


def each_finite(tensors: list[Any]) -> bool:
    """Whether all elements of any tensors are finite; this waits for one number from each
    device.
    """
    by_device: dict[Any, list[Any]] = {}
    for tensor in tensors:
        values = tensor._values() if tensor.is_sparse else tensor
        by_device.setdefault(tensor.device, []).append(torch.isfinite(values).all())
    return all(bool(torch.stack(flags).all()) for flags in by_device.values())


def flat(value: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = tuple(value.values())
    return (
        [tensor for item in value for tensor in flat(item)]
        if isinstance(value, (tuple, list))
        else []
    )


# ---- in words


def facts(result: Any, parameters: list[tuple[str, Any]]) -> str:
    """Say which losses, gradients and parameters are not finite; the parameters come with their
    names.
    """
    losses = [
        f"the loss is {loss.item():g}"
        for loss in losses_of(result)
        if not math.isfinite(loss.item())
    ]
    named = list(
        {id(parameter): (name, parameter) for name, parameter in reversed(parameters)}.values()
    )[::-1]
    grads = [(name, parameter.grad) for name, parameter in named if parameter.grad is not None]
    tables = (
        ("gradients", grads),
        ("parameters", [(name, parameter.detach()) for name, parameter in named]),
    )
    return "; ".join(
        [*losses[:1], *(text for kind, pairs in tables if (text := bad_among(kind, pairs)))]
    )


def bad_among(noun: str, pairs: list[tuple[str, Any]]) -> str:
    """Return "2 of 4 gradients are not finite: a: 3 of 12 elements NaN, b: ..."; "" if all are
    finite.
    """
    bad = [
        (name, tensor)
        for name, tensor in pairs
        if has_elements(tensor) and not all_finite([tensor])
    ]
    if not bad:
        return ""
    shown = ", ".join(f"{name}: {share(tensor)}" for name, tensor in bad[:SHOWN])
    return (
        f"{len(bad)} of {len(pairs)} {noun} are not finite: "
        f"{shown}{', ...' if len(bad) > SHOWN else ''}"
    )


def share(tensor: Any) -> str:
    values = tensor.coalesce().values() if tensor.is_sparse else tensor
    counts = {"NaN": int(values.isnan().sum()), "infinite": int(values.isinf().sum())}
    told = " and ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    first, _, rest = told.partition(" ")
    return f"{first} of {values.numel()} elements {rest}"
