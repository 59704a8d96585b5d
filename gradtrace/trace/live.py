"""Make a Trace from the graph of a live tensor, optionally with the steps of a backward pass.

    trace = trace_of([y], variables)              # operations, operands and saved values, from the
                                                  graph's nodes
    trace = trace_of([y], variables, rehearse=True)     # and the steps of a backward pass from y

The operators' calls were not recorded, so they are read from the nodes. The operands that require
grad are found along the edges, the others only if the node saved them. Values are known of tensors
that variables hold, of leaves, and of saved tensors that backward has not freed yet, and in a
notebook of what its cells computed (`cell_values`); of all others only shape and dtype. Nothing is
computed again: a leaf may have changed since.
"""

from __future__ import annotations

from contextlib import contextmanager

from gradtrace.annotations import Any, Iterator, Mapping, NamedTuple, Sequence
from gradtrace.engine import Tensor
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.node import FREED, AccumulateGrad, Meta, Node
from gradtrace.engine.data.state import using
from gradtrace.engine.reverse.saved import arguments as saved_arguments
from gradtrace.engine.reverse.saved import saved_data
from gradtrace.trace import functions
from gradtrace.trace.array_summary import name_of, unmeasured
from gradtrace.trace.capture import Captured
from gradtrace.trace.cell_values import noted
from gradtrace.trace.history import bound_names, node_of
from gradtrace.trace.live_modules import scopes_of
from gradtrace.trace.record import Trace
from gradtrace.trace.steps import Watch
from gradtrace.trace.values import Contents, Value, summarized

Slot = tuple[int, int]  # id(node) and the number of its output


class Missing:
    """Placeholder for an argument that the graph does not hold. (A NamedTuple would be taken for a
    list of arguments.)
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class Source(NamedTuple):
    """Placeholder for the program of a tensor that has none."""

    name: str
    text: str = ""


class LiveRun(NamedTuple):
    """The run of a live tensor: only its final state is known."""

    program: Any
    env: dict[str, Any]
    root: Any
    inputs: dict[str, Tensor]
    outputs: tuple[Any, ...]
    records: tuple[Any, ...]
    scopes: tuple[Any, ...] = ()
    spans: tuple[Any, ...] = ()
    modules: Mapping[str, Any] = {}  # the variables that hold modules, which name the scopes
    functions: tuple[Any, ...] = ()


def trace_of(
    roots: Sequence[Tensor], variables: Mapping[str, Any], *, rehearse: bool = False
) -> Trace:
    """Return the graph behind `roots` as a Trace, with the names of those `variables` that are part
    of it.

    With `rehearse` a backward pass is run from the first root, and every `.grad` is restored
    afterwards. Where saved values are freed already, or hooks would run, it is not run, and the
    Trace has no steps.
    """
    graph = LiveGraph(roots, variables)
    if not rehearse or not graph.can_run_backward:
        return graph.trace(None, int(graph.ran_backward))
    with gradients_put_back(graph.tensors):
        watch = Watch()
        watch.grad_modes = [True] * len(graph.records)
        root = roots[0]
        with using(watcher=watch):
            root.backward(None if root.numel() == 1 else ones_like(root), retain_graph=True)
        return graph.trace(watch, 1)


def ones_like(tensor: Tensor) -> Tensor:
    """Return the gradient that the rehearsed pass begins with: ones, as for the tensor's sum."""
    return Tensor._wrap(np.ones(tuple(tensor.shape), dtype=tensor._data.dtype))


@contextmanager
def gradients_put_back(tensors: Sequence[Tensor]) -> Iterator[None]:
    """Context manager: clear the tensors' `.grad` and restore it afterwards."""
    held = [(tensor, None if tensor._x is None else tensor._x.grad) for tensor in tensors]
    try:
        for tensor, grad in held:
            if grad is not None:
                tensor.extra().grad = None
        yield
    finally:
        for tensor, grad in held:
            if tensor._x is not None:
                tensor._x.grad = grad


