"""The active modes, in one object that the engine and the language read, and the context manager that sets them.

    with using(grad_enabled=False, recorder=None): ...

`origin` is the number of the source span being evaluated (0: none); the engine copies it into every node and does not
depend on the source text. `recorder`, when set, is called after every operator: `recorder(op_name, args, out, origin)`;
`scope` and `watcher` record calls and backward steps (`engine/watch.py`). `planner`, when set, is notified of what a
static plan cannot represent: `planner.read(tensor)` before a value leaves the tensors (as a Python number, an index, a
numpy array), `planner.change(tensor)` before an in-place operation writes. `spend`, when set, gets the number of
floating-point operations of an expensive operator before it starts, and may raise.

`live_observers` counts the hooks, retained gradients, custom Functions and packed tensors that exist: a backward pass
uses PyTorch's exact order if there are any, because they can observe it.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING:
    from gradtrace.engine.types import ForwardMode
    from gradtrace.engine.watch import Watcher

Recorder = Callable[[str, tuple[Any, ...], Any, int], None]


class State:
    __slots__ = (
        "_forward",
        "_in_rule",
        "_inference",
        "_levels",
        "_recorder",
        "_saved_hooks",
        "anomaly",
        "anomaly_check_nan",
        "batching",
        "closely",
        "depth",
        "grad_enabled",
        "guard",
        "live_observers",
        "marks",
        "no_saved_hooks",
        "origin",
        "planner",
        "printer",
        "running",
        "scope",
        "seq",
        "special",
        "spend",
        "watcher",
    )

    def __init__(self) -> None:
        self.grad_enabled = True
        self.anomaly = False
        self.anomaly_check_nan = True
        self.origin = 0
        self.depth = 0
        self.seq = 0  # the number of the newest node; backward runs the ready node with the highest number
        self.live_observers = 0
        self.scope: Any = None
        self.watcher: Watcher | None = None
        self.planner: Any = None
        self.batching: Any = None
        self.guard: Any = None
        self.printer: Callable[[Any], str | None] | None = None
        self.spend: Callable[[int], None] | None = None
        self._forward: ForwardMode | None = None
        self._in_rule = False  # whether a derivative rule runs on Tensors
        self._inference = False
        self._levels: tuple[Any, ...] = ()
        self._recorder: Recorder | None = None
        self._saved_hooks: tuple[Any, ...] = ()  # pairs (pack, unpack), the last one in force
        self.no_saved_hooks: str | None = None  # why saved-tensor hooks are refused, if they are
        self.running: Any = None  # the active backward.OrderedPass
        self.marks = False  # whether new tensors are marked: inference, transforms
        self.special = False  # whether every operator call needs the slow path: any of these modes is on
        self.closely = False  # whether calls with two operands need it: `special`, or inside a rule

    @property
    def levels(self) -> tuple[Any, ...]:
        return self._levels

    @levels.setter
    def levels(self, levels: tuple[Any, ...]) -> None:
        self._levels = levels
        self._look()

    @property
    def inference(self) -> bool:
        return self._inference

    @inference.setter
    def inference(self, flag: bool) -> None:
        self._inference = flag
        self._look()

    @property
    def recorder(self) -> Recorder | None:
        return self._recorder

    @recorder.setter
    def recorder(self, recorder: Recorder | None) -> None:
        self._recorder = recorder
        self._look()

    @property
    def forward(self) -> ForwardMode | None:
        return self._forward

    @forward.setter
    def forward(self, level: ForwardMode | None) -> None:
        self._forward = level
        self._look()

    @property
    def saved_hooks(self) -> tuple[Any, ...]:
        return self._saved_hooks

    @saved_hooks.setter
    def saved_hooks(self, hooks: tuple[Any, ...]) -> None:
        self._saved_hooks = hooks
        self._look()

    @property
    def in_rule(self) -> bool:
        return self._in_rule

    @in_rule.setter
    def in_rule(self, flag: bool) -> None:
        self._in_rule = flag
        self.closely = flag or self.special

    def _look(self) -> None:
        self.marks = self._inference or bool(self._levels)
        watched = self._recorder is not None or self._forward is not None or bool(self._saved_hooks)
        self.special = self.marks or watched
        self.closely = self.special or self._in_rule


state = State()


class using:
    """A context manager that sets fields of `state` for a block and restores them, also when the block raises."""

    __slots__ = ("_before", "_fields")

    def __init__(self, **fields: Any) -> None:
        self._fields = fields

    def __enter__(self) -> None:
        self._before = [(name, getattr(state, name)) for name in self._fields]
        for name, value in self._fields.items():
            setattr(state, name, value)

    def __exit__(self, *exc: object) -> None:
        for name, value in self._before:
            setattr(state, name, value)
