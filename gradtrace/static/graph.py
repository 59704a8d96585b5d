"""Static graphs: operations are added to a graph first and executed later by a Session.

    graph = Graph()
    with graph.as_default():
        x = placeholder("float32", (), "x")
        y = x * 2                     # a node: Tensor("mul:0", shape=(), dtype=float32)
    with Session(graph=graph) as session:
        session.run(y, {x: 3.0})      # 6.0

A node has a name, a shape and a dtype, but no value. To infer shapes and dtypes, and to report
errors while the graph is built, each operation runs on example values: placeholders are ones. Names
and their numbering follow TensorFlow 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gradtrace.engine.data import tensor as engine
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.state import unobserved
from gradtrace.ops import api, find
from gradtrace.static.elements import DType, dtype_name, has_fraction, raw_of

NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")
BOOL_MESSAGE = (
    "Using a symbolic `tf.Tensor` as a Python `bool` is not allowed: a static graph has no value "
    "while it is built. Use while_loop for a loop and where for a choice."
)
FROZEN_MESSAGE = "Graph is finalized and cannot be modified."

Values = tuple[engine.Tensor, ...]


class Operation:
    """A node of a graph: `compute` maps its inputs' values to its results, as engine tensors."""

    __slots__ = ("compute", "graph", "inputs", "name", "outputs", "type")

    def __init__(
        self,
        graph: Graph,
        op_type: str,
        name: str,
        inputs: tuple[Tensor, ...],
        compute: Callable[..., Any],
    ) -> None:
        self.graph = graph
        self.type = op_type
        self.name = name
        self.inputs = inputs
        self.compute = compute
        self.outputs: tuple[Tensor, ...] = ()

    def __repr__(self) -> str:
        return f"<Operation '{self.name}' type={self.type}>"


class Tensor:
    """A symbolic result of an operation: `op`, `name`, `shape`, `dtype`."""

    __slots__ = ("dtype", "example", "index", "op", "shape")
    __array_ufunc__ = None  # numpy arrays defer to our operators
    if TYPE_CHECKING:  # see SIGNS
        __add__: Any
        __radd__: Any
        __sub__: Any
        __rsub__: Any
        __mul__: Any
        __rmul__: Any
        __truediv__: Any

    def __init__(self, op: Operation, index: int, example: engine.Tensor) -> None:
        self.op = op
        self.index = index
        self.example = example
        self.shape = tuple(example.shape)
        self.dtype = DType(example.dtype.name)

    @property
    def graph(self) -> Graph:
        return self.op.graph

    @property
    def name(self) -> str:
        return f"{self.op.name}:{self.index}"

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Return the value, from `session` or the open one."""
        from gradtrace.static.session import open_session

        return (session or open_session()).run(self, feed_dict)

    def __str__(self) -> str:
        return f'Tensor("{self.name}", shape={self.shape}, dtype={self.dtype.name})'

    __repr__ = __str__

    def __bool__(self) -> bool:
        raise TypeError(BOOL_MESSAGE)

    def __iter__(self) -> Any:
        raise TypeError("a static Tensor cannot be iterated over while the graph is built")

    def __float__(self) -> float:
        raise TypeError(
            "a static Tensor has no value while the graph is built; run it in a Session"
        )

    __int__: Any = __float__
    __index__: Any = __float__

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


class Graph:
    """A static graph: operations with unique names, in the order in which they were added."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.names: dict[str, int] = {}
        self.finalized = False

    def get_operations(self) -> list[Operation]:
        return list(self.operations)

    def finalize(self) -> None:
        """Freeze the graph: adding an operation raises RuntimeError."""
        self.finalized = True

    @contextmanager
    def as_default(self) -> Iterator[Graph]:
        """Context manager that makes this the default graph, to which operations are added."""
        stack.append(self)
        try:
            yield self
        finally:
            stack.pop()

    def unique(self, name: str) -> str:
        """Return the name, with a number if it is taken: Mul, Mul_1, Mul_2."""
        if not NAME.fullmatch(name):
            raise ValueError(f"'{name}' is not a valid node name")
        used = self.names.get(name.lower())
        self.names[name.lower()] = 1 if used is None else used + 1
        if used is None:
            return name
        candidate = f"{name}_{used}"
        if candidate.lower() in self.names:
            return self.unique(name)
        self.names[candidate.lower()] = 1
        return candidate

    def reach(self, tensor: Tensor) -> Tensor:
        """Return the tensor to use as an operand in this graph; ValueError for a tensor of another
        graph.
        """
        if tensor.graph is not self:
            raise ValueError(
                f"{tensor} must be from the same graph as the operation that reads it."
            )
        return tensor

    def add(
        self, op_type: str, name: str, inputs: Sequence[Tensor], run: Callable[..., Any]
    ) -> tuple[Tensor, ...]:
        """Add an operation under a name that is already unique; raise RuntimeError if the graph is
        frozen.
        """
        if self.finalized:
            raise RuntimeError(FROZEN_MESSAGE)
        reached = tuple(self.reach(t) for t in inputs)
        with unobserved(grad_enabled=False):
            examples = results(run(*[t.example for t in reached]))
        op = Operation(self, op_type, name, reached, run)
        op.outputs = tuple(Tensor(op, i, example) for i, example in enumerate(examples))
        self.operations.append(op)
        return op.outputs

    def check_sources(self) -> None:
        """Raise ValueError in a part of a loop, where placeholders cannot be added."""

    def check_open(self) -> None:
        if self.finalized:
            raise RuntimeError(FROZEN_MESSAGE)


