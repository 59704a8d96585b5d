"""A watcher of the engine that records in order every event except the operator calls.

    watch = Watch()
    run(program, ..., record=Keeper, watcher=watch)     # and backward within it
    capture(run, roots, watch=watch).steps

It only holds references to nodes and tensors, which `watched` converts to ids. Gradients are kept
by the run's keeper (`trace/keeper.py`), which copies an array only when a later step is about to
change it.
"""

from __future__ import annotations

from math import isfinite

from gradtrace.annotations import Any
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.node import AccumulateGrad, Node
from gradtrace.engine.data.state import Watcher, state, unobserved, using
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.operators.op import records
from gradtrace.trace.events import (
    BeginEvent,
    ChangeEvent,
    ClipEvent,
    EscapeEvent,
    EventStream,
    Held,
    HeldGroup,
    PassEvent,
    Turn,
    options_of,
)
from gradtrace.trace.history import in_trace
from gradtrace.trace.keeper import SMALL, Kept, storage_of
from gradtrace.trace.local import jacobians, local_derivatives
from gradtrace.trace.record import Value
from gradtrace.trace.values import frozen, summarized

Noted = Value | Kept | float | None
Values = tuple[Noted, ...]


class Watch(EventStream, Watcher):
    """The watcher of a run. `grad_modes` has the grad mode at each recorded operator call.

    With `detailed`, only some passes of a long loop are recorded node by node: the first ones (with
    local derivatives), the last one, and the first whose gradients are not finite. Of the others
    only the gradients stored in leaves are recorded.
    """

    def __init__(
        self, jacobians: bool = False, slopes: bool = True, detailed: int | None = None
    ) -> None:
        super().__init__()
        self.detailed = detailed  # how many of the first passes are noted node by node; None: all
        self.slopes = slopes  # whether to note local derivatives
        # whether to note the matrix of every step whose local derivative is one
        self.jacobians = jacobians
        self.grad_modes: list[bool] = []
        # by id() of the storage of the gradient that a pass left in it
        self._leaves: dict[int, Tensor] = {}
        # by id(node): what a Function of the program saves, which a release drops
        self.saved: dict[int, Any] = {}
        # by id(node): the first call of each of the program's own Functions
        self.custom: dict[int, Any] = {}
        # by such a Function's name: what `opcheck` found, and the node
        self.checks: dict[str, tuple[Any, Any]] = {}
        # a context within which a Function's forward may run again; None: it must not
        self.checking: Any = None
        self._kept_alive: list[Any] = []
        self._attributed = 0  # how many changes came before the end of the last step
        self._found_bad = False
        self._latest: PassEvent | None = None  # the last pass, if it is not among the first ones
        self._open: list[PassEvent] = []  # more than one where a hook calls backward itself
        # by array, in a pass whose arrays no program can reach
        self._seen: dict[int, tuple[Any, Kept]] | None = None

    @property
    def at(self) -> int:
        return len(self.grad_modes)

    def place(self) -> int:
        return state.place()

    @property
    def beginnings(self) -> set[Node]:
        """Return the nodes at which the passes began."""
        return {node for event in self.passes for node, _ in event.roots}

    @property
    def leaves_begun_at(self) -> list[Node]:
        """Return the AccumulateGrad nodes at which passes began, in order."""
        nodes = [
            node
            for event in self.passes
            for node, _ in event.roots
            if isinstance(node, AccumulateGrad)
        ]
        return list(dict.fromkeys(nodes))

    # ---- forward

    def called(self, name: str, args: tuple[Any, ...], out: Any, origin: int) -> None:
        """Note an operator call: its grad mode, and in-place changes or a first call of a program's
        Function.
        """
        if name[-1:] == "_" and args and isinstance(args[0], Tensor):
            self._changed(name, args[0], origin)
        elif self.checking is not None and name not in records and name not in self.checks:
            self._note_custom(name, args, out, origin)
        self.grad_modes.append(state.grad_enabled)

    def begins(self, leaf: Tensor) -> None:
        self.begun.append(BeginEvent(leaf, len(self.grad_modes), state.place()))

    def escapes(self, how: str, tensor: Tensor, out: Any) -> None:
        self.escaped.append(EscapeEvent(how, tensor, out, len(self.grad_modes), state.place()))

    def changes(self, how: str, tensor: Tensor) -> None:
        self._changed(how, tensor, state.place())

    def _changed(self, how: str, tensor: Tensor, origin: int) -> None:
        storage = None if how in ("cleared", "assigned") else storage_of(in_trace(tensor)._data)
        leaf = None if storage is None else self._leaf_of(storage)
        of_grad = how in ("cleared", "assigned")
        at = len(self.grad_modes)
        enabled = state.grad_enabled
        self.changed.append(
            ChangeEvent(
                how, (tensor, storage, leaf), of_grad, at, self.turns, None, enabled, origin
            )
        )

    def _leaf_of(self, storage: Any) -> Tensor | None:
        """Return the leaf whose present gradient has this storage, if a pass stored it."""
        leaf = self._leaves.get(id(storage))
        grad = None if leaf is None or leaf._x is None else leaf._x.grad
        return leaf if grad is not None and storage_of(grad._data) is storage else None

    def _note_custom(self, name: str, args: tuple[Any, ...], out: Any, origin: int) -> None:
        node = getattr(out[0] if type(out) is tuple and out else out, "_fn", None)
        if node is not None and node.op is None:
            self.checks[name] = (origin, "backward did not reach it")
            self.custom[id(node)] = (node, (name, args, out, origin))

    def optimises(self, optimiser: Any, tensors: list[Tensor]) -> None:
        held = self.optimisers.get(id(optimiser))
        if held is None:
            held = self.optimisers[id(optimiser)] = Held(optimiser, state.place())
            lr = optimiser.defaults.get("lr")
            held.lr = None if lr is None else float(lr)
            held.options = options_of(optimiser.defaults)
            self._kept_alive.append(optimiser)
        group = HeldGroup(optimiser.param_groups[-1])
        group.tensors = tensors
        held.groups.append(group)
        held.count += len(tensors)

    def stepped(self, optimiser: Any) -> None:
        held = self.optimisers.get(id(optimiser))
        for i in range(self._attributed, len(self.changed)):
            if self.changed[i].how == "step":
                self.changed[i] = self.changed[i]._replace(optimiser=held)
        self._attributed = len(self.changed)
        if held is not None:
            has_gradient = any(
                tensor._x is not None and tensor._x.grad is not None for tensor in held.tensors
            )
            mark = (self.at, self.turns, not has_gradient, state.place())
            held.add_step(optimiser, mark)

    def clipping(self, how: str, tensors: list[Tensor], limit: float) -> None:
        self.clips.append(ClipEvent(self, how, tensors, limit))

    def clipped(self, norm: Tensor) -> None:
        self.clips[-1].norm = noted(norm)

    def registered(self, kind: str, hook: Any, number: int, subject: Any) -> None:
        event = self.note_hook(kind, hook, number)
        if isinstance(subject, Tensor):
            event.tensor = subject
        else:
            event.subject = subject

    # ---- backward

    def began(
        self,
        roots: list[Any],
        keep: bool,
        create_graph: bool,
        wanted: list[Any] | None,
        stores: bool,
    ) -> None:
        event = PassEvent(len(self.grad_modes), state.place(), keep, create_graph, stores)
        event.roots = [(node, number) for node, number, _ in roots]
        event.vectors = [noted(g) for _, _, g in roots]
        event.wanted = wanted
        self._open.append(event)
        self.passes.append(event)
        single = all(type(g) is float or getattr(g, "size", 0) == 1 for _, _, g in roots)
        private = (
            single
            and stores
            and not create_graph
            and not state.live_observers
            and running_keeper() is not None
        )
        self._seen = {} if private else None

    def ended(self, error: BaseException | None) -> None:
        event = self._open.pop()
        if self._seen is not None:
            self._settle(event)
            self._seen = None
        event.until = len(self.grad_modes)
        event.error = "" if error is None else f"{type(error).__name__}: {error}"

    def _settle(self, event: PassEvent) -> None:
        """Decide how much of a pass is kept, now that it is over."""
        keeper = running_keeper()
        if self.is_detailed or event.error:
            for _, kept in self._seen.values():  # type: ignore[union-attr]
                keeper.pay(kept, hidden=True)
        elif not self._found_bad and not all_finite(event):
            self._found_bad = True
        else:
            if self._latest is not None:
                self._latest.turns = [
                    alone(turn) for turn in self._latest.turns if turn.node.is_accumulator
                ]
            self._latest = event

    @property
    def is_detailed(self) -> bool:
        """Whether the present pass is always recorded node by node, as one of the first
        `detailed`.
        """
        return self.detailed is None or len(self.passes) <= self.detailed

    @property
    def turn(self) -> Turn:
        return self._open[-1].turns[-1]

    def enters(self, node: Node, gradient: Any) -> None:
        turn = Turn(node, len(self.grad_modes), self.turns, ran=False)
        turn.arrived = turn.upstream = self.by_output(node, gradient)
        turn.sent = [None] * len(node.next)
        self._open[-1].turns.append(turn)
        self.turns += 1

    def hooked(self, kind: str, hook: Any, before: Any, after: Any) -> None:
        if not self._open or not self._open[-1].turns:
            return
        old = first(before)
        new = first(after)
        self.turn.hooks.append((kind, hook, old, new, old != new and kind != "retain"))

    def runs(self, node: Node, gradient: Any) -> None:
        turn = self.turn
        turn.ran = True
        if node.op is None and id(node) in self.custom:
            self._check(node)
        if turn.hooks:
            turn.upstream = self.by_output(node, gradient)
        if isinstance(node, AccumulateGrad):
            turn.before = self.grad_of(node.variable)
        elif not node.freed:
            if self.slopes and self.is_detailed:
                turn.locals = [bounded(value) for value in local_derivatives(node)]
            if self.jacobians:
                turn.matrices = self._matrices(node, turn.locals)
            if node.op is None and hasattr(node, "__dict__") and node.__dict__.get("_saved"):
                self.saved[id(node)] = node.__dict__["_saved"]

    def _check(self, node: Node) -> None:
        """Compare a Function of the program with finite differences, once."""
        from gradtrace.trace.opcheck import try_function

        _, call = self.custom.pop(id(node))
        with self.checking, unobserved(scope=None):
            self.checks[call[0]] = (call[3], try_function(node, call))

    def _matrices(self, node: Node, values: list[Value | None]) -> list[Value | None]:
        """The matrix of each edge that has no plain local derivative."""
        lacking = [target is not None and values[i] is None for i, target in enumerate(node.next)]
        if not any(lacking):
            return []
        try:
            with using(watcher=None, recorder=None, grad_enabled=False):
                return jacobians(node)
        except Exception:  # the pass itself will report a rule that raises
            return []

    def sends(self, index: int, value: Any) -> None:
        self._open[-1].turns[-1].sent[index] = self.noted(value)

    def leaves(self, node: Node, released: bool) -> None:
        turn = self.turn
        turn.freed = released and saves(node)
        if isinstance(node, AccumulateGrad):
            turn.after = self.grad_of(node.variable)
            if turn.after is not None:
                self._leaves[id(storage_of(node.variable._x.grad._data))] = node.variable

    def precision(self, builder: Any) -> Any:
        """Return the rounding errors of the run as records; None, because this watcher does not
        measure them.
        """
        return None

    # ---- gradients

    def noted(self, gradient: Any) -> Noted:
        """Return a note of a gradient's present contents: a number, a Value, or a Kept (see
        `values.Contents`).
        """
        if type(gradient) is float:
            return gradient
        if self._seen is None:
            return noted(gradient)
        entry = self._seen.get(id(gradient))
        # the array stands here too, so that no other one takes its place in memory
        if entry is None:
            entry = self._seen[id(gradient)] = (gradient, Kept(gradient))
        return entry[1]

    def by_output(self, node: Node, gradient: Any) -> Values:
        """Return notes of the gradients accumulated for a node, one for each of its outputs."""
        if type(gradient) is dict:
            gradients = map(gradient.get, range(len(node.shape)))
            return tuple(None if raw is None else self.noted(raw) for raw in gradients)
        return (None if gradient is None else self.noted(gradient),)

    def grad_of(self, leaf: Tensor) -> Noted:
        """Return a note of a leaf's `.grad`, which the program can change."""
        grad = None if leaf._x is None else leaf._x.grad
        if grad is None:
            return None
        if self._seen is not None and id(grad._data) in self._seen:
            running_keeper().expose(grad._data, [kept for _, kept in self._seen.values()])
            return self._seen[id(grad._data)][1]
        return noted(grad)