class LiveGraph:
    """The nodes behind some tensors, with a tensor for each output of a node and a record of each
    call.
    """

    def __init__(self, roots: Sequence[Tensor], variables: Mapping[str, Any]) -> None:
        self.roots = roots
        self.nodes = functions.walk(map(node_of, roots)).nodes
        self.unknown: set[int] = set()  # by id(tensor): of whose elements nothing is known
        self._variables = variables
        self._named = dict(bound_names(variables))
        self._raws: dict[Slot, Any] = {}
        self._tensors: dict[Slot, Tensor] = {}
        self._arguments = {id(node): self._kept(node) for node in self.nodes}
        self._find_tensors()
        self.records = [
            self._record(node) for node in self.nodes if not isinstance(node, AccumulateGrad)
        ]

    @property
    def tensors(self) -> list[Tensor]:
        """The leaves and results of the graph."""
        leaves = [node.variable for node in self.nodes if isinstance(node, AccumulateGrad)]
        retained = [tensor for node in self.nodes for tensor in retained_by(node)]
        tensors = (*leaves, *self._tensors.values(), *self.roots, *retained)
        return list({id(tensor): tensor for tensor in tensors}.values())

    @property
    def ran_backward(self) -> bool:
        """Whether a backward pass has run before: saved values are freed, or leaves have
        gradients.
        """
        freed = any(node.freed for node in self.nodes if not isinstance(node, AccumulateGrad))
        return freed or any(
            tensor._x is not None and tensor._x.grad is not None for tensor in self.tensors
        )

    @property
    def can_run_backward(self) -> bool:
        """Whether a pass would only compute gradients: the root has a node, no saved values are
        freed, there are no hooks.
        """
        return node_of(self.roots[0]) is not None and not any(map(is_held_back, self.nodes))

    def trace(self, watch: Watch | None, backward_runs: int) -> Trace:
        present = {id(tensor) for tensor in self.tensors}
        for _, args, _, _ in self.records:
            present.update(id(arg) for arg in args if isinstance(arg, Tensor))
        env: dict[str, Any] = {
            name: tensor for name, tensor in self._named.items() if id(tensor) in present
        }
        title = next(
            (name for name, tensor in self._named.items() if tensor is self.roots[0]), "tensor"
        )
        scopes = scopes_of(self.nodes, self._variables)
        run = LiveRun(
            Source(title),
            env,
            self.roots[0],
            {},
            (),
            tuple(self.records),
            scopes,
            modules=self._variables,
        )
        captured = CapturedGraph(run, self.roots, None)
        captured.unknown = self.unknown
        return captured.trace(backward_runs, watch=watch, final=False)

    # ---- what the nodes hold

    def _kept(self, node: Node) -> tuple[Any, ...]:
        """The arguments that a node holds, and notes of the values that these and its result
        have.
        """
        kept = noted(node)
        if kept is not None:
            for number, raw in enumerate(kept[1]):
                if raw is not None:
                    self._raws[id(node), number] = raw
            return kept[0] if node.op is not None else ()
        if node.op is None or node.saved_a is FREED:
            return ()
        args = saved_arguments(node)
        for (target, number), value in zip(edges_of(node), args_of_edges(node, args), strict=False):
            if target is not None and isinstance(value, Tensor):
                self._raws.setdefault((id(target), number), value._data)
        results = saved_result(node)
        for number, raw in enumerate(results):
            if raw is not None:
                self._raws[id(node), number] = raw
        return args

    def _find_tensors(self) -> None:
        """The tensors of all outputs: those that variables hold, and one made for each of the
        others.
        """
        behind = set(map(id, self.nodes))
        for tensor in (*self._named.values(), *self.roots):
            node = node_of(tensor)
            if node is not None and id(node) in behind:
                self._tensors.setdefault((id(node), tensor._nr), tensor)
        for node in self.nodes:
            if not isinstance(node, AccumulateGrad):
                self._output(node, 0)
            for target, number in edges_of(node):
                if target is not None and not isinstance(target, AccumulateGrad):
                    self._output(target, number)

    def _output(self, node: Node, number: int) -> Tensor:
        slot = (id(node), number)
        if slot not in self._tensors:
            raw = self._raws.get(slot)
            tensor = Tensor._wrap(raw if raw is not None else blank(node, number))
            tensor._fn = node
            tensor._nr = number
            tensor._req = True
            if raw is None:
                self.unknown.add(id(tensor))
            self._tensors[slot] = tensor
        return self._tensors[slot]

    # ---- calls

    def _record(self, node: Node) -> tuple[str, tuple[Any, ...], Any, int]:
        """The call that made a node, as a recorder would have noted it."""
        outputs = sorted(number for key, number in self._tensors if key == id(node))
        results = tuple(self._tensors[id(node), number] for number in outputs)
        name = (
            node.op.name
            if node.op is not None
            else functions.display_name(node).removesuffix("Backward")
        )
        return name, self._operands(node), results[0] if len(results) == 1 else results, 0

    def _operands(self, node: Node) -> tuple[Any, ...]:
        args = self._arguments[id(node)]
        tensors = tuple(
            self._operand(node, target, number, value)
            for (target, number), value in zip(edges_of(node), padded(node, args), strict=False)
        )
        if node.op is None:
            return tuple(value for value in tensors if value is not None)
        if node.op.variadic:
            return (tensors, *args[1:])
        return (*tensors, *args[node.op.arity :])

    def _operand(self, node: Node, target: Node | None, number: int, value: Any) -> Any:
        if isinstance(target, AccumulateGrad):
            return target.variable
        if target is not None:
            return self._tensors[id(target), number]
        if isinstance(value, Meta):
            return Missing(f"tensor of shape {value.shape}")
        return value if value is not None or node.op is None else Missing("not kept")


