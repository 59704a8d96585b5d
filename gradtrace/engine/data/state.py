"""The active modes, in one object that the engine and its users read, and the context manager that sets them.

    with using(grad_enabled=False, recorder=None): ...

`origin` is the number of the source span being evaluated (0: none); the engine copies it into every node and does not
depend on the source text. `recorder`, when set, is called after every operator: `recorder(op_name, args, out, origin)`;
`scope`, `watcher` and `keeper` observe a recorded run (`observers.py`): calls, backward steps, values that are about to
be overwritten. `planner`, when set, is notified of actions that a static plan cannot represent:
`planner.read(tensor)` before a value leaves the tensors (as a Python number, an index, a numpy array),
`planner.change(tensor)` before an in-place operation writes.

`live_observers` counts the hooks, retained gradients, custom Functions and packed tensors that exist: a backward pass
uses PyTorch's exact order if there are any, because they can observe it.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING:
    from gradtrace.engine.data.observers import Watcher, WriteWatcher

Recorder = Callable[[str, tuple[Any, ...], Any, int], None]


class State:
    """The active modes. Change `inference`, `in_rule` and all other fields that `set` reads with `set`."""

    def __init__(self) -> None:
        self.levels: tuple[Any, ...] = ()  # the stack of running transforms of `func`, the outermost first
        self.inference = False
        self.in_rule = False  # whether a derivative rule runs on Tensors
        self.watched: tuple[tuple[Any, int, Any], ...] = ()  # the tensors whose arrays that rule reads (NodeExtras)
        self.recorder: Recorder | None = None
        self.saved_hooks: tuple[Any, ...] = ()  # pairs (pack, unpack), the last one in force
        self.grad_enabled = True
        self.anomaly = False
        self.anomaly_check_nan = True
        self.warn_always = False
        self.origin = 0
        self.locate: Callable[[], int] | None = None  # finds the place of a program that Python runs
        self.depth = 0
        self.seq = 0  # the number of the newest node; backward runs the ready node with the highest number
        self.live_observers = 0
        self.scope: Any = None
        self.watcher: Watcher | None = None
        self.keeper: WriteWatcher | None = None
        self.planner: Any = None
        self.no_saved_hooks: str | None = None  # why saved-tensor hooks are refused, if they are
        self.refused_draws: str | None = None  # why random numbers are refused, if they are
        self.draws: Any = None  # the random numbers of a run that is repeated (`ops/random/repeated.py`)
        self.running: Any = None  # the active backward.OrderedPass
        self.devices: tuple[Any, ...] = ()  # defaults for new tensors, the last one in force; without any the CPU
        self.special = False  # whether every operator call needs the slow path: any of these modes is on
        self.closely = False  # whether calls with two operands need it: `special`, or inside a rule

    def set(self, **fields: Any) -> None:
        """Set fields, and update those that follow from them: the flags that say which calls need the slow path."""
        for name, value in fields.items():
            setattr(self, name, value)
        self.special = self.inference or self.recorder is not None or bool(self.saved_hooks) or self.anomaly
        self.closely = self.special or self.in_rule

    def place(self) -> int:
        """Return the number of the source span that is being evaluated, for what observes a run."""
        return self.origin if self.locate is None else self.locate()


state = State()


class using:
    """A context manager that sets fields of `state` for a block and restores them, also when the block raises."""

    __slots__ = ("_before", "_fields")

    def __init__(self, **fields: Any) -> None:
        self._fields = fields

    def __enter__(self) -> None:
        self._before = {name: getattr(state, name) for name in self._fields}
        state.set(**self._fields)

    def __exit__(self, *exc: object) -> None:
        state.set(**self._before)
