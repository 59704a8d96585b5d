"""The nodes of the backward graph.

Edges run from node to node, as PyTorch's `next_functions` do: `node.next[i]` is the node that
receives the gradient of input i, and `node.output_nrs[i]` the number of the output of that node to
which the gradient belongs (`output_nrs` is None when all are 0, the common case). A leaf gets an
AccumulateGrad node lazily and refers to it weakly, so a dropped graph leaves no reference cycle.

A node keeps the arguments of the operator as the rule needs them: a tensor is kept (its version is
checked on use), reduced to its `Meta` (shape and dtype), or dropped (None). `reverse/saved.py`
reads them.
"""

from __future__ import annotations

import _weakref as weakref  # weakref takes a millisecond to import
from itertools import count

from gradtrace.annotations import (
    TYPE_CHECKING,
    Any,
    Callable,
    NamedTuple,
    NoReturn,
    Sequence,
    TypeVar,
)
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.dtypes import TensorSpec, spec_of
from gradtrace.engine.data.higher import higher
from gradtrace.engine.data.state import State, state

if TYPE_CHECKING:
    from gradtrace.engine.data.tensor_fields import Counter
    from gradtrace.engine.data.types import Hook, NumpyDtype, Shape

AnyNode = TypeVar("AnyNode", bound="Node | None")

FREED_MESSAGE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you "
    "call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward "
    "through the graph a second time or if you need to access saved tensors after calling "
    "backward."
)

# `layout` of a node: how `saved_a`, `saved_b`, `edge_a`, `edge_b` hold its arguments and edges.
TUPLES = 0
ONE = 1
TWO = 2
# what a node keeps of an argument: nothing, the argument, its shape and dtype
DROP, SAVE, META = 0, 1, 2


class Freed(tuple[str, ...]):
    """The type of FREED, the sentinel for freed saved values: a tuple, since code that reads them
    expects one.
    """

    __slots__ = ()


# Replaces a node's saved values after backward has released them.
FREED = Freed(("freed",))


