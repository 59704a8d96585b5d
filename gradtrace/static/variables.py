"""Values that a session provides: variables, which it keeps between runs, and random numbers.

    w = Variable([0.0, 0.0], name="w")
    step = w.assign_sub(0.1 * gradient)
    session.run(global_variables_initializer())
    session.run(step)

A run reads every variable once before it computes anything, and writes assigned values at its end: other fetches see
the old values, but fetching an assignment returns the new value.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from gradtrace.engine.data.dtypes import BY_NAME
from gradtrace.engine.data.lazy import np
from gradtrace.static.elements import DType, dtype_name, raw_of
from gradtrace.static.graph import (
    Operation,
    Tensor,
    add_constant,
    apply,
    constant,
    fed_node,
    function_of,
    get_default_graph,
    unfed,
)
from gradtrace.static.session import as_feed, open_session

FLOAT32 = DType("float32")


class Variable(Tensor):
    """A node whose value a session keeps; running its `initializer` sets `initial_value`. Shape and dtype are fixed.

    The initial value is a number, an array, a node, or a function that returns one.
    """

    __slots__ = ("initial_value", "initializer", "trainable")

    def __init__(
        self, initial_value: Any = None, trainable: bool = True, name: str | None = None, dtype: Any = None
    ) -> None:
        graph = get_default_graph()
        graph.check_open()
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        own = graph.unique(name or "Variable")
        value = initial_value() if callable(initial_value) else initial_value
        if not isinstance(value, Tensor):
            value = add_constant(graph, f"{own}/initial_value", raw_of(value, dtype))
        if not value.is_known:
            raise ValueError(f"initial_value must have a shape specified: {value}")
        node = fed_node(graph, "VariableV2", own, value.shape, value.dtype.name, partial(read_value, self))
        super().__init__(node.op, 0, node.examples)
        self.op.outputs = (self,)
        self.trainable, self.initial_value = trainable, value
        self.initializer: Operation = assignment(self, value, f"{own}/Assign").op
        graph.variables.append(self)

    def __str__(self) -> str:
        return f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}_ref>"

    __repr__ = __str__

    def assign(self, value: Any, name: str | None = None) -> Tensor:
        """Return a node that assigns another value and returns it."""
        return assignment(self, value, self.graph.unique(name or "Assign"))

    def assign_add(self, delta: Any, name: str | None = None) -> Tensor:
        """Return a node that adds to the variable."""
        return assignment(self, self + delta, self.graph.unique(name or "AssignAdd"))

    def assign_sub(self, delta: Any, name: str | None = None) -> Tensor:
        """Return a node that subtracts from the variable."""
        return assignment(self, self - delta, self.graph.unique(name or "AssignSub"))

    def value(self) -> Tensor:
        """Return the variable as a node."""
        return self

    read_value = initialized_value = value

    def load(self, value: Any, session: Any = None) -> None:
        """Set the value in `session`, by default the open one."""
        (session or open_session()).values[self] = as_feed(self, value)


def read_value(variable: Variable, session: Any) -> Any:
    if variable not in session.values:
        raise RuntimeError(
            f"Attempting to use uninitialized value {variable.op.name}; run tf.global_variables_initializer() first"
        )
    return session.values[variable]


def assignment(variable: Variable, value: Any, name: str) -> Tensor:
    """Return a node, with a unique name, that assigns a value; ValueError or TypeError if the value does not match."""
    graph = variable.graph
    if not isinstance(value, Tensor):
        value = add_constant(graph, f"{name}/value", raw_of(value, variable.dtype))
    if value.dtype != variable.dtype:
        raise TypeError(
            f"Input 'value' of 'Assign' Op has type {value.dtype.name} that does not match type "
            f"{variable.dtype.name} of argument 'ref'."
        )
    if value.is_known and value.shape != variable.shape:
        raise ValueError(
            f"Dimensions must be equal: {variable.name} has shape {variable.shape}, the assigned value {value.shape}"
        )
    if get_default_graph() is not graph:
        raise ValueError("assign the variable in its own graph, outside while_loop and cond")
    (out,) = graph.add("Assign", name, [value], function_of("clone"))
    out.op.assigns = variable
    return out


def group(*inputs: Any, name: str | None = None) -> Operation:
    """Return an operation that runs all `inputs`; its value is None."""
    graph = get_default_graph()
    graph.check_open()
    tensors: list[Tensor] = []
    for item in inputs:
        tensors += [item] if isinstance(item, Tensor) else item.outputs or item.inputs
    op = Operation(graph, "NoOp", graph.unique(name or "group_deps"), tuple(map(graph.reach, tensors)), unfed)
    graph.operations.append(op)
    return op


def no_op(name: str | None = None) -> Operation:
    """Return an operation that does nothing."""
    return group(name=name or "NoOp")


def global_variables() -> list[Variable]:
    """Return the default graph's variables, in order."""
    return list(get_default_graph().variables)


def trainable_variables() -> list[Variable]:
    """Return the variables that optimisers change by default."""
    return [v for v in global_variables() if v.trainable]


def variables_initializer(var_list: Sequence[Variable], name: str = "init") -> Operation:
    """Return an operation that sets these variables to their initial values."""
    return group(*[v.initializer for v in var_list], name=name)


def global_variables_initializer() -> Operation:
    """Return an operation that initialises all variables of the default graph."""
    return variables_initializer(global_variables())


initialize_all_variables = global_variables_initializer  # the name until TensorFlow 0.12