class CapturedGraph(Captured):
    """The converter of a LiveGraph to a Trace; a tensor that is only a placeholder for an output
    has just shape and dtype.
    """

    unknown: set[int]

    def contents(self, final: bool) -> Contents:
        return Known(self.unknown)


class Known(Contents):
    """The Values of tensors; those whose elements are `unknown` have only shape and dtype."""

    def __init__(self, unknown: set[int]) -> None:
        super().__init__(None)
        self.unknown = unknown

    def of_tensor(self, tensor: Tensor, raw: Any = None, whole: bool = False) -> Value | None:
        if raw is not None or id(tensor) not in self.unknown:
            return super().of_tensor(tensor, raw, whole)
        shape = tuple(tensor.shape)
        dtype = name_of(tensor._data.dtype)
        if not shape:
            return None
        return summarized(unmeasured(shape, dtype, "cpu"))


def edges_of(node: Node) -> list[tuple[Node | None, int]]:
    """Return, for each tensor argument, the node that computed it and the number of that node's
    output.
    """
    numbers = node.output_nrs or (0,) * len(node.next)
    return list(zip(node.next, numbers, strict=False))


def args_of_edges(node: Node, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments that have an edge, in the order of the edges."""
    if node.op.variadic:
        return args[0] if args and type(args[0]) is tuple else ()
    return args[: node.op.arity]


def padded(node: Node, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return an argument for each edge of a node; None for missing ones."""
    held = () if node.op is None else args_of_edges(node, args)
    return (*held, *(None,) * (len(node.next) - len(held)))


def saved_result(node: Node) -> tuple[Any, ...]:
    """Return the raw results that a node saved, by number; () if it saved none, or they were
    changed since.
    """
    if node.out is None:
        return ()
    try:
        _, out = saved_data(node)
    except RuntimeError:
        return ()
    return out if type(out) is tuple else (out,)


def blank(node: Node, number: int) -> Any:
    """Return an array of an output's shape and dtype that takes no memory."""
    several = isinstance(node.shape, list)
    shape = node.shape[number] if several else node.shape
    dtype = node.dtype[number] if several else node.dtype
    return np.broadcast_to(np.zeros((), dtype=dtype or "float64"), shape)


def retained_by(node: Node) -> list[Tensor]:
    """Return the results of a node that retain their gradients."""
    hooks = None if node.extras is None else node.extras.hooks
    retained = [] if hooks is None else [reference() for reference in hooks.retains.values()]
    return [tensor for tensor in retained if tensor is not None]


def is_held_back(node: Node) -> bool:
    """Whether backward through this node would fail for lack of saved values, or would run
    hooks.
    """
    if isinstance(node, AccumulateGrad):
        extra = node.variable._x
        if extra is not None and (extra.post_hooks or extra.hooks):
            return True
    elif node.freed and node.plan.saves:
        return True
    hooks = None if node.extras is None else node.extras.hooks
    return hooks is not None and bool(hooks.pre or hooks.post or any(hooks.tensor_pre.values()))
