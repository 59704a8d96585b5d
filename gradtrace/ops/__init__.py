"""The operators: one record for each, grouped into families (one file each), and the public
functions that use them.

The first families of `pointwise` and `create.factories` are imported eagerly. The others are
imported when one of their names is first looked up, which keeps startup fast.
"""

from __future__ import annotations

from importlib import import_module

from gradtrace.annotations import Any
from gradtrace.engine.data.higher import higher
from gradtrace.engine.data.tensor import Later, Tensor
from gradtrace.engine.operators.op import records
from gradtrace.lazy_names import words
from gradtrace.ops import api, families  # noqa: F401
from gradtrace.ops.create import factories  # noqa: F401 - registers its operators, as do those below
from gradtrace.ops.pointwise import arithmetic, choice, comparison, elementary, powers  # noqa: F401

LATER = words("""
    pointwise.remainders pointwise.trigonometric pointwise.bounds shape.views shape.expansion
    index.records shape.join shape.flip_rotate index.gathering create.casts create.dtype_limits
    create.ranges reduce.sums nn.softmax reduce.extremes linalg.matrix nn.activation nn.activation_backward nn.loss
    nn.classification nn.binary_loss nn.dropout nn.embedding nn.attention nn.distance nn.margin nn.conv nn.layer_norm
    special.error_functions reduce.sorting random.generator random.sampling random.fills random.gamma reduce.cumulative
    linalg.vector_norm reduce.statistics linalg.products linalg.einsum linalg.solve linalg.triangular
    linalg.decompositions linalg.lowrank linalg.lu linalg.powers linalg.sparse nn.pad nn.pool nn.adaptive nn.unpool
    nn.fold nn.resample nn.fractional nn.shuffle nn.grid shape.diagonals index.scatter shape.combine reduce.counting
    shape.memory create.legacy special.gamma pointwise.number_parts special.gamma_incomplete
    special.bessel special.signal_windows nn.ctc
""")
_waiting = list(LATER)


def load() -> None:
    """Load every family."""
    while _waiting:
        import_module(f"gradtrace.ops.{_waiting.pop(0)}")


def load_record(name: str) -> None:
    """Import the family that defines the record `name`."""
    for family in families.of(name):
        import_module(f"gradtrace.ops.{family}")
    if name not in records:
        load()


def find(table: dict[str, Any], name: str) -> Any:
    """Look up a name in one of the tables of `api`, importing its families first; return None for
    an unknown name.
    """
    if name not in table:
        family_names = families.of(name)
        for family in family_names:
            import_module(f"gradtrace.ops.{family}")
        while not family_names and name not in table and _waiting:
            import_module(f"gradtrace.ops.{_waiting.pop(0)}")
    return table.get(name)


def _method(name: str) -> Any:
    """Import the family that defines a Tensor method and return the method."""
    for family in families.of(name):
        import_module(f"gradtrace.ops.{family}")
    return Tensor.__dict__[name]


def _getitem(self: Tensor, key: object) -> Any:
    import_module("gradtrace.ops.index.indexing")  # which registers its own
    return higher["getitem"](self, key)


def _setitem(self: Tensor, key: object, value: object) -> None:
    import_module("gradtrace.ops.index.indexing")
    higher["setitem"](self, key, value)


higher["getitem"] = _getitem
higher["setitem"] = _setitem
higher["method"] = _method
higher["load"] = load_record
for _name in families.METHODS:
    if _name not in Tensor.__dict__:
        setattr(Tensor, _name, Later(_name))
