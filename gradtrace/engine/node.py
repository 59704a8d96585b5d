"""The nodes of the backward graph.

Edges run from node to node, as PyTorch's `next_functions` do: `node.next[i]` is where the gradient of input i goes,
`node.nrs[i]` the output of that node it belongs to (`nrs` is None when all are 0, the common case). A leaf gets an
AccumulateGrad node lazily; the leaf knows it by a weak reference only, so a dropped graph leaves no cycle behind.

A node keeps what its rule needs among `args`: the operator's arguments, a tensor among them being kept itself (its
version is checked on use), reduced to its `Meta`, or dropped (None).
"""

from __future__ import annotations

import weakref

from gradtrace.annotations import TYPE_CHECKING, Any, Callable, NamedTuple
from gradtrace.engine import dtypes
from gradtrace.engine.spec import Spec, spec_of
from gradtrace.engine.state import state

if TYPE_CHECKING:
    from gradtrace.engine.tensor import Tensor

FREED_MESSAGE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
    "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
    "saved tensors after calling backward."
)

ACCUMULATE_FIRST = 1 << 62
WITH_PLAIN = 3  # `narrow` of an operator of one tensor and plain arguments


class Freed(tuple[str, ...]):
    """Looks like a saved argument that is off the common path."""

    __slots__ = ()
    _spec = None


# What stands where a node's saved values were.
FREED = Freed(("freed",))


