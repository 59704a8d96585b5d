"""The events that the recorder notes while a program runs. None of them holds a live tensor or a node of the graph."""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple


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


class Entry:
    """One version of a tensor, with its names, contents and the call that made it."""

    fn: int | None = None  # the node that made it, by its number
    fn_name = ""
    grad: Any = None  # of an overwritten version of a leaf, its gradient then
    names: tuple[str, ...] = ()
    last = True
    retains = False
    device = ""
    id = -1

    def __init__(self, tensor: Known, call: Call | None, number: int, version: int) -> None:
        self.tensor = tensor
        self.call = call
        self.number = number  # in the order of creation
        self.version = version
        self.value: Any = None  # a Noted
        self.is_leaf = True
        self.requires_grad = False
        self.is_parameter = False


class Call:
    """One operator call."""

    fn: int | None = None

    def __init__(self, name: str, origin: int, scope: int | None, grad_enabled: bool) -> None:
        self.name = name
        self.index = -1
        self.origin = origin
        self.scope = scope
        self.grad_enabled = grad_enabled
        self.args: tuple[Any, ...] = ()  # a Known in place of each tensor, else plain data
        self.kwargs: dict[str, Any] = {}
        self.inputs: dict[Any, Entry] = {}  # by ident() of a Known: the version that the call read
        self.outputs: list[Entry] = []


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


class Turn:
    """The turn of a node (its visit by the engine) in a backward pass."""

    __slots__ = ("after", "at", "before", "freed", "hooks", "node", "number", "ran", "sent", "upstream")

    def __init__(self, number: int, node: int, at: int) -> None:
        self.number = number
        self.node = node
        self.at = at
        self.upstream: list[Any] = []
        self.sent: list[Any] = []
        self.hooks: list[Any] = []
        self.before: Any = None
        self.after: Any = None
        self.freed = False
        self.ran = True


class PassEvent:
    """One call of backward or autograd.grad."""

    __slots__ = (
        "after", "create_graph", "error", "inputs", "keep", "number", "origin", "roots", "stores", "until", "vectors",
    )  # fmt: skip

    def __init__(self, number: int, after: int, origin: int) -> None:
        self.number = number
        self.after = after
        self.until = after
        self.origin = origin
        self.roots: list[Entry] = []
        self.vectors: list[Any] = []
        self.keep = False
        self.create_graph = False
        self.inputs: list[Entry] | None = None
        self.stores = True
        self.error = ""


class Scope:
    """One call of a module, or of a function of the program."""

    __slots__ = ("detail", "kind", "name", "origin", "parent", "what")

    def __init__(self, parent: int | None, kind: str, name: str, detail: str, origin: int, what: Any) -> None:
        self.parent = parent
        self.kind = kind
        self.name = name
        self.detail = detail
        self.origin = origin
        self.what = what  # a weak reference to the module, by which its path is found


class Written(NamedTuple):
    """A write in place, with the fields of `trace.record.Change`."""

    how: str
    tensors: list[Known]
    of_grad: bool
    after: int
    after_steps: int
    call: Call | None
    grad_enabled: bool
    origin: int
