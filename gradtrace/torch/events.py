"""The events that the recorder notes while a program runs. None of them holds a live tensor or a node of the graph."""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

from gradtrace.engine.data import state
from gradtrace.trace import events


class Known:
    """A tensor of the program, identified by its id and a weak reference."""

    __slots__ = ("__weakref__", "first", "last", "ndim", "ref", "size", "storage", "version")

    def __init__(self, tensor: Any, storage: int | None, version: int) -> None:
        self.ref = weakref.ref(tensor)
        self.ndim: int = tensor.dim()
        self.size: int = tensor.numel()
        self.storage = storage
        self.version = version  # PyTorch's counter when the last entry was made
        self.first: Entry
        self.last: Entry


class StorageUsers:
    """The tensors that used one storage, in the order in which they were first seen."""

    __slots__ = ("live", "tensors")

    def __init__(self, known: Known) -> None:
        self.tensors = [known]
        self.live = [known]  # those that may still exist

    def add(self, known: Known) -> None:
        self.tensors.append(known)
        self.live.append(known)

    def is_used(self) -> bool:
        """Whether any of the tensors still exists."""
        while self.live and self.live[-1].ref() is None:
            self.live.pop()
        return bool(self.live)

    def existing(self) -> list[Known]:
        """Return the tensors that still exist. The others are never looked at again: a loop may make many views."""
        self.live = [identity for identity in self.live if identity.ref() is not None]
        return self.live


class Entry(events.Entry):
    """One version of a tensor, with its contents. `fn` is the number of its node, `id` its place among all entries."""

    __slots__ = ("device", "grad", "is_leaf", "is_parameter", "requires_grad", "retains", "value")

    def __init__(self, tensor: Known, call: Call | None, number: int, version: int) -> None:
        self.tensor = tensor  # not by super().__init__(): there is one for every tensor
        self.call = call
        self.version = version
        self.fn = None
        self.last = True
        self.names = []
        self.id = number
        self.value: Any = None  # a Noted
        self.is_leaf = True
        self.requires_grad = False
        self.is_parameter = False
        self.grad: Any = None  # of an overwritten version of a leaf, its gradient then
        self.retains = False
        self.device = ""

    @property
    def maker(self) -> Call | None:
        """The call that made it; of a version that was written unseen, the one that made the first version."""
        return self.call or self.tensor.first.call

    @property
    def is_current(self) -> bool:
        return self.last


class Call(events.Call):
    """One operator call. Its arguments have a Known in place of each tensor; the others are plain data."""

    __slots__ = ("fn", "grad_enabled", "kwargs")

    def __init__(self, name: str, origin: int, scope: Scope | None, grad_enabled: bool) -> None:
        super().__init__(name, origin, scope)
        self.fn: int | None = None
        self.grad_enabled = grad_enabled
        self.kwargs: dict[str, Any] = {}


class Node:
    """One node of the backward graph. `edges` has (node, output number) or None for each input."""

    __slots__ = ("call", "edges", "freed", "name", "origin", "outputs", "saved", "sequence", "variable")

    def __init__(self, name: str, sequence: int, origin: int) -> None:
        self.name = name
        self.sequence = sequence
        self.origin = origin
        self.call: Call | None = None
        self.edges: list[tuple[int, int] | None] = []
        self.outputs: list[Entry] = []
        self.variable: Known | None = None
        self.saved: list[tuple[str, Any, str]] = []  # name, entry or None, text
        self.freed = False


class Scope(state.Scope):
    """One call of a module; `what` is a weak reference to it, by which its path is found."""

    __slots__ = ("detail",)

    def __init__(self, parent: Scope | None, module: Any, origin: int) -> None:
        super().__init__(parent, "module", weakref.ref(module))
        self.detail = type(module).__name__
        self.origin = origin


class Written(NamedTuple):
    """A write in place, with the fields of `trace.record.Change`."""

    how: str
    tensors: list[Known]  # one list for all writes to a storage, which grows with the tensors that use it
    of_grad: bool
    after: int
    after_steps: int
    call: Call | None
    grad_enabled: bool
    origin: int
