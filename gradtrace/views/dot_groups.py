"""Draw the boxes of operations: one for each folded group, and in the style `function` one for each Function."""

from __future__ import annotations

import math

from gradtrace.annotations import TYPE_CHECKING
from gradtrace.trace.record import Operation, Trace, Value
from gradtrace.views import boxes, nodes, numbers
from gradtrace.views.fold import Group
from gradtrace.views.labels import clip, escape_attribute, font, label, pair, text, wide
from gradtrace.views.model import DrawnNode, Model
from gradtrace.views.style import NAME_SIZE, SMALL_SIZE, TEXT_SIZE, Look, Theme

if TYPE_CHECKING:
    from graphviz import Digraph

    from gradtrace.views.dot import Canvas

LISTED = 5  # saved values written into a Function's node


def draw(graph: Digraph, board: Canvas, node: DrawnNode, fill: str | None) -> dict[str, Look]:
    """Draw a group's box: its kind, its size, and how values and gradients change through a series of equal blocks."""
    drawn, theme = board.model, board.theme
    group = drawn.groups[node.record]
    role = nodes.group_role(group)
    result = drawn.results.get(group.id)
    made = None if result is None else drawn.trace.tensors[result]
    value, name = (None, "") if made is None else (made.value, made.name or "")
    lines = [boxes.title(group.name, value, theme, 40, name)]
    lines += [boxes.note(line, theme) for line in nodes.summary(drawn, group)]
    lines += contents(board, group, result)
    boxes.add_node(graph, node.key, lines, nodes.details(drawn, group), theme.by_role[role], theme, fill=fill)
    return {role: theme.by_role[role]}


def contents(board: Canvas, group: Group, result: int | None) -> list[str]:
    """Return the text about values and gradients in a group's box: of its result and parameters, or of a series."""
    drawn, options, theme = board.model, board.options, board.theme
    lines: list[str] = []
    for shown, name, values, color, spark in (
        (options.values, "value", through(drawn.trace, group, None), theme.ink, theme.spark),
        (options.gradients, "|grad|", through(drawn.trace, group, board.flowed), theme.gradient, theme.gradient_spark),
    ):
        if shown and values is not None:
            ends = f"{numbers.number(values.data[0].item(), 3)} … {numbers.number(values.data[-1].item(), 3)}"
            bars = font(numbers.sparkline(values, 24), size=TEXT_SIZE, color=spark)
            lines += [pair(boxes.tag(name, theme), bars), pair("", font(text(ends), size=SMALL_SIZE, color=color))]
    if lines or group.kind != "module":
        return lines
    if options.values and result is not None:
        lines += boxes.quantity("value", drawn.trace.tensors[result].value, theme)
    length = gradient_norm(drawn, group)
    if options.gradients and length is not None:
        written = font(text(numbers.number(length, 3)), size=TEXT_SIZE, color=theme.gradient)
        lines.append(pair(boxes.tag("|grad|", theme), written))
    return lines


def gradient_norm(drawn: Model, group: Group) -> float | None:
    """Return the Euclidean length of the gradients of a group's own parameters together; None if there are none."""
    parameters = (drawn.trace.tensors[t] for t in nodes.hidden_parameters(drawn, group))
    lengths = [tensor.grad.norm for tensor in parameters if tensor.grad is not None]
    return math.hypot(*lengths) if lengths else None


def through(trace: Trace, group: Group, flowed: dict[int, Value] | None) -> Value | None:
    """Return the output of each block of a series: its value, or an array's norm; with `flowed`, of its gradient."""
    if group.copies < 2:
        return None
    import numpy as np

    size = len(group.operations) // group.copies
    found = []
    for last in range(size - 1, len(group.operations), size):
        tensor = trace.operations[group.operations[last]].outputs[-1]
        value = trace.tensors[tensor].value if flowed is None else flowed.get(tensor)
        if value is None:
            return None
        found.append(float(value.data) if flowed is None and not value.shape else value.norm)
    return Value((len(found),), "float64", np.array(found))


def function_look(theme: Theme) -> Look:
    """Return the look of a Function, which has another shape than the tensors beside it."""
    return theme.functions["function"]._replace(shape="octagon", margin="0.02,0.0")


def function_node(graph: Digraph, board: Canvas, operation: Operation, fill: str | None) -> None:
    """Draw a Function as a node: its forward, grad_fn, constants, and saved values."""
    trace, options, theme = board.model.trace, board.options, board.theme
    lines = [wide(font(text(clip(operation.label, 24)), size=NAME_SIZE - 1, bold=True))]
    if operation.grad_fn is not None:
        lines.append(boxes.note(operation.grad_fn, theme))
    function = None if operation.function is None else trace.functions[operation.function]
    saved = () if function is None else function.saved
    if options.values and function is not None and not function.freed:
        items = [nodes.saved_text(trace, item) for item in saved[:LISTED]]
        lines += [boxes.saved_line(*item, theme, f"s{i}", 24) for i, item in enumerate(items)]
    elif function is not None and saved and options.detail:
        lines.append(boxes.note("saved values freed", theme))
    tooltip = [operation.text or operation.label, operation.grad_fn or "no grad_fn", *boxes.lines_of(operation.span)]
    attributes = function_look(theme).attributes() | ({"fillcolor": fill} if fill is not None else {})
    key = f"o{operation.id}"
    graph.node(key, label(lines), id=key, tooltip=escape_attribute(tooltip), **attributes)