class Meta(NamedTuple):
    """What is kept of a tensor whose shape and dtype a rule needs, but not its values."""

    shape: tuple[int, ...]
    dtype: Any
    bytes_apart: Any = None  # numpy's strides

    @property
    def strides(self) -> tuple[int, ...]:
        """In elements, as Tensor.stride()."""
        return tuple(step // self.dtype.itemsize for step in self.bytes_apart or ())

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def numel(self) -> int:
        n = 1
        for size in self.shape:
            n *= size
        return n


class Edge(NamedTuple):
    """Where a gradient goes: output `input_nr` of `function`. Unpacks as PyTorch's (function, index) pairs."""

    function: Node | None
    input_nr: int

    def __repr__(self) -> str:
        return f"({self.function!r}, {self.input_nr})"


class GradientEdge(NamedTuple):
    """Where a tensor's gradient arrives: output `output_nr` of `node`. `autograd.grad` takes it for the tensor."""

    node: Node
    output_nr: int
    ownership_token: Node | None = None


class Hooks:
    """The hooks of one node; made only when there is one."""

    __slots__ = ("post", "pre", "retains", "tensor_pre")

    def __init__(self) -> None:
        self.tensor_pre: dict[int, dict[int, Callable[..., Any]]] = {}
        self.retains: dict[int, weakref.ref[Tensor]] = {}
        self.pre: dict[int, Callable[..., Any]] = {}
        self.post: dict[int, Callable[..., Any]] = {}


class RemovableHandle:
    """What register_hook returns: `remove()` takes the hook away, a second time is harmless."""

    _next_id = 0

    def __init__(self, hooks: dict[int, Any]) -> None:
        RemovableHandle._next_id += 1
        self.id = RemovableHandle._next_id
        self._hooks: dict[int, Any] | None = hooks

    def remove(self) -> None:
        if self._hooks is not None:
            self._hooks.pop(self.id, None)
        self._hooks = None

    def __repr__(self) -> str:
        return f"<torch.utils.hooks.RemovableHandle object at {id(self):#x}>"

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def add_hook(hooks: dict[int, Any], hook: Callable[..., Any]) -> RemovableHandle:
    state.user_code = True
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


class Rare:
    """What few nodes have: hooks, versions of what they saved when these were not 0, a counter of their result.

    `result` is what became of the tensor that the node made, or of the leaf, when it left the common path (spec.py).
    """

    __slots__ = ("hooks", "out_counter", "out_version", "packed", "result", "versions", "watched")

    def __init__(self) -> None:
        self.hooks: Hooks | None = None
        self.versions: tuple[int, ...] | None = None
        self.out_counter: Any = None
        self.out_version = 0
        self.result: tuple[Any, Any] | None = None  # the tensor's Extra, and its data
        self.packed = False  # whether something saved went through hooks
        self.watched: tuple[tuple[Tensor, int], ...] = ()  # index tensors and masks with their versions


class Node:
    """One recorded operation (a `grad_fn`). Subclasses, one per name, carry the operator record as `op`.

    There are as many nodes as operations, so they are small. Of an operator whose only arguments are one or two
    tensors (`narrow`) these stand in `a` and `b`, and the nodes that get their gradients in `na` and `nb`; of one
    tensor and plain arguments (WITH_PLAIN) `b` has these in a tuple; of any other, `a` and `na` hold tuples.
    `args` and `next` give tuples in either case. `spec` describes the output: `shape` and `dtype` (lists of them when
    the operator has several outputs; a dtype of None stands for a Python float). `out` is the saved result, if the rule
    needs it.

    A node of the common path keeps an operand that requires grad as raw data (`plan.raw`): the edge tells whose data it
    is. If something happened to that tensor since, the node at the edge knows (`rare.result`).
    """

    __slots__ = ("__weakref__", "a", "b", "na", "nb", "nrs", "origin", "out", "plan", "rare", "seq", "spec")

    op: Any = None
    outputs = 1
    narrow = 0
    is_accumulator = False

    a: Any
    b: Any
    na: Any
    nb: Any
    nrs: tuple[int, ...] | None
    plan: Any
    spec: Spec
    out: Any
    seq: int
    origin: int
    rare: Rare | None

    def fill(self, a: Any, b: Any, na: Any, nb: Any, plan: Any, spec: Spec, out: Any) -> None:
        """Sets every field. The class has no `__init__`, for a class without one makes its objects faster."""
        self.a = a
        self.b = b
        self.na = na
        self.nb = nb
        self.nrs = None
        self.plan = plan
        self.spec = spec
        self.out = out
        self.seq = state.seq = state.seq + 1
        self.origin = state.origin
        self.rare = None

    @classmethod
    def make(cls, args: tuple[Any, ...], next_: tuple[Any, ...], plan: Any, spec: Spec, out: Any) -> Node:
        """A node from tuples of arguments and of the nodes that get their gradients."""
        node = cls()
        if not cls.narrow:
            node.fill(args, None, next_, None, plan, spec, out)
        elif cls.narrow == 1:
            node.fill(args[0], None, next_[0], None, plan, spec, out)
        elif cls.narrow == WITH_PLAIN:
            node.fill(args[0], args[1:], next_[0], None, plan, spec, out)
        else:
            node.fill(args[0], args[1], next_[0], next_[1], plan, spec, out)
        return node

    @property
    def shape(self) -> Any:
        return self.spec.shape

    @property
    def dtype(self) -> Any:
        return self.spec.dtype

    @property
    def args(self) -> tuple[Any, ...]:
        if self.plan is not None and self.plan.raw and self.a is not FREED:
            from gradtrace.engine.saved import restored

            return restored(self)
        narrow = self.narrow
        if narrow == 2:
            return (self.a, self.b)
        if narrow == WITH_PLAIN:
            return (self.a,) if self.b is None else (self.a, *self.b)
        return (self.a,) if narrow else self.a

    @property
    def next(self) -> tuple[Any, ...]:
        narrow = self.narrow
        if not narrow:
            return self.na
        return (named(self.na), named(self.nb)) if narrow == 2 else (named(self.na),)

    def name(self) -> str:
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[Edge, ...]:
        nrs = self.nrs or (0,) * len(self.next)
        edges = tuple(map(Edge, self.next, nrs))
        # Indices and conditions are among an operator's arguments, but no gradient can ever flow to them.
        shown = None if self.op is None else self.op.edges
        return edges if shown is None else tuple(edges[i] for i in shown)

    @property
    def metadata(self) -> dict[str, Any]:
        return {}

    def _sequence_nr(self) -> int:
        return self.seq

    def ensure_rare(self) -> Rare:
        if self.rare is None:
            self.rare = Rare()
        return self.rare

    @property
    def hooks(self) -> Hooks | None:
        return None if self.rare is None else self.rare.hooks

    def ensure_hooks(self) -> Hooks:
        rare = self.ensure_rare()
        if rare.hooks is None:
            rare.hooks = Hooks()
        return rare.hooks

    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Calls `fn(grad_inputs, grad_outputs)` after this node has run; a returned tuple replaces grad_inputs."""
        return add_hook(self.ensure_hooks().post, fn)

    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Calls `fn(grad_outputs)` before this node runs; a returned tuple replaces grad_outputs."""
        return add_hook(self.ensure_hooks().pre, fn)

    @property
    def freed(self) -> bool:
        return self.a is FREED

    def release(self) -> None:
        """Drops the saved values; a later use raises. A node that saved nothing can run any number of times."""
        plan = self.plan
        if plan is None or plan.saves:
            self.a = FREED
            self.b = self.out = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"


class Hot(Node):
    """A node of the common path as it is made: one class for all operators, until somebody looks at it.

    Python is quick at attributes where it meets objects of one class only, and a graph is mostly of these. Whoever
    hands a node out, or walks a graph, has it `named` first: then it has the class of its operator's nodes.
    """

    __slots__ = ()

    @property
    def op(self) -> Any:
        return self.plan.record

    @property
    def narrow(self) -> int:  # type: ignore[override]
        return self.plan.record.node_type().narrow

    def name(self) -> str:
        return self.op.node_type().name(self)


def named(node: Any) -> Any:
    """The node, or None, in the class of its operator's nodes."""
    if type(node) is Hot:
        node.__class__ = node.plan.record.node_type()
    return node


class AccumulateGrad(Node):
    """The end of a path: adds what arrives to `variable.grad`."""

    __slots__ = ("gathered", "owned", "variable")

    is_accumulator = True

    def __init__(self, variable: Tensor) -> None:
        self.fill((), None, (), None, None, spec_of(variable._data), None)
        self.seq = ACCUMULATE_FIRST
        self.variable = variable
        self.gathered: Any = None  # during a sweep: what has arrived so far,
        self.owned = False  # and whether that is an array of the sweep's own

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    def release(self) -> None:
        """Nothing is saved here."""


class UndefinedGrad(Node):
    """The node of an operator without a derivative: its result requires grad, its backward raises."""

    __slots__ = ()

    def name(self) -> str:
        return "torch::autograd::NotImplemented"


UndefinedGrad.__name__ = UndefinedGrad.__qualname__ = "NotImplemented"


def accumulator(leaf: Tensor) -> AccumulateGrad:
    """The one AccumulateGrad node of a leaf, made when first needed."""
    extra = leaf._x
    if extra is None:
        extra = leaf.extra()
    known = extra.accumulator
    node = None if known is None else known()
    if node is None:
        node = AccumulateGrad(leaf)
        extra.accumulator = weakref.ref(node)
    return node


def bare_name(fn: Node) -> str:
    """A grad_fn's name as messages about outputs give it: "Mul" for MulBackward0."""
    name = fn.name().removesuffix("0").removesuffix("Backward")
    return name.replace("Backward", "") if name[-1:].isdigit() else name


def tensor_type_name(dtype: Any) -> str:
    """ "torch.FloatTensor" and its like, as messages name a tensor's type."""
    if dtype is not None and dtype.kind == "b":
        return "CPUBoolType"
    return f"torch.{dtypes.from_np(dtype).scalar_type}Tensor" if dtype is not None else "torch.DoubleTensor"
