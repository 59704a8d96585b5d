"""What the recorder's events refer to: tensors, nodes and modules of the program, none of which it
keeps alive.
"""

from __future__ import annotations

import weakref
from typing import Any

from gradtrace.engine.data import state
from gradtrace.trace.events import Call, Entry


class Known:
    """A tensor of the program, identified by its id and a weak reference."""

    __slots__ = (
        "__weakref__",
        "first",
        "last",
        "ndim",
        "ref",
        "size",
        "stepped_at",
        "storage",
        "version",
    )

    def __init__(self, tensor: Any, storage: int | None, version: int) -> None:
        self.ref = weakref.ref(tensor)
        self.ndim: int = tensor.dim()
        self.size: int = tensor.numel()
        self.storage = storage
        self.version = version  # PyTorch's counter when the last entry was made
        self.stepped_at: tuple[int, int] | None = None  # where an optimiser left its contents
        self.first: Entry
        self.last: Entry


class StorageUsers:
    """The tensors that used one storage, in the order in which they were first seen."""

    __slots__ = ("live", "tensors")

    def __init__(self, identity: Known) -> None:
        self.tensors = [identity]
        self.live = [identity]  # those that may still exist

    def add(self, identity: Known) -> None:
        self.tensors.append(identity)
        self.live.append(identity)

    def is_used(self) -> bool:
        """Whether any of the tensors still exists."""
        while self.live and self.live[-1].ref() is None:
            self.live.pop()
        return bool(self.live)

    def existing(self) -> list[Known]:
        """Return the tensors that still exist. The others are never looked at again: a loop may
        make many views.
        """
        self.live = [identity for identity in self.live if identity.ref() is not None]
        return self.live


class Node:
    """One node of the backward graph. `edges` has (node, output number) or None for each input."""

    __slots__ = (
        "call",
        "edges",
        "name",
        "origin",
        "outputs",
        "saved",
        "sequence",
        "variable",
    )

    def __init__(self, name: str, sequence: int, origin: int) -> None:
        self.name = name
        self.sequence = sequence
        self.origin = origin
        self.call: Call | None = None
        self.edges: list[tuple[int, int] | None] = []
        self.outputs: list[Entry] = []
        self.variable: Known | None = None
        self.saved: list[tuple[str, Any, str]] = []  # name, entry or None, text


class Scope(state.Scope):
    """One call of a module; `subject` is a weak reference to it, by which its path is found."""

    __slots__ = ("detail",)

    def __init__(self, parent: Scope | None, module: Any, origin: int) -> None:
        super().__init__(parent, "module", weakref.ref(module))
        self.detail = type(module).__name__
        self.origin = origin
        self.training = vars(module).get("training")
