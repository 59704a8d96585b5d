"""Read what a node of the backward graph keeps for backward."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from gradtrace.torch import private

if TYPE_CHECKING:
    from gradtrace.torch.recorder import Recorder

Tensor = torch.Tensor


def saved_of(rec: Recorder, node: Any, kind: private.NodeKind) -> list[tuple[str, Any, str]]:
    """Return what a node keeps for backward: tensors as entries, anything else as text."""
    if private.dispatch_depth() and not private.is_undispatched():
        with private.without_torch_dispatch():  # reading a result that was saved makes a tensor
            return saved_of(rec, node, kind)
    notes: list[tuple[str, Any, str]] = []
    for name, raw_name, shown in kind.saved:
        raw = getattr(node, raw_name, None)
        if private.is_hooked(raw):
            continue
        try:
            value = getattr(node, name)
        except RuntimeError:  # changed in place since, or freed
            continue
        notes += saved_value(rec, shown, value)
    if kind.custom:
        try:
            values = private.saved_tensors(node)
        except (RuntimeError, AttributeError):
            values = ()
        for i, value in enumerate(values):
            notes += saved_value(rec, f"saved_tensors[{i}]", value)
    return notes


def saved_value(rec: Recorder, name: str, value: Any) -> list[tuple[str, Any, str]]:
    """Return the note of one kept value: of a tensor the recorded one with its numbers, or its
    storage and shape; of a number its text. Nothing for a bool.
    """
    if isinstance(value, Tensor):
        identity = rec.find(value)
        if identity is not None:
            return [(name, identity.last, "")]
        storage = private.storage_of(value)
        used = None if storage is None else rec.storages.get(storage)
        for sharer in reversed(() if used is None else used.live):
            there = sharer.ref()
            if there is not None and there.shape == value.shape:
                return [(name, sharer.last, "")]
        return [(name, None if storage is None else storage, f"tensor {tuple(value.shape)}")]
    if isinstance(value, (bool, int, float, str)) and not isinstance(value, bool):
        return [(name, None, str(value)[:24])]
    return []
