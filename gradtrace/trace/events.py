"""The events of a run, as gradtrace's own recorder and that of real PyTorch note them.

What an event refers to (a tensor, a node of the graph, the contents of an array) is of the
recorder's own kind: live objects here, their numbers and weak references for PyTorch. A
`trace.builder.Builder` turns it into ids and Values.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Mapping, NamedTuple
from gradtrace.trace.operands import constant_text


class Call:
    """One recorded operator call, with the entries it used and made. Its `args` have a reference
    for each tensor.
    """

    __slots__ = (
        "args", "fn", "grad_enabled", "id", "index", "inputs", "kwargs", "name", "origin", "outputs", "scope",
    )  # fmt: skip

    def __init__(self, name: str, origin: int, scope: Any, grad_enabled: bool = True) -> None:
        self.name = name
        self.origin = origin
        self.scope = scope
        self.grad_enabled = grad_enabled
        self.args: tuple[Any, ...] = ()
        self.kwargs: dict[str, Any] = {}
        self.index = -1  # among the recorded calls
        self.id = -1  # of its Operation
        self.inputs: dict[int, Any] = {}  # by id() of the tensor: the version that the call read
        self.outputs: list[Any] = []
        self.fn: Any = None  # the node that it made


class Entry:
    """One tensor, or one version of it, with its names and the call that made it."""

    __slots__ = (
        "call", "device", "fn", "grad", "id", "is_leaf", "is_parameter", "last", "names", "requires_grad", "retains",
        "tensor", "value", "version",
    )  # fmt: skip

    def __init__(self, tensor: Any, call: Call | None, number: int, version: int) -> None:
        self.tensor = tensor
        self.call = call
        self.id = number  # of its TensorRecord
        self.version = version
        self.fn: Any = None  # the node that made it
        self.last = True
        self.names: list[str] = []
        self.value: Any = None  # a note of its contents
        self.grad: Any = None  # a note of the gradient that a leaf had when it was overwritten
        self.is_leaf = True
        self.requires_grad = False
        self.is_parameter = False
        self.retains = False  # its gradient
        self.device = ""


class PassEvent:
    """One call of backward or autograd.grad."""

    __slots__ = (
        "at", "create_graph", "error", "keep", "origin", "roots", "stores", "turns", "until", "vectors", "wanted",
    )  # fmt: skip

    def __init__(self, at: int, origin: int, keep: bool, create_graph: bool, stores: bool) -> None:
        self.at = self.until = at
        self.origin = origin
        self.keep = keep
        self.create_graph = create_graph
        self.stores = stores
        self.roots: list[Any] = []
        self.vectors: list[Any] = []
        self.wanted: list[Any] | None = None  # the inputs that it was for, if for these alone
        self.error = ""
        self.turns: list[Turn] = []


class Turn:
    """The turn of a node (its visit by the engine) in a backward pass."""

    __slots__ = (
        "after", "arrived", "at", "before", "freed", "hooks", "locals", "matrices", "node", "number", "ran", "sent",
        "upstream",
    )  # fmt: skip

    def __init__(self, node: Any, at: int, number: int, ran: bool = True) -> None:
        self.node = node
        self.at = at
        self.number = number  # among the turns of all passes
        self.ran = ran
        self.arrived: Any = ()
        self.upstream: Any = ()
        self.sent: list[Any] = []
        # as the fields of HookRun; the hook, or its name
        self.hooks: list[tuple[str, Any, Any, Any, bool]] = []
        self.locals: list[Any] = []
        self.matrices: list[Any] = []
        self.freed = False
        self.before: Any = None
        self.after: Any = None


class EscapeEvent(NamedTuple):
    """A value that left the graph without an operator."""

    how: str
    tensor: Any
    out: Any
    at: int
    origin: int


class ChangeEvent(NamedTuple):
    """A write in place, with the fields of `trace.record.Change`."""

    how: str
    tensors: Any  # all those that it changed, in the recorder's own form
    of_grad: bool
    at: int
    turns: int  # how many turns of all passes were over
    call: Call | None
    grad_enabled: bool
    origin: int


class BeginEvent(NamedTuple):
    """A tensor began to require grad."""

    tensor: Any
    at: int
    origin: int


class Held:
    """An optimiser: its tensors, where it was made, its number of steps."""

    def __init__(self, optimiser: Any, origin: int) -> None:
        self.kind = type(optimiser).__name__
        self.origin = origin
        self.step_origin = 0  # of the first step
        self.tensors: list[Any] = []
        self.count = 0  # of its tensors, also of those that the record does not have
        self.lr: float | None = None
        self.options: tuple[str, ...] = ()
        self.steps = self.idle = 0
        self.rates: list[tuple[int, float]] = []  # from which step on, where it changed

    def add_step(self, optimiser: Any, origin: int, is_idle: bool) -> None:
        """Count a step at this place, with its learning rate; it is idle if no tensor had a
        gradient.
        """
        self.steps += 1
        self.idle += is_idle
        self.step_origin = self.step_origin or origin
        rates = [group.get("lr") for group in optimiser.param_groups]
        numbers = [float(rate) for rate in rates if isinstance(rate, (int, float))]
        if numbers and (not self.rates or self.rates[-1][1] != max(numbers)):
            self.rates.append((self.steps, max(numbers)))

    def read_options(self, group: Mapping[str, Any]) -> None:
        """Note the options of a group of parameters that are numbers, flags or tuples of these."""
        options = [
            (name, value)
            for name, value in group.items()
            if name not in ("params", "lr", "initial_lr")
        ]
        kinds = (int, float, bool, tuple)
        self.options = tuple(
            f"{name}={constant_text(value)}" for name, value in options if type(value) in kinds
        )


class EventStream:
    """The events of a run in the order in which a recorder noted them, except for operator
    calls.
    """

    def __init__(self) -> None:
        self.passes: list[PassEvent] = []
        self.turns = 0  # of all passes
        self.escaped: list[EscapeEvent] = []
        self.changed: list[ChangeEvent] = []
        self.begun: list[BeginEvent] = []
        self.optimisers: dict[int, Any] = {}  # by id(optimiser): its Held
