"""The active modes and observers, in one object, and the context manager that sets them.

    with using(grad_enabled=False, recorder=None): ...

A `using` restores the fields that it sets when its block ends. `State.modes()` are the fields that
are restored after the run of a program.

`origin` is the number of the source span being evaluated (0: none); the engine copies it into every
node and does not depend on the source text. `live_observers` counts the hooks, retained gradients,
custom Functions and packed tensors that exist: a backward pass uses PyTorch's exact order if there
are any, because they can observe it.

The observers `watcher`, `keeper` and `planner` are never None. Those in force when nothing observes
the run ignore every event, so the engine announces its events without asking; `using` and `set`
take None for them. `recorder`, when set, is called after every operator (`State.record`); only then
is `scope` set, the chain of Scopes of running modules, functions and loop iterations, innermost
first.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Callable, Container, Sequence, TypeVar

Recorder = Callable[[str, tuple[Any, ...], Any, int], None]


class Watcher:
    """An observer of a run. This base class ignores every event.

    It gets gradients as raw data or Tensors, and must not change anything. A `tensor` or `leaf` is
    a Tensor, a `node` is a Node: this file is below theirs.
    """

    def called(self, name: str, args: tuple[Any, ...], out: object, origin: int) -> None:
        """Called after an operator has run, by the run's recorder."""

    def begins(self, leaf: Any) -> None:
        """Called when a tensor begins to require grad."""

    def escapes(self, how: str, tensor: Any, out: Any | None) -> None:
        """Called when a value leaves the graph without an operator: by "item", "tolist", "data",
        "numpy", "detach_".
        """

    def changes(self, how: str, tensor: Any) -> None:
        """Called when a tensor is changed without an operator. `how` says by what.

        It is "step" (of an optimiser), "data" (assigned), "frozen" (requires_grad turned off), or
        "cleared" or "assigned" for its gradient.
        """

    def optimises(self, optimiser: object, tensors: list[Any]) -> None:
        """Called when an optimiser gets tensors to update."""

    def stepped(self, optimiser: object) -> None:
        """Called after an optimiser's step()."""

    def registered(self, kind: str, hook: Any, number: int, subject: Any) -> None:
        """Called after a hook of this kind (`trace.record.REGISTERED`) was registered on a tensor
        or a module, with the number of its handle.
        """

    def unhooked(self, number: int) -> None:
        """Called when the handle with this number removes its hook."""

    def scheduled(self, scheduler: Any, inner: Any) -> None:
        """Called when a schedule of learning rates was made, which calls those in `inner`."""

    def schedule_stepped(self, scheduler: Any) -> None:
        """Called when the program calls the step() of a schedule."""

    def scaler_called(self, how: str) -> None:
        """Called when the program calls a GradScaler's "scale", "unscale_", "step" or "update"."""

    def clipping(self, how: str, tensors: list[Any], limit: float) -> None:
        """Called when the gradients of tensors are about to be clipped, by "norm" or "value"."""

    def clipped(self, norm: Any) -> None:
        """Called after gradients were clipped by their norm."""

    def scaled(self, optimiser: object, scale: float, skipped: bool) -> None:
        """Called when a GradScaler is about to step, or to skip the step, with its unscaled
        gradients.
        """

    def starts(self, outputs: tuple[Any, ...], vectors: object) -> None:
        """Called when backward or autograd.grad starts on these tensors, with their vectors (or
        None).
        """

    def began(
        self,
        roots: list[Any],
        keep: bool,
        create_graph: bool,
        wanted: list[Any] | None,
        stores: bool,
    ) -> None:
        """Called when a backward pass begins at `roots`, each a (node, output number, gradient)."""

    def ended(self, error: BaseException | None) -> None:
        """Called when the backward pass has ended, with its error or None."""

    def enters(self, node: Any, gradient: object) -> None:
        """Called before the hooks and rules of a node, with its accumulated gradient (or None, or a
        dict by output).
        """

    def hooked(self, kind: str, hook: object, before: object, after: object) -> None:
        """Called after a hook of this kind: "tensor", "pre", "post", "accumulated", or "retain"
        (retain_grad).
        """

    def runs(self, node: Any, gradient: object) -> None:
        """Called just before the rules of a node run on `gradient`."""

    def sends(self, index: int, value: object) -> None:
        """Called when the node sends `value` along its edge `index`, in the shape and dtype of the
        target.
        """

    def leaves(self, node: Any, released: bool) -> None:
        """Called after the rules of a node; if `released`, its saved values are dropped next."""


class WriteWatcher:
    """An observer that copies what is about to be overwritten (`trace.keeper.Keeper`). The base
    class does nothing.
    """

    # the file names of the program's code objects
    program_files: Container[str] = ()
    # what variables of its functions held: `trace.frame_variables.FunctionVariables`
    functions: Sequence[Any] = ()

    def before_write(self, tensor: Any) -> None:
        """Called before a tensor is changed in place."""

    def before_array_write(self, array: Any) -> None:
        """Called before an array that a tensor may share is changed in place."""

    def passed(self, roots: list[Any], stores: bool) -> None:
        """Called when a backward pass begins at `roots`, each a (node, output number, gradient)."""

    def optimises(self) -> None:
        """Called when an optimiser gets tensors to update."""

    def stepped(self, optimiser: object) -> None:
        """Called after an optimiser has updated its parameters."""


