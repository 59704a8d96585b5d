"""A static graph as text and as DOT: its operations in order, or boxes with tensors flowing upwards
between them.
"""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.static.graph import Graph, Operation, Tensor
from gradtrace.views.plan_text import RESULT, aligned, quoted
from gradtrace.views.style import LIGHT, listed, upward


def shape_text(tensor: Tensor) -> str:
    return f"{tensor.dtype.name} {tensor.shape}"


def render(graph: Graph) -> str:
    """Return a line of text for each operation: name, type, inputs and output, without values."""
    rows: list[tuple[str, ...]] = [("operation", "type", "reads", "gives")]
    for op in graph.operations:
        reads = ", ".join(t.name for t in op.inputs)
        rows.append((op.name, op.type, reads, ", ".join(map(shape_text, op.outputs))))
    return "\n".join(aligned(rows)) + "\n"


def as_data(graph: Graph) -> dict[str, Any]:
    return {
        "schema": "gradtrace/static-graph",
        "version": 1,
        "operations": [
            {
                "name": op.name,
                "type": op.type,
                "inputs": [t.name for t in op.inputs],
                "outputs": [
                    {"name": t.name, "dtype": t.dtype.name, "shape": list(t.shape)}
                    for t in op.outputs
                ],
            }
            for op in graph.operations
        ],
    }


def dot(graph: Graph) -> str:
    """Return the graph as DOT: operations as boxes, placeholders and constants at the bottom,
    tensors along the edges.
    """
    number = {op: i for i, op in enumerate(graph.operations)}
    looks = LIGHT.looks
    used = {tensor.op for op in graph.operations for tensor in op.inputs}
    lines = upward("graph_")
    for op in graph.operations:
        if not op.inputs:
            look = looks["constant" if op.type == "Const" else "leaf"]
            lines.append(f"    n{number[op]} [label={quoted(end_label(op))}, {listed(look)}];")
    lines.append("  }")
    for op in graph.operations:
        if op.inputs:
            look = looks["nonleaf"] if op in used else RESULT
            lines.append(f"  n{number[op]} [label={quoted(op.name)}, {listed(look)}];")
        for tensor in op.inputs:
            lines.append(
                f"  n{number[tensor.op]} -> n{number[op]} [label={quoted(shape_text(tensor))}];"
            )
    return "\n".join([*lines, "}"]) + "\n"


def end_label(op: Operation) -> str:
    """Return the label of a placeholder or constant; a constant that is one number shows its
    value.
    """
    if op.type != "Const" or op.outputs[0].shape != ():
        return op.name
    return f"{op.name} = {op.outputs[0].example.item():g}"
