"""Execution of static graphs: a Session builds a plan once for each combination of fetches and feeds, and reuses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from gradtrace.engine.data import tensor as engine
from gradtrace.engine.data.lazy import np
from gradtrace.ops.random.generator import default_generator
from gradtrace.static import control, program
from gradtrace.static.elements import raw_of
from gradtrace.static.graph import Graph, Operation, Tensor, get_default_graph, sessions
from gradtrace.static.replay import ancestors, plan_of


class FetchPlan(NamedTuple):
    """What a run must do: the tensors to compute, the assignments among them, and the values that the session provides.

    Values that the session provides are variables and random numbers.
    """

    wanted: tuple[Tensor, ...]
    assignments: tuple[Operation, ...]
    sources: tuple[Tensor, ...]


class Session:
    """A session that runs a graph. `built` counts plans, `runs` counts runs.

    Runs with equal fetches and equal shapes of fed values share a plan.

    A subclass's `take_steps`, if any, is called with the number of steps before each loop iteration.
    """

    take_steps: Callable[[int], object] | None = None

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        self.graph = graph or get_default_graph()
        self.plans: dict[Any, Any] = {}
        self.requests: dict[Any, FetchPlan] = {}
        self.values: dict[Any, Any] = {}  # of variables
        self.generators: dict[Operation, Any] = {}
        self.built = 0
        self.runs = 0
        self.closed = False
        self.default: Any = None

    def __enter__(self) -> Session:
        self.default = self.graph.as_default()
        self.default.__enter__()
        sessions.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        sessions.remove(self)
        self.default.__exit__(None, None, None)
        self.close()

    def close(self) -> None:
        self.closed = True
        self.plans.clear()

    def run(self, fetches: Any, feed_dict: Any = None) -> Any:
        """Return the values of `fetches` (a Tensor, its name, an Operation, or lists, tuples and dicts of them).

        `feed_dict` maps placeholders, and other tensors to override, to their values. Raises RuntimeError if the
        session is closed; ValueError or TypeError for invalid fetches or feeds.
        """
        if self.closed:
            raise RuntimeError("Attempted to use a closed Session.")
        feeds = {self.fed(t): value for t, value in (feed_dict or {}).items()}
        arrays = {t: as_feed(t, value) for t, value in feeds.items()}
        request = self.request(fetches, frozenset(arrays))
        for source in request.sources:
            arrays[source] = source.op.source(self)  # type: ignore[misc]
        result = self.computed(request, arrays)
        for op in request.assignments:
            self.values[op.assigns] = np.asarray(result[op.outputs[0]])
        return self.structure_like(fetches, result)

    def request(self, fetches: Any, known: frozenset[Tensor]) -> FetchPlan:
        """Return the FetchPlan for a run that computes `fetches` while the tensors in `known` are fed."""
        wanted: list[Tensor] = []
        self.collect(fetches, wanted)
        key = tuple(wanted), known
        if key not in self.requests:
            needed = ancestors(wanted, known) if wanted else []
            changes = tuple(op for op in needed if op.assigns is not None)
            self.requests[key] = FetchPlan(
                tuple(dict.fromkeys((*wanted, *(op.outputs[0] for op in changes)))),
                changes,
                tuple(op.outputs[0] for op in needed if op.source is not None),
            )
        return self.requests[key]

    def computed(self, request: FetchPlan, arrays: dict[Tensor, Any]) -> dict[Tensor, Any]:
        if not request.wanted:
            return {}
        key = request.wanted, tuple((t, a.shape) for t, a in arrays.items())
        if key not in self.plans:
            plan = plan_of(list(request.wanted), list(arrays), [engine.Tensor._wrap(a) for a in arrays.values()])
            self.plans[key] = program(plan)
            self.built += 1
        self.runs += 1
        with control.counted(self.take_steps):
            result = self.plans[key](
                *[a.item() if a.dtype == np.float64 and a.shape == () else a for a in arrays.values()]
            )
        return {t: to_numpy(v, t) for t, v in zip(request.wanted, result, strict=True)}

    def generator(self, op: Operation, seeds: tuple[int, int] | None) -> Any:
        """Return an operation's random number generator: its own if `seeds` is given, else gradtrace's default."""
        if seeds is None:
            return default_generator.source.words
        if op not in self.generators:
            self.generators[op] = np.random.default_rng([n % 2**63 for n in seeds])
        return self.generators[op]

    def collect(self, fetches: Any, into: list[Tensor]) -> None:
        if isinstance(fetches, dict):
            fetches = list(fetches.values())
        if isinstance(fetches, (list, tuple)):
            for item in fetches:
                self.collect(item, into)
        elif isinstance(fetches, Operation):
            for tensor in fetches.outputs or fetches.inputs:
                into.append(self.tensor(tensor))
        else:
            into.append(self.tensor(fetches))

    def tensor(self, fetch: Any) -> Tensor:
        if isinstance(fetch, str):
            return self.graph.get_tensor_by_name(fetch)
        if not isinstance(fetch, Tensor):
            raise TypeError(
                f"Fetch argument {fetch!r} has invalid type {type(fetch).__name__}, must be a string or Tensor."
            )
        if fetch.graph is not self.graph:
            raise ValueError(f"{fetch} is not an element of this graph.")
        return fetch

    def fed(self, tensor: Any) -> Tensor:
        if not isinstance(tensor, (Tensor, str)):
            raise TypeError(f"Cannot interpret feed_dict key as Tensor: {tensor!r}")
        return self.tensor(tensor)

    def structure_like(self, fetches: Any, values: dict[Tensor, Any]) -> Any:
        if isinstance(fetches, dict):
            return {key: self.structure_like(item, values) for key, item in fetches.items()}
        if isinstance(fetches, (list, tuple)):
            return type(fetches)(self.structure_like(item, values) for item in fetches)
        return None if isinstance(fetches, Operation) else values[self.tensor(fetches)]


class InteractiveSession(Session):
    """A session that is open, as inside a `with` block, from its creation until it is closed."""

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        super().__init__(target, graph, config)
        sessions.append(self)

    def close(self) -> None:
        super().close()
        if self in sessions:
            sessions.remove(self)


def open_session() -> Session:
    """Return the session of the innermost `with`; raise ValueError if there is none."""
    if not sessions:
        raise ValueError("Cannot evaluate tensor using `eval()`: No default session is registered.")
    return sessions[-1]


def as_feed(tensor: Tensor, value: Any) -> Any:
    """Convert a fed value to an array of the tensor's dtype; raise ValueError if its shape does not match."""
    if isinstance(value, Tensor):
        raise TypeError("The value of a feed cannot be a Tensor of the graph.")
    array = raw_of(value, tensor.dtype)
    fits = tensor.shape is None or (
        len(array.shape) == len(tensor.shape)
        and all(n in (None, m) for n, m in zip(tensor.shape, array.shape, strict=True))
    )
    if not fits:
        raise ValueError(
            f"Cannot feed value of shape {array.shape} for Tensor {tensor.name}, which has shape {tensor.shape}"
        )
    return array


def to_numpy(value: Any, tensor: Tensor) -> Any:
    """Return a result as a NumPy scalar of the tensor's dtype, or as an array."""
    array = np.asarray(value)
    if array.dtype.name != tensor.dtype.name:
        array = array.astype(tensor.dtype.name)
    return array[()] if array.shape == () else array.copy()
