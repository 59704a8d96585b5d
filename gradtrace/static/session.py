"""Running a static graph: a Session makes a plan for what is fetched from what is fed, once, and runs it each time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtrace.engine import tensor as engine
from gradtrace.engine.lazy import np
from gradtrace.static import control
from gradtrace.static.graph import Graph, Operation, Tensor, get_default_graph, raw_of
from gradtrace.static.replay import plan_of


class Session:
    """Runs a graph. `built` counts the plans made, `runs` the runs: equal fetches of equal shapes share a plan.

    `take_steps`, where a class has it, is called with the number of steps before each pass of a loop.
    """

    take_steps: Callable[[int], object] | None = None

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        self.graph = graph or get_default_graph()
        self.plans: dict[Any, Any] = {}
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
        """The values of `fetches` (a Tensor, its name, an Operation, or lists, tuples and dicts of them).

        `feed_dict` gives placeholders, and whatever else is to be overruled, their values. RuntimeError if the session
        is closed; ValueError or TypeError for what cannot be fetched or fed.
        """
        if self.closed:
            raise RuntimeError("Attempted to use a closed Session.")
        wanted: list[Tensor] = []
        self.collect(fetches, wanted)
        feeds = {self.fed(t): value for t, value in (feed_dict or {}).items()}
        arrays = [fitting(t, value) for t, value in feeds.items()]
        unique = list(dict.fromkeys(wanted))
        key = (tuple(map(id, unique)), tuple((id(t), a.shape) for t, a in zip(feeds, arrays, strict=True)))
        if key not in self.plans:
            from gradtrace.static import program

            plan = plan_of(unique, list(feeds), [engine.Tensor._wrap(np.array(a)) for a in arrays])
            self.plans[key] = program(plan)
            self.built += 1
        self.runs += 1
        with control.counted(self.take_steps):
            found = self.plans[key](*[a.item() if a.dtype == np.float64 and a.shape == () else a for a in arrays])
        values = {t: plain(v, t) for t, v in zip(unique, found, strict=True)}
        return self.shaped(fetches, values)

    def collect(self, fetches: Any, into: list[Tensor]) -> None:
        if isinstance(fetches, dict):
            fetches = list(fetches.values())
        if isinstance(fetches, (list, tuple)):
            for item in fetches:
                self.collect(item, into)
        elif not isinstance(fetches, Operation):
            into.append(self.tensor(fetches))

    def tensor(self, fetch: Any) -> Tensor:
        if isinstance(fetch, str):
            return self.graph.get_tensor_by_name(fetch)
        if not isinstance(fetch, Tensor):
            raise TypeError(
                f"Fetch argument {fetch!r} has invalid type {type(fetch).__name__}, must be a string or Tensor.")
        if fetch.graph is not self.graph:
            raise ValueError(f"{fetch} is not an element of this graph.")
        return fetch

    def fed(self, tensor: Any) -> Tensor:
        if not isinstance(tensor, (Tensor, str)):
            raise TypeError(f"Cannot interpret feed_dict key as Tensor: {tensor!r}")
        return self.tensor(tensor)

    def shaped(self, fetches: Any, values: dict[Tensor, Any]) -> Any:
        if isinstance(fetches, dict):
            return {key: self.shaped(item, values) for key, item in fetches.items()}
        if isinstance(fetches, (list, tuple)):
            return type(fetches)(self.shaped(item, values) for item in fetches)
        return None if isinstance(fetches, Operation) else values[self.tensor(fetches)]


sessions: list[Session] = []


def open_session() -> Session:
    """The session of the innermost `with`; ValueError if there is none."""
    if not sessions:
        raise ValueError("Cannot evaluate tensor using `eval()`: No default session is registered.")
    return sessions[-1]


def fitting(tensor: Tensor, value: Any) -> Any:
    """A fed value as an array of the tensor's dtype; ValueError if its shape does not fit."""
    if isinstance(value, Tensor):
        raise TypeError("The value of a feed cannot be a Tensor of the graph.")
    array = raw_of(value, tensor.dtype)
    fits = len(array.shape) == len(tensor.shape) and all(
        n in (None, m) for n, m in zip(tensor.shape, array.shape, strict=True))
    if not fits:
        raise ValueError(
            f"Cannot feed value of shape {array.shape} for Tensor {tensor.name}, which has shape {tensor.shape}")
    return array


def plain(value: Any, tensor: Tensor) -> Any:
    """A result as numpy has it: a scalar of the node's dtype, or an array."""
    array = np.asarray(value)
    if array.dtype.name != tensor.dtype.name:
        array = array.astype(tensor.dtype.name)
    return array[()] if array.shape == () else array.copy()