class Meta(NamedTuple):
    """The shape and dtype of a tensor, kept where a rule does not need its values."""

    shape: Shape
    dtype: NumpyDtype | None
    bytes_apart: Shape | None = None  # numpy's strides

    @property
    def strides(self) -> Shape:
        """The strides in elements, like Tensor.stride()."""
        if self.dtype is None or self.bytes_apart is None:
            return ()
        return tuple(step // self.dtype.itemsize for step in self.bytes_apart)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def numel(self) -> int:
        return dtypes.count(self.shape)


class Edge(NamedTuple):
    """The destination of a gradient: output `input_nr` of `function`. Unpacks like PyTorch's
    (function, index).
    """

    function: Node | None
    input_nr: int

    def __repr__(self) -> str:
        return f"({self.function!r}, {self.input_nr})"


class GradientEdge(NamedTuple):
    """The destination of a tensor's gradient: output `output_nr` of `node`. `autograd.grad` accepts
    it as an input.
    """

    node: Node
    output_nr: int
    ownership_token: Node | None = None


class Hooks:
    """The hooks of one node, created with its first hook."""

    __slots__ = ("post", "pre", "retains", "tensor_pre")

    def __init__(self) -> None:
        self.tensor_pre: dict[int, HookTable] = {}
        self.retains = HookTable()  # weak references to tensors, by output number
        self.pre = HookTable()
        self.post = HookTable()


class HookTable(dict[int, Any]):
    """A dict of hooks in the order of registration; the keys are the numbers of their handles.

    The table keeps `state.live_observers` up to date: while that count is 0, backward uses its fast
    order.
    """

    __slots__ = ("__weakref__",)

    def __setitem__(self, number: int, hook: Hook) -> None:
        state.live_observers += number not in self
        super().__setitem__(number, hook)

    def pop(self, number: int, default: object = None) -> Any:
        state.live_observers -= number in self
        return super().pop(number, default)

    # a default: at exit the module's names may be gone already
    def __del__(self, state: State = state) -> None:
        state.live_observers -= len(self)


class RemovableHandle:
    """The result of register_hook: `remove()` removes the hook; a second call does nothing."""

    _next_id = 0

    def __init__(self, hooks: dict[int, Any]) -> None:
        RemovableHandle._next_id += 1
        self.id = RemovableHandle._next_id
        # of a module: the sets that say how its hooks are called
        self.kinds: tuple[set[int], ...] = ()
        self._refer(hooks)

    def _refer(self, hooks: Any) -> None:
        # A plain dict cannot be referenced weakly; a tensor's hooks must not outlive its graph.
        self.hooks_dict_ref = weakref.ref(hooks) if isinstance(hooks, HookTable) else lambda: hooks

    def __deepcopy__(self, memo: dict[int, Any]) -> RemovableHandle:
        """Return a handle of the copied hooks, as in a copied module that keeps the handles of its
        own hooks.
        """
        from copy import deepcopy

        copy = memo[id(self)] = RemovableHandle.__new__(RemovableHandle)
        copy.id, copy.kinds = self.id, deepcopy(self.kinds, memo)
        copy._refer(deepcopy(self.hooks_dict_ref(), memo))
        return copy

    def remove(self) -> None:
        state.watcher.unhooked(self.id)
        for hooks in (self.hooks_dict_ref(), *self.kinds):
            if hooks is not None and self.id in hooks:
                hooks.pop(self.id) if isinstance(hooks, dict) else hooks.remove(self.id)

    def __repr__(self) -> str:
        return f"<torch.utils.hooks.RemovableHandle object at {id(self):#x}>"

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def add_hook(
    hooks: dict[int, Any], hook: Callable[..., Any], kind: str = "", subject: Any = None
) -> RemovableHandle:
    """Register `hook` in a table of hooks; with a `kind`, one of a tensor or a module."""
    # a program may set the attribute of its module that holds the table
    if not isinstance(hooks, dict):
        raise TypeError(f"hooks are kept in a dict, not in a {type(hooks).__name__}")
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if kind:
        state.watcher.registered(kind, hook, handle.id, subject)
    return handle


class NodeExtras:
    """The rarely used parts of a node.

    `versions` are the versions of the saved arguments (0 for an argument that is not a tensor), or
    None if all were 0. `out_counter` and `out_version` are the version counter and the version of
    the saved result. `fast_result` is set when the tensor that the node made (or the leaf) left the
    fast path: its TensorExtras, its data, and a weak reference to it. `watched` are index tensors
    and masks, with version and data. `slope` is the derivative that was computed along with the
    result, and the fingerprint of the argument (`operators/trigonometry.py`). `noted` are the
    arguments and the raw results of the call that made the node, in a notebook
    (`trace.cell_values`).
    """

    __slots__ = (
        "fast_result", "hooks", "metadata", "noted", "out_counter", "out_version", "slope", "unpack", "versions",
        "watched",
    )  # fmt: skip

    def __init__(self) -> None:
        self.hooks: Hooks | None = None
        self.versions: tuple[int, ...] | None = None
        self.out_counter: Counter | None = None
        self.out_version = 0
        self.fast_result: tuple[Any, Any, weakref.ref[Any]] | None = None
        # what reads the saved values, if saved-tensor hooks have packed one: its arguments, and its
        # result as raw data
        self.unpack: Callable[[Node], tuple[tuple[Any, ...], Any]] | None = None
        self.watched: tuple[tuple[Any, int, Any], ...] = ()
        self.slope: tuple[Any, float] | None = None
        self.metadata: dict[Any, Any] | None = None
        self.noted: tuple[tuple[Any, ...], tuple[Any, ...]] | None = None


class Node:
    """One recorded operation (a `grad_fn`). Subclasses, one for each name, carry the operator
    record as `op`.

    There are as many nodes as operations, so they are small. `layout` says where arguments and
    edges are stored. ONE or TWO: the tensors in `saved_a` and `saved_b`, the nodes that receive
    their gradients in `edge_a` and `edge_b`; with ONE, `saved_b` is a tuple of the plain arguments,
    if there are any. TUPLES: tuples in `saved_a` and `edge_a`. `kept`, `targets` and `next` are
    tuples with every layout. `spec` describes the output: `shape` and `dtype` (lists of them when
    the operator has several outputs; a dtype of None stands for a Python float). `out` is the saved
    result, if a rule needs it.

    A node made by the fast path keeps an operand that requires grad as raw data (`plan.raw_mask`);
    the operand is the output of the node at the edge. If that tensor has changed since, the node at
    the edge has `extras.fast_result`. `reverse/saved.py` reads the saved values of every layout.
    """

    __slots__ = (
        "__weakref__", "edge_a", "edge_b", "extras", "origin", "out", "output_nrs", "plan", "saved_a", "saved_b",
        "seq", "spec",
    )  # fmt: skip

    op: Any = None
    outputs = 1
    layout = TUPLES
    is_accumulator = False

    saved_a: Any
    saved_b: Any
    edge_a: Any
    edge_b: Any
    output_nrs: tuple[int, ...] | None
    plan: Any
    spec: TensorSpec
    out: Any
    seq: int
    origin: int
    extras: NodeExtras | None

    def fill(
        self,
        kept: Sequence[object],
        edges: Sequence[Node | None],
        plan: Any,
        spec: TensorSpec,
        out: object = None,
    ) -> None:
        """Set every field, from the saved form of each argument (`kept`) and the node at the end of
        each edge.

        The class has no `__init__`: a class without one is faster to instantiate.
        """
        layout = plan.layout
        if layout == TWO:
            self.saved_a, self.saved_b = kept
            self.edge_a, self.edge_b = edges
        elif layout:
            self.saved_a = kept[0]
            self.saved_b = tuple(kept[1:]) if len(kept) > 1 else None
            self.edge_a = edges[0]
            self.edge_b = None
        else:
            self.saved_a = tuple(kept)
            self.saved_b = None
            self.edge_a = tuple(edges)
            self.edge_b = None
        self.output_nrs = None
        self.plan = plan
        self.spec = spec
        self.out = out
        self.seq = state.seq = state.seq + 1
        self.origin = state.place()
        self.extras = None
        if state.anomaly:
            higher["remember"](self)

    @property
    def shape(self) -> Any:
        return self.spec.shape

    @property
    def dtype(self) -> Any:
        return self.spec.dtype

    @property
    def kept(self) -> tuple[Any, ...]:
        """The saved arguments; raw data for those in `plan.raw_mask`."""
        layout = self.plan.layout
        if layout == TWO:
            return (self.saved_a, self.saved_b)
        if layout == ONE:
            return (self.saved_a,) if self.saved_b is None else (self.saved_a, *self.saved_b)
        return self.saved_a

    @property
    def targets(self) -> tuple[Any, ...]:
        """The node at the end of each edge, or None. Unlike in `next`, nodes may not have their
        operator's class.
        """
        layout = self.plan.layout
        if layout == TWO:
            return (self.edge_a, self.edge_b)
        return (self.edge_a,) if layout else self.edge_a

    @property
    def next(self) -> tuple[Any, ...]:
        edges = self.targets
        for edge in edges:
            named(edge)
        return edges

    def derive(self, gradient: Any) -> Sequence[Any]:
        """Return the gradient of each input (None for those without); RuntimeError if it cannot be
        computed.

        `gradient` is raw data, or a Tensor in a recorded pass; a dict by output number if the node
        has several outputs.
        """
        raise NotImplementedError

    def name(self) -> str:
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[Edge, ...]:
        nrs = self.output_nrs or (0,) * len(self.next)
        edges = tuple(map(Edge, self.next, nrs))
        return edges if self.shown is None else tuple(edges[i] for i in self.shown)

    @property
    def shown(self) -> tuple[int, ...] | None:
        """The places of the edges that users see, None for all: indices and conditions never get a
        gradient.
        """
        return None if self.op is None else self.op.edges

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict for the user's own notes on the node; anomaly mode keeps the stack of its forward
        call here.
        """
        rare = self.ensure_extras()
        if rare.metadata is None:
            rare.metadata = {}
        return rare.metadata

    @property
    def _input_metadata(self) -> tuple[Any, ...]:
        """The shape and dtype of the gradient of each of the node's outputs."""
        metadata: tuple[Any, ...] = higher["input_metadata"](self)
        return metadata

    def _sequence_nr(self) -> int:
        return self.seq

    def ensure_extras(self) -> NodeExtras:
        if self.extras is None:
            self.extras = NodeExtras()
        return self.extras

    @property
    def hooks(self) -> Hooks | None:
        return None if self.extras is None else self.extras.hooks

    def ensure_hooks(self) -> Hooks:
        rare = self.ensure_extras()
        if rare.hooks is None:
            rare.hooks = Hooks()
        return rare.hooks

    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call `fn(grad_inputs, grad_outputs)` after this node has run; a returned tuple replaces
        grad_inputs.
        """
        return add_hook(self.ensure_hooks().post, fn)

    def __call__(self, *gradients: Any, **named: Any) -> Any:
        """Return the gradients of the node's inputs for those of its outputs, outside of any
        backward pass.
        """
        return higher["call_node"](self, gradients, named)

    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call `fn(grad_outputs)` before this node runs; a returned tuple replaces grad_outputs."""
        return add_hook(self.ensure_hooks().pre, fn)

    @property
    def freed(self) -> bool:
        return self.saved_a is FREED

    def release(self) -> None:
        """Drop the saved values; a later use raises. A node that saved nothing can run any number
        of times.
        """
        if self.plan.saves:
            self.saved_a = FREED
            self.saved_b = self.out = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"


class OpNode(Node):
    """An operator's node as the engine makes it: one class for all operators.

    CPython reads attributes faster where all objects have one class, and most nodes are never
    exposed to users. Call `named(node)` before exposing a node; it gives the node its operator's
    class.
    """

    __slots__ = ()

    @property
    def op(self) -> Any:
        return self.plan.record

    @property
    def layout(self) -> int:  # type: ignore[override]
        return self.plan.node_type.layout

    @property
    def outputs(self) -> int:  # type: ignore[override]
        return self.plan.node_type.outputs

    def name(self) -> str:
        return named(self).name()


def named(node: AnyNode) -> AnyNode:
    """Give a node its operator's class (such as MulBackward0), and return it; None stays None."""
    if type(node) is OpNode:
        node.__class__ = node.plan.node_type  # type: ignore[union-attr]
    return node


class NoPlan:
    """The plan of nodes without an operator record, in place of a BackwardPlan.

    `saves`: whether they save values. `derivative` as in a BackwardPlan.
    """

    raw_mask = 0
    save_out = False
    record = None
    layout = TUPLES
    one_rule_each = False

    def __init__(self, saves: bool, derivative: Callable[[Node, Any], Any] | None = None) -> None:
        self.saves = saves
        self.derivative = derivative


leaf_numbers = count(-1, -1)


class AccumulateGrad(Node):
    """The node of a leaf: adds the gradient to `variable.grad`.

    Its sequence number is negative, so that a backward pass, which runs the newest node first, runs
    it last.
    """

    __slots__ = ("takes_any_dtype", "variable")

    is_accumulator = True
    saved_a = edge_a = ()
    saved_b = edge_b = output_nrs = out = None
    plan = NoPlan(saves=False)

    def __init__(self, variable: Any) -> None:
        self.extras = None
        self.seq = next(leaf_numbers)
        self.origin = state.place()
        self.variable = variable  # a Tensor
        self.expect(variable)

    def expect(self, variable: Any) -> None:
        """Set the shape and dtype of the gradients that the node takes: the leaf's, or its
        `grad_dtype` if set.
        """
        self.spec = spec_of(variable._data)
        self.takes_any_dtype = False
        extra = variable._x
        if extra is not None and extra.grad_dtype:
            dtype = extra.grad_dtype[0]
            self.takes_any_dtype = dtype is None
            if dtype is not None:
                self.spec = dtypes.spec_for(self.spec.shape, dtype.np)

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    def _sequence_nr(self) -> int:
        return (1 << 64) - 1

    def release(self) -> None:
        """Do nothing: this node saves no values."""


class UndefinedGrad(OpNode):
    """The node of an operator without a derivative: the operator's result requires grad, and its
    backward raises.
    """

    __slots__ = ()

    def derive(self, gradient: Any) -> NoReturn:
        name = self.op.undefined if isinstance(self.op.undefined, str) else self.op.name
        raise RuntimeError(f"derivative for aten::{name} is not implemented")


UndefinedGrad.__name__ = UndefinedGrad.__qualname__ = "NotImplemented"


def accumulator(leaf: Any) -> AccumulateGrad:
    """Return the AccumulateGrad node of a leaf, created on first use."""
    extra = leaf._x
    if extra is None:
        extra = leaf.extra()
    reference = extra.accumulator
    node: AccumulateGrad | None = None if reference is None else reference()
    if node is None:
        node = AccumulateGrad(leaf)
        extra.accumulator = weakref.ref(node)
    return node


def bare_name(fn: Node) -> str:
    """Return the name of a grad_fn for error messages: "Mul" for MulBackward0."""
    name = fn.name().removesuffix("0").removesuffix("Backward")
    return name.replace("Backward", "") if name[-1:].isdigit() else name


def tensor_type_name(dtype: NumpyDtype | None) -> str:
    """Return the name of a tensor's type in messages, such as torch.FloatTensor."""
    if dtype is not None and dtype.kind == "b":
        return "torch.ByteTensor" if dtype.metadata else "CPUBoolType"
    return (
        f"torch.{dtypes.from_np(dtype).scalar_type}Tensor"
        if dtype is not None
        else "torch.DoubleTensor"
    )
