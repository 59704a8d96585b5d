"""The active modes, in one object that the engine and the language read, and the context manager that sets them.

    with using(grad_enabled=False, recorder=None): ...

`origin` is the number of the source span being evaluated (0: none); the engine copies it into every node and does not
depend on the source text. `recorder`, when set, is called after every operator: `recorder(op_name, args, out, origin)`;
`scope` and `watcher` record calls and backward steps (`engine/watch.py`), `keeper` keeps values that are about to be
overwritten (`engine/keeper.py`). `planner`, when set, is notified of what a
static plan cannot represent: `planner.read(tensor)` before a value leaves the tensors (as a Python number, an index, a
numpy array), `planner.change(tensor)` before an in-place operation writes. `spend`, when set, gets the number of
floating-point operations of an expensive operator before it starts, and may raise.

`live_observers` counts the hooks, retained gradients, custom Functions and packed tensors that exist: a backward pass
uses PyTorch's exact order if there are any, because they can observe it.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING:
    from gradtrace.engine.keeper import Keeper
    from gradtrace.engine.watch import Watcher

Recorder = Callable[[str, tuple[Any, ...], Any, int], None]


class Mode:
    """A field of State that decides which operator calls need the slow path; see `State.look`."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = "_" + name

    def __get__(self, owner: State, kind: type) -> Any:
        return owner.__dict__[self.name]

    def __set__(self, owner: State, value: object) -> None:
        owner.__dict__[self.name] = value
        owner.look()


class State:
    """What is in force. `Mode` fields may be set like any other."""

    levels = Mode()  # the running transforms of `func`
    inference = Mode()
    in_rule = Mode()  # whether a derivative rule runs on Tensors
    recorder = Mode()
    forward = Mode()  # the level of forward-mode differentiation
    saved_hooks = Mode()  # pairs (pack, unpack), the last one in force

    def __init__(self) -> None:
        # The fields of Mode without notice, since `look` reads them all.
        self.__dict__.update(
            _levels=(), _inference=False, _in_rule=False, _recorder=None, _forward=None, _saved_hooks=()
        )
        self.grad_enabled = True
        self.anomaly = False
        self.anomaly_check_nan = True
        self.origin = 0
        self.depth = 0
        self.seq = 0  # the number of the newest node; backward runs the ready node with the highest number
        self.live_observers = 0
        self.scope: Any = None
        self.watcher: Watcher | None = None
        self.keeper: Keeper | None = None
        self.planner: Any = None
        self.batching: Any = None
        self.guard: Any = None
        self.printer: Callable[[Any], str | None] | None = None
        self.spend: Callable[[int], None] | None = None
        self.no_saved_hooks: str | None = None  # why saved-tensor hooks are refused, if they are
        self.running: Any = None  # the active backward.OrderedPass
        self.marks = False  # whether new tensors are marked: inference, transforms
        self.special = False  # whether every operator call needs the slow path: any of these modes is on
        self.closely = False  # whether calls with two operands need it: `special`, or inside a rule

    def look(self) -> None:
        """Derive `marks`, `special` and `closely` from the modes."""
        modes = self.__dict__
        self.marks = modes["_inference"] or bool(modes["_levels"])
        watched = modes["_recorder"] is not None or modes["_forward"] is not None or bool(modes["_saved_hooks"])
        self.special = self.marks or watched
        self.closely = self.special or modes["_in_rule"]


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
