"""Find the first bad element of a tensor, and its line if the tensor is a literal."""

from __future__ import annotations

from gradtrace.analysis import places
from gradtrace.analysis.facts import Facts
from gradtrace.engine.data.lazy import np
from gradtrace.program import syntax as ast
from gradtrace.trace.record import Span, Value

MAKERS = ("tensor", "FloatTensor", "Tensor", "as_tensor", "DoubleTensor", "array")


def bad_place(value: Value | None, kind: str) -> tuple[str, tuple[int, ...]]:
    """Return "row 3" and the index (3, 1) of the first bad element; "" and () if the elements were not kept."""
    if value is None or not value.is_whole or not value.shape:
        return "", ()
    bad = np.argwhere(np.isnan(value.data) if kind == "nan" else np.isinf(value.data))
    if not len(bad):
        return "", ()
    index = tuple(int(i) for i in bad[0])
    return (f"row {index[0]}" if len(index) > 1 else f"element {index[0]}"), index


def line_of_element(facts: Facts, span: Span | None, index: tuple[int, ...]) -> Span | None:
    """Return the line of an element in a list literal; None if the tensor was not made from one."""
    call = places.method_call(facts.text.statement(span), MAKERS)
    whole = node = call.args[0] if call is not None and call.args else None
    for i in index:
        if not isinstance(node, (ast.List, ast.Tuple)) or i >= len(node.elts):
            break
        node = node.elts[i]
    return None if node is whole else places.head_of(node)
