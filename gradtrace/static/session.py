"""Execution of static graphs: a Session builds a plan once for each combination of fetches and
feeds, and reuses it.
"""

from __future__ import annotations

from typing import Any

from gradtrace.engine.data import tensor as engine
from gradtrace.engine.data.lazy import np
from gradtrace.static.elements import raw_of
from gradtrace.static.executor import PlanProgram
from gradtrace.static.graph import Graph, Tensor, get_default_graph, sessions
from gradtrace.static.replay import plan_of


class Session:
    """A session that runs a graph. `built` counts plans, `runs` counts runs.

    Runs with equal fetches and equal feeds share a plan.
    """

    def __init__(self, target: str = "", graph: Graph | None = None) -> None:
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
        """Return the values of `fetches` (a Tensor, or lists, tuples and dicts of them).

        `feed_dict` maps placeholders, and other tensors to override, to their values. Raises
        RuntimeError if the session is closed; ValueError or TypeError for invalid fetches or feeds.
        """
        if self.closed:
            raise RuntimeError("Attempted to use a closed Session.")
        arrays = {self.check(t): as_feed(t, value) for t, value in (feed_dict or {}).items()}
        wanted: list[Tensor] = []
        self.collect(fetches, wanted)
        return self.structure_like(fetches, self.compute(tuple(dict.fromkeys(wanted)), arrays))

    def compute(self, wanted: tuple[Tensor, ...], arrays: dict[Tensor, Any]) -> dict[Tensor, Any]:
        if not wanted:
            return {}
        key = wanted, tuple(arrays)
        if key not in self.plans:
            plan = plan_of(
                list(wanted), list(arrays), [engine.Tensor._wrap(a) for a in arrays.values()]
            )
            self.plans[key] = PlanProgram(plan)
            self.built += 1
        self.runs += 1
        result = self.plans[key](
            *[a.item() if a.dtype == np.float64 and a.shape == () else a for a in arrays.values()]
        )
        return {t: to_numpy(v, t) for t, v in zip(wanted, result, strict=True)}

    def collect(self, fetches: Any, into: list[Tensor]) -> None:
        if isinstance(fetches, dict):
            fetches = list(fetches.values())
        if isinstance(fetches, (list, tuple)):
            for item in fetches:
                self.collect(item, into)
        else:
            into.append(self.check(fetches))

    def check(self, tensor: Any) -> Tensor:
        """Return a tensor of this graph; TypeError for anything else, ValueError for a tensor of
        another graph.
        """
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"Argument {tensor!r} has invalid type {type(tensor).__name__}, must be a Tensor."
            )
        if tensor.graph is not self.graph:
            raise ValueError(f"{tensor} is not an element of this graph.")
        return tensor

    def structure_like(self, fetches: Any, values: dict[Tensor, Any]) -> Any:
        if isinstance(fetches, dict):
            return {key: self.structure_like(item, values) for key, item in fetches.items()}
        if isinstance(fetches, (list, tuple)):
            return type(fetches)(self.structure_like(item, values) for item in fetches)
        return values[fetches]


def open_session() -> Session:
    """Return the session of the innermost `with`; raise ValueError if there is none."""
    if not sessions:
        raise ValueError("Cannot evaluate tensor using `eval()`: No default session is registered.")
    return sessions[-1]


def as_feed(tensor: Tensor, value: Any) -> Any:
    """Convert a fed value to an array of the tensor's dtype; raise ValueError if its shape does not
    match.
    """
    if isinstance(value, Tensor):
        raise TypeError("The value of a feed cannot be a Tensor of the graph.")
    array = raw_of(value, tensor.dtype)
    if array.shape != tensor.shape:
        raise ValueError(
            f"Cannot feed value of shape {array.shape} for Tensor {tensor.name}, which has shape "
            f"{tensor.shape}"
        )
    return array


def to_numpy(value: Any, tensor: Tensor) -> Any:
    """Return a result as a NumPy scalar of the tensor's dtype, or as an array."""
    array = np.asarray(value)
    if array.dtype.name != tensor.dtype.name:
        array = array.astype(tensor.dtype.name)
    return array[()] if array.shape == () else array.copy()