class PlanWatcher:
    """An observer of what a static plan cannot represent (`static.record.Recorder`). This base
    class ignores it.
    """

    def read(self, tensor: Any) -> None:
        """Called before a value leaves the tensors, as a Python number, an index or a numpy
        array.
        """

    def change(self, tensor: Any) -> None:
        """Called before an in-place operation writes to a tensor."""


SILENT: dict[str, Any] = {"watcher": Watcher(), "keeper": WriteWatcher(), "planner": PlanWatcher()}
NOT_MODES = frozenset(("depth", "seq", "live_observers", "warn_always", "multithreading"))


class State:
    """The active modes. Change `inference`, `in_rule` and all other fields that `set` reads with
    `set`.
    """

    def __init__(self) -> None:
        # the stack of running transforms of `func`, the outermost first
        self.levels: tuple[Any, ...] = ()
        self.inference = False
        self.in_rule = False  # whether a derivative rule runs on Tensors
        # the tensors whose arrays that rule reads (NodeExtras)
        self.watched: tuple[tuple[Any, int, Any], ...] = ()
        self.recorder: Recorder | None = None
        self.saved_hooks: tuple[Any, ...] = ()  # pairs (pack, unpack), the last one in force
        self.grad_enabled = True
        self.anomaly = False
        self.anomaly_check_nan = True
        self.warn_always = False
        self.multithreading = True  # as a program sets it; backward always uses one thread
        self.origin = 0
        # finds the place of a program that Python runs
        self.locate: Callable[[], int] | None = None
        self.depth = 0
        # the number of the newest node; backward runs the ready node with the highest number
        self.seq = 0
        self.live_observers = 0
        self.scope: Any = None
        # gets the events of backward passes, tensors and optimisers
        self.watcher: Watcher = SILENT["watcher"]
        # keeps the values that are about to be overwritten
        self.keeper: WriteWatcher = SILENT["keeper"]
        self.planner: Any = SILENT["planner"]
        self.no_saved_hooks: str | None = None  # why saved-tensor hooks are refused, if they are
        self.refused_draws: str | None = None  # why random numbers are refused, if they are
        # the random numbers of a run that is repeated (`ops/random/generator.py`)
        self.draws: Any = None
        self.running: Any = None  # the active backward.OrderedPass
        # defaults for new tensors, the last one in force; without any the CPU
        self.devices: tuple[Any, ...] = ()
        # whether every operator call needs the slow path: any of these modes is on
        self.special = False
        self.closely = False  # whether calls with two operands need it: `special`, or inside a rule

    def set(self, **fields: Any) -> None:
        """Set fields, and update those that follow from them: the flags that say which calls need
        the slow path.
        """
        for name, value in fields.items():
            setattr(self, name, SILENT.get(name) if value is None else value)
        self.special = (
            self.inference or self.recorder is not None or bool(self.saved_hooks) or self.anomaly
        )
        self.closely = self.special or self.in_rule

    def modes(self) -> dict[str, Any]:
        """Return the fields that a run of a program may change and that are restored after it."""
        return {name: value for name, value in vars(self).items() if name not in NOT_MODES}

    def record(self, name: str, args: tuple[Any, ...], out: Any) -> None:
        """Report an operator call to the recorder, if there is one."""
        if self.recorder is not None:
            self.recorder(name, args, out, self.place())

    @property
    def watching(self) -> bool:
        """Whether a watcher observes the run. Backward then runs in PyTorch's exact order, with the
        same results.
        """
        return self.watcher is not SILENT["watcher"]

    @property
    def planning(self) -> bool:
        """Whether a static plan is recorded, which must not depend on the values of tensors."""
        return self.planner is not SILENT["planner"]

    def place(self) -> int:
        """Return the number of the source span that is being evaluated, for what observes a run."""
        return self.origin if self.locate is None else self.locate()


state = State()


class using:
    """A context manager that sets fields of `state` for a block and restores them, also when the
    block raises.
    """

    __slots__ = ("_before", "_fields")

    def __init__(self, **fields: Any) -> None:
        self._fields = fields

    def __enter__(self) -> None:
        self._before = {name: getattr(state, name) for name in self._fields}
        state.set(**self._fields)

    def __exit__(self, *exc: object) -> None:
        state.set(**self._before)


def unobserved(**fields: Any) -> using:
    """Return a context manager for computations that are not the run's: nothing observes them."""
    return using(recorder=None, watcher=None, keeper=None, planner=None, **fields)


T = TypeVar("T")


class Scope:
    """One call of a module or function, one loop, or one iteration of a loop.

    `kind` is "module", "function", "loop", "pass" or "backward"; `subject` is the module, the
    function's name or the loop's origin; `count` is the number of iterations of a loop, or the
    number of this iteration. `training` is the mode of a module when it was called, `counter` the
    number that a `for` bound for this iteration: "i=3".
    """

    __slots__ = ("count", "counter", "kind", "origin", "parent", "subject", "training")

    def __init__(self, parent: Scope | None, kind: str, subject: Any, count: int = 0) -> None:
        self.parent = parent
        self.kind = kind
        self.subject = subject
        self.count = count
        self.origin = state.place()
        self.training: Any = None
        self.counter = ""


def within(
    kind: str, subject: object, call: Callable[..., T], *args: object, **kwargs: object
) -> T:
    """Return `call(*args, **kwargs)`, run inside a new scope."""
    outer = state.scope
    state.scope = scope = Scope(outer, kind, subject)
    scope.training = vars(subject).get("training")
    try:
        return call(*args, **kwargs)
    finally:
        state.scope = outer
