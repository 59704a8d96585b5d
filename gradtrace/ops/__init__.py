"""The operators: one record each, a file for each family, and the public names over them.

`arithmetic`, `comparison`, `pointwise` and `create` are loaded at once; the other families when one of their names is
first asked for, so that a scalar expression starts quickly.
"""

from __future__ import annotations

from importlib import import_module

from gradtrace.annotations import Any
from gradtrace.engine.state import state
from gradtrace.engine.tensor import Tensor, hooks_into_ops
from gradtrace.ops import api, arithmetic, comparison, create, pointwise  # noqa: F401 - they register their operators

LATER = (
    "shape", "index", "join", "gathering", "casts", "reduce", "softmax", "extremes", "matrix",
    "activation", "activation_backward", "loss", "classification", "binary_loss", "dropout", "embedding", "attention",
    "distance", "margin", "conv", "norm", "special", "select", "random", "cumulative", "norms",
    "statistics", "products", "einsum", "linalg", "triangular", "decompositions", "lu", "powers",
    "pad", "pool", "adaptive", "unpool", "fold", "resample", "shuffle", "grid", "affine",
    "diagonals", "scatter", "combine", "counting", "memory", "gamma", "number_parts", "special_probability",
)
_waiting = list(LATER)


def load() -> None:
    """Loads every family."""
    while _waiting:
        import_module(f"gradtrace.ops.{_waiting.pop(0)}")


def find(table: dict[str, Any], name: str) -> Any:
    """A name of one of api's tables, loading families until it is there; None if no family has it."""
    while name not in table and _waiting:
        import_module(f"gradtrace.ops.{_waiting.pop(0)}")
    return table.get(name)


def _resolve(name: str) -> Any:
    while _waiting and name not in Tensor.__dict__:
        import_module(f"gradtrace.ops.{_waiting.pop(0)}")
    return Tensor.__dict__.get(name)


def _getitem(self: Tensor, key: Any) -> Any:
    getitem = import_module("gradtrace.ops.indexing").getitem
    return getitem(self, key) if state.batching is None else state.batching.getitem(getitem, self, key)


def _setitem(self: Tensor, key: Any, value: Any) -> None:
    setitem = import_module("gradtrace.ops.indexing").setitem
    if state.batching is None:
        setitem(self, key, value)
    else:
        state.batching.setitem(setitem, self, key, value)


hooks_into_ops["getitem"] = _getitem
hooks_into_ops["setitem"] = _setitem
hooks_into_ops["resolve"] = _resolve
hooks_into_ops["load"] = load