def assign(ref: Variable, value: Any, name: str | None = None) -> Tensor:
    """Return `ref.assign(value)`."""
    return ref.assign(value, name)


def assign_add(ref: Variable, value: Any, name: str | None = None) -> Tensor:
    """Return `ref.assign_add(value)`."""
    return ref.assign_add(value, name)


def assign_sub(ref: Variable, value: Any, name: str | None = None) -> Tensor:
    """Return `ref.assign_sub(value)`."""
    return ref.assign_sub(value, name)


# ---- random numbers


def set_random_seed(seed: int) -> None:
    """Make random nodes added from now on return the same numbers in each new session."""
    get_default_graph().seed = seed


def random_node(op_type: str, shape: Any, dtype: Any, seed: int | None, name: str | None, draw: Any) -> Tensor:
    """Add a node with new random numbers in each run; the numbers differ from TensorFlow's."""
    graph = get_default_graph()
    graph.check_open()
    kind, sizes = dtype_name(dtype), tuple(int(n) for n in shape)
    seeds = None if graph.seed is None and seed is None else (graph.seed or 0, seed or len(graph.operations))

    def drawn(session: Any) -> Any:
        return np.asarray(draw(session.generator(node.op, seeds), sizes), kind)

    node = fed_node(graph, op_type, graph.unique(name or op_type), sizes, kind, drawn)
    return node


def random_normal(
    shape: Any,
    mean: float = 0.0,
    stddev: float = 1.0,
    dtype: Any = FLOAT32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Sample a normal distribution."""
    return random_node("random_normal", shape, dtype, seed, name, lambda g, n: g.normal(mean, stddev, n))


def random_uniform(
    shape: Any,
    minval: float = 0.0,
    maxval: float = 1.0,
    dtype: Any = FLOAT32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Sample uniformly between minval and maxval."""
    return random_node("random_uniform", shape, dtype, seed, name, lambda g, n: g.uniform(minval, maxval, n))


def truncated_normal(
    shape: Any,
    mean: float = 0.0,
    stddev: float = 1.0,
    dtype: Any = FLOAT32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Sample a normal distribution; values further than two deviations from the mean are redrawn."""

    def draw(g: Any, n: Any) -> Any:
        result = g.normal(size=n)
        while (far := np.abs(result) > 2).any():
            result = np.where(far, g.normal(size=n), result)
        return mean + stddev * result

    return random_node("truncated_normal", shape, dtype, seed, name, draw)


# ---- initialisers by shape


def zeros_initializer() -> Any:
    """Return an initialiser with zeros."""
    return lambda shape, dtype: constant(0.0, dtype, shape)


def ones_initializer() -> Any:
    """Return an initialiser with ones."""
    return lambda shape, dtype: constant(1.0, dtype, shape)


def constant_initializer(value: Any = 0) -> Any:
    """Return an initialiser with `value`, expanded to the shape."""
    return lambda shape, dtype: constant(value, dtype, shape)


def random_normal_initializer(mean: float = 0.0, stddev: float = 1.0, seed: int | None = None) -> Any:
    """Return an initialiser with normal random numbers."""
    return lambda shape, dtype: random_normal(shape, mean, stddev, dtype, seed)


def random_uniform_initializer(minval: float = 0.0, maxval: float = 1.0, seed: int | None = None) -> Any:
    """Return an initialiser with uniform random numbers."""
    return lambda shape, dtype: random_uniform(shape, minval, maxval, dtype, seed)


def glorot_uniform_initializer(seed: int | None = None) -> Any:
    """Return an initialiser uniform within sqrt(6 / (inputs + outputs)) (Glorot and Bengio, 2010)."""

    def initial(shape: Any, dtype: Any) -> Tensor:
        sides = (1, *shape)[-2:] if len(shape) < 2 else shape[-2:]
        bound = (6.0 / sum(sides)) ** 0.5
        return random_uniform(shape, -bound, bound, dtype, seed)

    return initial


def get_variable(
    name: str, shape: Any = None, dtype: Any = FLOAT32, initializer: Any = None, trainable: bool = True
) -> Variable:
    """Create a variable of this name; raise ValueError if the name exists already."""
    graph = get_default_graph()
    if (graph.scope + name).lower() in graph.names:
        raise ValueError(f"Variable {name} already exists, disallowed.")
    if initializer is None or callable(initializer):
        if shape is None:
            raise ValueError(f"Shape of a new variable ({name}) must be fully defined.")
        initializer = (initializer or glorot_uniform_initializer())(tuple(shape), dtype)
    return Variable(initializer, trainable, name, dtype)


__all__ = [
    "Variable", "assign", "assign_add", "assign_sub", "constant_initializer", "get_variable", "global_variables",
    "global_variables_initializer", "glorot_uniform_initializer", "group", "initialize_all_variables", "no_op",
    "ones_initializer", "random_normal", "random_normal_initializer", "random_uniform", "random_uniform_initializer",
    "set_random_seed", "trainable_variables", "truncated_normal", "variables_initializer", "zeros_initializer",
]  # fmt: skip


def match_dtype(value: Any, like: Tensor) -> Tensor:
    """Convert a number, or a node of another float dtype, to a node of `like`'s dtype."""
    if not isinstance(value, Tensor):
        return constant(value, like.dtype)
    wanted = BY_NAME[like.dtype.name]
    return value if value.dtype == like.dtype else apply("Cast", lambda tensor: tensor.to(wanted), [value])