stack: list[Graph] = [Graph()]
sessions: list[Any] = []  # open sessions, the innermost last


def get_default_graph() -> Graph:
    return stack[-1]


def reset_default_graph() -> None:
    """Replace the default graph by a new one, in which tensors of the old graph cannot be used."""
    if len(stack) > 1:
        raise AssertionError("Do not use reset_default_graph() to clear nested graphs.")
    stack[0] = Graph()


def results(out: Any) -> Values:
    return tuple(out) if isinstance(out, (tuple, list)) else (out,)


# ---- values and placeholders


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str = "Const") -> Tensor:
    """Add a node with a constant value."""
    graph = get_default_graph()
    graph.check_open()
    return add_constant(graph, graph.unique(name), raw_of(value, dtype, shape))


def add_constant(graph: Graph, name: str, raw: Any) -> Tensor:
    return graph.add("Const", name, (), lambda: engine.Tensor._wrap(raw.copy()))[0]


def placeholder(dtype: Any, shape: Any = None, name: str = "Placeholder") -> Tensor:
    """Add a node that is fed at every run; ValueError inside a loop, and for a shape that is not
    known.
    """
    if shape is None or None in shape:
        raise ValueError(
            f"placeholder '{name}': give the whole shape; unknown sizes (None) are not supported"
        )
    kind = dtype_name(dtype)
    graph = get_default_graph()
    graph.check_open()
    graph.check_sources()
    op = Operation(graph, "Placeholder", graph.unique(name), (), unfed)
    example = np.broadcast_to(np.ones((), kind), tuple(map(int, shape)))  # takes no memory
    op.outputs = (Tensor(op, 0, engine.Tensor._wrap(example)),)
    graph.operations.append(op)
    return op.outputs[0]


def unfed(*_: Any) -> Any:
    raise AssertionError("a placeholder is fed")


# ---- operations


def apply(
    op_type: str, function: Callable[..., Any], args: Sequence[Any], name: str | None = None
) -> Any:
    """Add an operation that computes `function` on engine tensors; numbers become constants of the
    others' dtype.

    Returns one Tensor, or a tuple of several. Raises TypeError for different dtypes, and the errors
    of `function`.
    """
    graph = get_default_graph()
    graph.check_open()
    for a in args:
        if isinstance(a, Tensor):
            graph.reach(a)
    own = graph.unique(name or op_type)
    first = next((a for a in args if isinstance(a, Tensor)), None)
    inputs = []
    for i, a in enumerate(args):
        if not isinstance(a, Tensor):
            label = "xyz"[i] if i < 3 else f"arg{i}"
            if first is not None and not first.dtype.is_floating and has_fraction(a):
                raise TypeError(
                    f"Expected {first.dtype.name} passed to '{label}' of '{op_type}', got {a!r}."
                )
            dtype = None if first is None or first.dtype.name == "bool" else first.dtype
            a = add_constant(graph, f"{own}/{label}", raw_of(a, dtype))
        elif (
            first is not None
            and a.dtype != first.dtype
            and "bool" not in (a.dtype.name, first.dtype.name)
        ):
            raise TypeError(
                f"Input '{'xyz'[i] if i < 3 else i}' of '{op_type}' Op has type {a.dtype.name} "
                f"that does not match type {first.dtype.name} of argument 'x'."
            )
        inputs.append(a)
    outs = graph.add(op_type, own, inputs, function)
    return outs[0] if len(outs) == 1 else outs


def function_of(name: str) -> Any:
    """Return gradtrace's public function of this name."""
    return find(api.functions, name)


def operation_function(op_type: str, torch_name: str) -> Callable[..., Any]:
    """Return the function that adds an operation of this type to the default graph."""

    def function(*args: Any, name: str | None = None) -> Any:
        return apply(op_type, function_of(torch_name), args, name)

    function.__name__ = function.__qualname__ = torch_name
    function.__doc__ = f"A node that is torch.{torch_name} of its inputs."
    return function


def _sign(op_type: str, torch_name: str, reflected: bool = False) -> Any:
    def method(a: Tensor, b: Any) -> Any:
        return apply(op_type, function_of(torch_name), (b, a) if reflected else (a, b))

    return method


SIGNS = {
    "add": ("add", "add"),
    "sub": ("sub", "sub"),
    "mul": ("mul", "mul"),
    "truediv": ("truediv", "div"),
    "pow": ("pow", "pow"),
    "matmul": ("matmul", "matmul"),
}
for _sign_name, (_type, _torch) in SIGNS.items():
    setattr(Tensor, f"__{_sign_name}__", _sign(_type, _torch))
    setattr(Tensor, f"__r{_sign_name}__", _sign(_type, _torch, reflected=True))
for _sign_name, _type in {
    "lt": "Less",
    "le": "LessEqual",
    "gt": "Greater",
    "ge": "GreaterEqual",
}.items():
    setattr(Tensor, f"__{_sign_name}__", _sign(_type, _sign_name))
setattr(Tensor, "__neg__", lambda a: apply("Neg", function_of("neg"), (a,)))  # noqa: B010  unknown to the class