def alone(turn: Turn) -> Turn:
    """Return the turn of a leaf without the parts that refer to the rest of its pass."""
    if turn.before is None:
        turn.arrived = turn.upstream = (turn.after,)
    return turn


def running_keeper() -> Any:
    """Return the `keeper.Keeper` of the run, or None; in the engine's type for it are only the
    methods it calls.
    """
    return state.keeper if hasattr(state.keeper, "note") else None


def noted(gradient: Any) -> Noted:
    """Return a note of the present contents of a tensor or array that the program can change."""
    raw = gradient._data if isinstance(gradient, Tensor) else gradient
    keeper = running_keeper()
    if keeper is None or type(raw) in (float, bool) or raw.nbytes <= SMALL:
        return frozen(raw)
    return keeper.note(raw)


def bounded(value: Value | None) -> Value | None:
    """Return the Value, or only its summary if the run's budget for whole arrays is spent."""
    keeper = running_keeper()
    if value is None or not value.shape or keeper is None or value.elements.nbytes <= SMALL:
        return value
    return (
        value if keeper.reserve(value.elements.nbytes, hidden=True) else summarized(value.summary)
    )


def all_finite(event: PassEvent) -> bool:
    """Whether the gradients that a pass stored are finite."""
    leaves = [turn.node.variable for turn in event.turns if isinstance(turn.node, AccumulateGrad)]
    grads = [None if leaf._x is None else leaf._x.grad for leaf in leaves]
    return all(
        isfinite(raw_sum(grad._data)) or frozen(grad).all_finite
        for grad in grads
        if grad is not None
    )


def raw_sum(raw: Any) -> float:
    """Return the sum of the elements, which is finite only if every element is."""
    return raw if type(raw) is float else float(np.add.reduce(raw, None))


def saves(node: Node) -> bool:
    """Whether a node kept anything for backward that is dropped when its graph is freed."""
    if isinstance(node, AccumulateGrad):
        return False
    if node.op is not None:
        return bool(node.plan.saves)
    return bool(node.__dict__.get("_saved")) if hasattr(node, "__dict__") else False


def first(gradient: Any) -> Value | None:
    """Return the gradient that a hook received; if it received several (a node's hook), the first
    that is not None.
    """
    if type(gradient) is tuple:
        gradient = next((g for g in gradient if g is not None), None)
    return None if gradient is None else frozen(gradient)
