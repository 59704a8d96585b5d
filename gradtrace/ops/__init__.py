"""The operators: one record each, a file for each family, and the public names over them.

`arithmetic`, `comparison`, `pointwise` and `create` are loaded at once; the other families when one of their names is
first asked for, so that a scalar expression starts quickly.
"""

from __future__ import annotations

from importlib import import_module

from gradtrace.annotations import Any
from gradtrace.engine.op import records
from gradtrace.engine.state import state
from gradtrace.engine.tensor import Later, Tensor, hooks_into_ops
from gradtrace.ops import (  # noqa: F401 - some register their operators
    api,
    arithmetic,
    comparison,
    create,
    families,
    pointwise,
)

LATER = (
    "shape",
    "expansion",
    "index",
    "join",
    "turning",
    "gathering",
    "casts",
    "ranges",
    "promotion",
    "reduce",
    "softmax",
    "extremes",
    "matrix",
    "activation",
    "activation_backward",
    "loss",
    "classification",
    "binary_loss",
    "dropout",
    "embedding",
    "attention",
    "distance",
    "margin",
    "conv",
    "norm",
    "special",
    "select",
    "random",
    "cumulative",
    "norms",
    "statistics",
    "products",
    "einsum",
    "linalg",
    "triangular",
    "decompositions",
    "lu",
    "powers",
    "pad",
    "pool",
    "adaptive",
    "unpool",
    "fold",
    "resample",
    "shuffle",
    "grid",
    "affine",
    "diagonals",
    "scatter",
    "combine",
    "counting",
    "memory",
    "legacy",
    "gamma",
    "number_parts",
    "special_probability",
    "normal",
    "gamma_incomplete",
    "bessel",
    "window_functions",
    "ctc",
    "polynomials",
)
_waiting = list(LATER)


def load() -> None:
    """Loads every family."""
    while _waiting:
        import_module(f"gradtrace.ops.{_waiting.pop(0)}")


def load_record(name: str) -> None:
    """Loads the family that has the record, which a rule asks for."""
    for family in families.of(name):
        import_module(f"gradtrace.ops.{family}")
    if name not in records:
        load()


def find(table: Any, name: str) -> Any:
    """A name of one of api's tables, loading the families that have it; None if none has."""
    if name not in table:
        known = families.of(name)
        for family in known:
            import_module(f"gradtrace.ops.{family}")
        while not known and name not in table and _waiting:
            import_module(f"gradtrace.ops.{_waiting.pop(0)}")
    return table.get(name)


def _method(name: str) -> Any:
    """A method of Tensor that waits for its family."""
    for family in families.of(name):
        import_module(f"gradtrace.ops.{family}")
    return Tensor.__dict__[name]


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
hooks_into_ops["method"] = _method
hooks_into_ops["load"] = load_record
for _name in families.METHODS.split():
    if _name not in Tensor.__dict__:
        setattr(Tensor, _name, Later(_name))
