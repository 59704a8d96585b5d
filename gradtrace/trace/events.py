"""The events of a run, as gradtrace's own recorder and that of real PyTorch note them.

What an event refers to (a tensor, a node of the graph, the contents of an array) is of the
recorder's own kind: live objects here, their numbers and weak references for PyTorch. A
`trace.builder.Builder` turns it into ids and Values.
"""

from __future__ import annotations

import _weakref as weakref  # weakref takes a millisecond to import

from gradtrace.annotations import Any, Iterable, Mapping, NamedTuple
from gradtrace.trace.operands import constant_text


class Call:
    """One recorded operator call, with the entries that it read and made. In `args` each tensor is
    a reference of the recorder.
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
        "at", "counters", "create_graph", "error", "keep", "origin", "roots", "stores", "turns", "until", "vectors",
        "wanted",
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
        self.counters = ""  # of the loops around it: "epoch=0, i=3"


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
        # The fields of HookRun, of which the second is the hook or its name.
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
    optimiser: Any = None  # the Held of the one that made a step


class BeginEvent(NamedTuple):
    """A tensor began to require grad."""

    tensor: Any
    at: int
    origin: int


class ClipEvent:
    """A call that clipped gradients, with the fields of `trace.record.ClipRecord`."""

    __slots__ = ("at", "how", "limit", "norm", "origin", "tensors", "turns")

    def __init__(self, events: EventStream, how: str, tensors: list[Any], limit: Any) -> None:
        self.how = how
        # Calls with the same tensors share a list.
        self.tensors = events.clipped_tensors.setdefault(tuple(map(id, tensors)), tensors)
        self.limit = float(limit) if isinstance(limit, (int, float)) else None
        self.norm: Any = None  # a note
        self.at = events.at
        self.turns = events.turns
        self.origin = events.place()


class HookEvent:
    """A hook that was registered; `subject` is its module, or a reference to it."""

    __slots__ = ("at", "detail", "kind", "name", "origin", "removed", "subject", "tensor")

    def __init__(self, kind: str, hook: Any, at: int, origin: int) -> None:
        self.kind = kind
        self.name = hook_name(hook)
        self.at = at
        self.origin = origin
        self.removed: int | None = None
        self.tensor: Any = None
        self.subject: Any = None
        self.detail = ""  # the class of the module, where `subject` is a reference


def hook_name(hook: Any) -> str:
    """Return a hook's name as the program has it; "partial(name)" for a partial."""
    if isinstance(hook, str):
        return hook
    inner = getattr(hook, "func", None)
    if inner is not None:
        return f"partial({hook_name(inner)})"
    return str(getattr(hook, "__name__", type(hook).__name__))


class Schedule:
    """A schedule of learning rates: where it was made, and the program's calls of its step()."""

    def __init__(self, scheduler: Any) -> None:
        self.ref = weakref.ref(scheduler)
        self.kind = type(scheduler).__name__
        self.optimiser: Any = None  # its Held
        self.origin = self.step_origin = 0
        self.is_inner = False  # another one calls it
        self.steps: list[tuple[int, int]] = []  # calls and turns before


class HeldGroup:
    """A group of an optimiser's tensors, and its learning rate when it was made."""

    def __init__(self, group: Mapping[str, Any]) -> None:
        self.tensors: list[Any] = []
        self.count = len(group["params"])
        self.lr = rate_of(group)
        self.rates: list[tuple[int, float]] = []  # from which step on, where it changed
        self.options = options_of(group)


class Held:
    """An optimiser: its tensors by their groups, where it was made, its steps."""

    def __init__(self, optimiser: Any, origin: int) -> None:
        self.kind = type(optimiser).__name__
        self.origin = origin
        self.groups: list[HeldGroup] = []
        self.count = 0  # of its tensors, also of those that the record does not have
        self.lr: float | None = None
        self.options: tuple[str, ...] = ()
        self.rates: list[tuple[int, float]] = []  # from which step on, where it changed
        # Of each step: the calls and turns before its end, whether no tensor had a gradient, and
        # its place in the program.
        self.marks: list[tuple[int, int, bool, int]] = []

    @property
    def tensors(self) -> list[Any]:
        return [tensor for group in self.groups for tensor in group.tensors]

    def add_step(self, optimiser: Any, mark: tuple[int, int, bool, int]) -> None:
        """Note a step, with the learning rates of the groups."""
        self.marks.append(mark)
        step = len(self.marks)
        rates = list(map(rate_of, optimiser.param_groups))
        for group, rate in zip(self.groups, rates, strict=False):
            note_rate(group.rates, step, rate)
        note_rate(self.rates, step, max((r for r in rates if r is not None), default=None))


def options_of(group: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the options of a group of parameters that are numbers, flags or tuples of these."""
    kinds = (int, float, bool, tuple)
    return tuple(
        f"{name}={constant_text(value)}"
        for name, value in group.items()
        if type(value) in kinds and name not in ("params", "lr", "initial_lr")
    )


def rate_of(group: Mapping[str, Any]) -> float | None:
    """Return the learning rate of a group; None if it has none, or a tensor."""
    rate = group.get("lr")
    return float(rate) if isinstance(rate, (int, float)) else None


def note_rate(rates: list[tuple[int, float]], step: int, rate: float | None) -> None:
    """Note the learning rate of a step, if it is not that of the step before."""
    if rate is not None and (not rates or rates[-1][1] != rate):
        rates.append((step, rate))


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
        self.clips: list[ClipEvent] = []
        self.clipped_tensors: dict[tuple[int, ...], list[Any]] = {}
        self.optimisers: dict[int, Any] = {}  # by id(optimiser): its Held
        self.hooks: dict[int, HookEvent] = {}  # by the number of the handle
        self.schedules: list[Schedule] = []
        # Of each call of a GradScaler: the method, the calls and turns before, and the place.
        self.scalings: list[tuple[str, int, int, int]] = []

    @property
    def at(self) -> int:
        """How many calls were noted."""
        raise NotImplementedError

    def place(self) -> int:
        """Return the number of the present place in the program."""
        raise NotImplementedError

    def note_hook(self, kind: str, hook: Any, number: int) -> HookEvent:
        """Note a hook that was registered; `number` is that of its handle."""
        event = self.hooks[number] = HookEvent(kind, hook, self.at, self.place())
        return event

    def unhooked(self, number: int) -> None:
        """Note that a handle has removed its hook."""
        event = self.hooks.get(number)
        if event is not None and event.removed is None:
            event.removed = self.at

    def scaler_called(self, how: str) -> None:
        """Note a call of a GradScaler's method."""
        self.scalings.append((how, self.at, self.turns, self.place()))

    def schedule(self, scheduler: Any) -> Schedule:
        """Return the notes about a scheduler; one made before the recording has no place."""
        for schedule in reversed(self.schedules):
            if schedule.ref() is scheduler:
                break
        else:
            schedule = Schedule(scheduler)
            self.schedules.append(schedule)
        optimiser = getattr(scheduler, "optimizer", None)
        schedule.optimiser = self.optimisers.get(id(optimiser), schedule.optimiser)
        return schedule

    def scheduled(self, scheduler: Any, inner: Iterable[Any]) -> None:
        """Note that the program has made a scheduler, which calls others."""
        self.schedule(scheduler).origin = self.place()
        for part in inner:
            self.schedule(part).is_inner = True

    def schedule_stepped(self, scheduler: Any) -> None:
        """Note a call of a scheduler's step()."""
        schedule = self.schedule(scheduler)
        if not schedule.is_inner:
            schedule.steps.append((self.at, self.turns))
            schedule.step_origin = schedule.step_origin or self.place()
