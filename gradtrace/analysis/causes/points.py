"""Describe the numbers at which an operation overflows, leaves its domain, or has no finite
derivative, and find the first bad element of a tensor.
"""

from __future__ import annotations

from gradtrace.analysis import places
from gradtrace.analysis.causes.overflow import DIVIDING
from gradtrace.analysis.facts import Facts
from gradtrace.analysis.terms import highest, lowest, named, numbers_in, operator, result
from gradtrace.analysis.words import FEW, brief
from gradtrace.annotations import Any
from gradtrace.engine.data.lazy import np
from gradtrace.engine.operators.tables import function_table
from gradtrace.program import syntax as ast
from gradtrace.trace.operands import record_of
from gradtrace.trace.record import Operation, Span, Value

# The end of its argument's range at which an operator's result or derivative is not finite. The
# other operators overflow at the number that is farthest from 0.
ENDS = function_table(
    "analysis.causes.points.ENDS",
    {
        **dict.fromkeys(("exp", "exp2", "expm1"), highest),
        **dict.fromkeys(("log", "log2", "log10", "log1p", "sqrt", "rsqrt"), lowest),
    },
)
LONGEST = 70  # characters of a description of two operands


def reads(facts: Facts, operation: Operation) -> str:
    """Return " (p is 0)" for the first two operands; "" if nothing can be shown."""
    text = "; ".join(
        f"{named(facts, r.id)} is {brief(v)}" for r, v in facts.operands(operation)[:2]
    )
    return f" ({text})" if text and len(text) < LONGEST else ""


def at_point(facts: Facts, operation: Operation, gradient: Value | None = None) -> str:
    """Describe in a few words the operands where the result is not finite, or else a gradient that
    was sent back: " (8 of 8 elements of x are 0)", " (x goes up to 100)".
    """
    if operation.name == "copy_":
        return ""  # what was there before does not matter
    is_loss = operator(operation).endswith("loss")
    parts = []
    for tensor, value in facts.operands(operation)[:2]:
        name = named(facts, tensor.id)
        elements = elements_at(facts, operation, value, gradient)
        if value.numel <= FEW or not value.is_float:
            parts.append(f"{name} is {brief(value)}" if value.numel <= FEW else "")
        elif is_at_zero(operation, value, elements, gradient is not None):
            return f" ({value.zeros} of {value.numel} elements of {name} are 0)"
        elif elements is not None or not is_loss:
            parts.append(end_in_words(name, value, end_of(operation, value, elements)))
    texts = [text for text in parts if text]
    while len("; ".join(texts)) >= LONGEST and len(texts) > 1:
        texts.pop()
    text = "; ".join(texts)
    is_short = len(text) < LONGEST or any(
        value.numel > FEW for _, value in facts.operands(operation)[:1]
    )
    return f" ({text})" if text and is_short else ""


def elements_at(
    facts: Facts, operation: Operation, value: Value, gradient: Value | None = None
) -> Any:
    """Return the elements of an operand at which an elementwise operation gave, or sent back,
    numbers that are not finite; None if they are not known.
    """
    record = record_of(operator(operation))
    bad = result(facts, operation) if gradient is None else gradient
    if (
        record is None
        or record.kind != "elementwise"
        or bad is None
        or not (bad.is_whole and value.is_whole)
    ):
        return None
    is_bad = ~np.isfinite(bad.data)
    if (
        len(value.shape) > len(bad.shape)
        or np.broadcast_shapes(value.shape, bad.shape) != bad.shape
    ):
        return None
    elements = np.broadcast_to(value.data, bad.shape)[is_bad]
    return elements if elements.size else None


def is_at_zero(operation: Operation, value: Value, elements: Any, is_derivative: bool) -> bool:
    """Whether the numbers that are not finite come from zeros of an operand."""
    if elements is not None:
        return not elements.any()
    divides = operator(operation) in DIVIDING or ENDS.get(operator(operation)) is lowest
    return bool(value.zeros) and (divides or is_derivative)


def end_of(operation: Operation, value: Value, elements: Any) -> float | None:
    """Return the element of an operand that lies farthest out of those at which an operation is not
    finite.
    """
    if elements is not None:
        return float(elements[np.argmax(np.abs(elements))])
    ends = [end for end in (lowest(value), highest(value)) if end is not None]
    name = operator(operation)
    if name in ENDS:
        return ENDS[name](value)
    return None if name in DIVIDING else max(ends, key=abs, default=None)


def end_in_words(name: str, value: Value, end: float | None) -> str:
    low = lowest(value)
    high = highest(value)
    if end is None or low == high:
        return f"{name} is {brief(value)}"
    if end == high:
        return f"{name} goes up to {end:.3g}"
    return f"{name} goes down to {end:.3g}" if end == low else f"an element of {name} is {end:.3g}"


def is_near_zero(facts: Facts, operation: Operation) -> bool:
    """Whether an operation overflows at numbers near 0, from which a small number more leads
    away.
    """
    operands = facts.operands(operation)
    place = -1 if operator(operation) in DIVIDING else 0
    elements = elements_at(facts, operation, operands[place][1]) if operands else None
    if elements is not None:
        return bool(np.all(np.abs(elements) < 1))
    return any(value.zeros for _, value in operands) or 0 in numbers_in(operation, options=False)


# ---- bad elements

MAKERS = ("tensor", "FloatTensor", "Tensor", "as_tensor", "DoubleTensor", "array")


def bad_place(value: Value | None, kind: str) -> tuple[str, tuple[int, ...]]:
    """Return "row 3" and the index (3, 1) of the first bad element; "" and () if the elements were
    not kept.
    """
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
