"""The facts about each node and edge of a model, as plain data: for JSON, GraphML, Mermaid, the tree, the page.

A node has those of these facts that apply to it:

    id, kind        "t0"; "tensor", "operation", "function" or "group"
    role            of a tensor "leaf", "data", "constant", "nonleaf", "retained", "result", "output", "failed"; of a
                    function "function", "freed", "accumulate", "root"
    label           the variable, the source text, the operator with its constants, or the group's name
    op, grad_fn, value, shape, dtype, grad, grad_note, requires_grad, is_leaf    as `eval` gives them
    flowed          the gradient that passed here, if it was not kept and the run was watched
    value_text, grad_text    the value, and the gradient (kept or passed), in short
    line, text      the source line, and its text
    scope           the names of the open scopes around it, outermost first
    operations, copies    of a group: the number of its operations, and of its equal blocks

Arrays of more than LISTED elements are described in words: shape, range, mean.
"""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.trace.record import Span, TensorRecord, Value
from gradtrace.views import flow, numbers
from gradtrace.views.dot_autograd import role_of as function_role
from gradtrace.views.dot_autograd import saved_text
from gradtrace.views.dot_data import caption, derivative_text, role_of
from gradtrace.views.dot_groups import summary
from gradtrace.views.model import FUNCTION, GROUP, TENSOR, DrawnEdge, DrawnNode, Model

LISTED = 64


def facts_of(drawn: Model) -> list[dict[str, Any]]:
    """Return the facts of every node, in the model's order."""
    flowed = flow.gradients(drawn.trace)
    return [facts(drawn, node, flowed) for node in drawn.nodes]


def facts(drawn: Model, node: DrawnNode, flowed: dict[int, Value]) -> dict[str, Any]:
    """Return one node's facts, without those that do not apply to it."""
    if node.kind == TENSOR:
        own = tensor_facts(drawn.trace.tensors[node.record], flowed.get(node.record))
    elif node.kind == GROUP:
        own = group_facts(drawn, node)
    elif node.kind == FUNCTION:
        own = function_facts(drawn, node)
    else:
        own = operation_facts(drawn, node)
    scope = scope_names(drawn, node.scope)
    found = {"id": node.key, "kind": node.kind, **own, **({"scope": scope} if scope else {})}
    return {name: value for name, value in found.items() if name == "label" or (value is not None and value != "")}


def tensor_facts(tensor: TensorRecord, flowed: Value | None) -> dict[str, Any]:
    value = tensor.value
    return {
        "role": role_of(tensor),
        "label": tensor.label,
        "op": tensor.op,
        "grad_fn": tensor.grad_fn,
        "value": contents(value),
        "shape": None if value is None else list(value.shape),
        "dtype": None if value is None else value.dtype,
        "requires_grad": tensor.requires_grad,
        "is_leaf": tensor.is_leaf,
        "grad": contents(tensor.grad),
        "grad_note": tensor.grad_note,
        "flowed": contents(flowed) if tensor.grad is None else None,
        "value_text": numbers.short(value),
        "grad_text": numbers.short(tensor.grad if tensor.grad is not None else flowed),
        "line": line_of(tensor.span),
    }


def operation_facts(drawn: Model, node: DrawnNode) -> dict[str, Any]:
    operation = drawn.trace.operations[node.record]
    return {
        "label": operation.label,
        "sign": caption(operation),
        "op": operation.name,
        "grad_fn": operation.grad_fn,
        "line": line_of(operation.span),
        "text": operation.text,
    }


def function_facts(drawn: Model, node: DrawnNode) -> dict[str, Any]:
    trace = drawn.trace
    function = trace.functions[node.record]
    roots = {trace.tensors[t].function for t in trace.roots}
    leaf = None if function.variable is None else trace.tensors[function.variable]
    made = ", ".join(trace.tensors[t].label for t in function.outputs)
    return {
        "role": function_role(function, roots),
        "label": function.name if leaf is None else leaf.label,
        "grad_fn": function.name,
        "of": made,
        "saved": [": ".join(saved_text(trace, item)) for item in function.saved] or None,
        "freed": function.freed or None,
        "grad": None if leaf is None else contents(leaf.grad),
        "grad_text": None if leaf is None else numbers.short(leaf.grad),
        "line": line_of(function.span),
    }


def group_facts(drawn: Model, node: DrawnNode) -> dict[str, Any]:
    group = drawn.groups[node.record]
    lines = [span.line for i in group.operations if (span := drawn.trace.operations[i].span) is not None]
    return {
        "role": "series" if group.copies > 1 else "group",
        "label": group.name,
        "detail": group.detail,
        "operations": len(group.operations),
        "copies": group.copies,
        "text": "; ".join(summary(drawn, group)),
        "line": min(lines, default=None),
    }


def contents(value: Value | None) -> Any:
    """Return a value as JSON can hold it; a large array in words."""
    return numbers.jsonable(value) if value is None or value.numel <= LISTED else numbers.short(value)


def line_of(span: Span | None) -> int | None:
    return None if span is None else span.line


def scope_names(drawn: Model, scope: int | None) -> list[str]:
    """Return the names of the open scopes around a node, outermost first."""
    names: list[str] = []
    while scope is not None:
        record = drawn.trace.scopes[scope]
        names.append(f"pass {record.turn}" if record.kind == "pass" else record.name)
        scope = record.parent
    return names[::-1]


def edge_facts(drawn: Model, edge: DrawnEdge, known: dict[tuple[int, int], Value]) -> dict[str, Any]:
    """Return an edge's facts: its ends, the operand or the index in next_functions, its local derivative if known."""
    found: dict[str, Any] = {"source": edge.source, "target": edge.target, "flows": edge.flows}
    if edge.times > 1:
        return {**found, "times": edge.times}
    if edge.function is not None:
        return {**found, "place": edge.place, **({"output": edge.number} if edge.number else {})}
    if edge.operation is not None and edge.operand is not None:
        found["operand"] = edge.operand
        value = known.get((edge.operation, edge.operand))
        if value is not None and not edge.target.startswith("g"):
            operation = drawn.trace.operations[edge.operation]
            found["derivative"] = contents(value)
            found["text"] = derivative_text(drawn.trace, operation, edge.operand, value)
    return found
