"""Draw the boxes of operations: one for each folded group, and in the style `function` one for each
Function.
"""

from __future__ import annotations

import math

from gradtrace.annotations import TYPE_CHECKING, Sequence
from gradtrace.trace.record import Trace, Value
from gradtrace.views import boxes, nodes, numbers, stacks
from gradtrace.views.drawing import Box
from gradtrace.views.fold import Group
from gradtrace.views.labels import Line, Words, clip, pair, wide
from gradtrace.views.model import DrawnNode, Model
from gradtrace.views.style import NAME_SIZE, TEXT_SIZE, Look, Theme

if TYPE_CHECKING:
    from gradtrace.views.dot import Canvas

# layers, and the dimension that they map, which a box has also where its size stays
FEATURES = {"Linear": -1, "Conv": 1}
LISTED = 5  # saved values written into a Function's node


def draw(board: Canvas, node: DrawnNode, lines: Sequence[Line] = ()) -> None:
    """Draw a group's box: its kind, its size, and how values and gradients change through a series
    of equal blocks.

    `lines` is the text of a flat box.
    """
    group = board.model.groups[node.record]
    board.add_box(
        node,
        lines or group_lines(board, group),
        nodes.details(board.model, group),
        nodes.group_role(group),
    )


def group_lines(board: Canvas, group: Group) -> list[Line]:
    """Return the lines of a group's box."""
    drawn = board.model
    theme = board.theme
    result = drawn.results.get(group.id)
    output = None if result is None else drawn.trace.tensors[result]
    value, name = (None, "") if output is None else (output.value, output.name or "")
    lines = [boxes.title(group.name, value, theme, 40, name)]
    lines += [boxes.note(line, theme) for line in nodes.summary(drawn, group)]
    return lines + contents(board, group, result)


def flat_line(board: Canvas, group: Group) -> boxes.BoxFacts:
    """Return the facts of a group in short."""
    drawn = board.model
    options = board.options
    theme = board.theme
    if group.leaves:
        return flat_stack(board, group)
    result = drawn.results.get(group.id)
    output = None if result is None else drawn.trace.tensors[result]
    value = None if output is None else output.value
    inner = nodes.name_inside(drawn, group)
    name = (
        f"{inner} → {output.name}"
        if output is not None and output.name not in (None, inner)
        else inner
    )
    count = f" ×{group.copies:,}" if group.copies > 1 else ""
    heading = (
        group.detail + count
        if group.kind == "module" and group.detail
        else nodes.summary(drawn, group)[0]
    )
    features = next((dim for layer, dim in FEATURES.items() if heading.startswith(layer)), None)
    change = boxes.shape_change(entering(drawn, group), value, features)
    kind = " ".join(filter(None, [heading, change]))
    values = through(drawn.trace, group, None)
    lengths = through(drawn.trace, group, board.flowed)
    gradient = ""
    if lengths is not None:
        gradient = f"|grad| {ends_of(lengths)}"
    elif (length := gradient_norm(drawn, group)) is not None:
        gradient = f"|grad| {numbers.number(length, 3)}"
    facts = boxes.box_facts(
        name, kind, value, gradient if options.gradients else "", theme, values=options.values
    )
    if values is None or not options.values:
        return facts
    strip = Words(numbers.sparkline(values, boxes.FLAT_BARS), TEXT_SIZE, theme.spark)
    return facts._replace(value=strip, extent=Words(ends_of(values), color=theme.ink))


def flat_stack(board: Canvas, group: Group) -> boxes.BoxFacts:
    """Return the facts of a stack of leaves in short."""
    options = board.options
    theme = board.theme
    gradient = range_text(board, group, True) if options.gradients else ""
    kind = nodes.summary(board.model, group)[0]
    facts = boxes.box_facts(group.name, kind, None, f"grad {gradient}" if gradient else "", theme)
    written = range_text(board, group, False) if options.values else ""
    return facts._replace(extent=Words(written, color=theme.ink))


def ends_of(values: Value) -> str:
    """Return the first and the last value of a series."""
    return (
        f"{numbers.number(values.data[0].item(), 3)} … {numbers.number(values.data[-1].item(), 3)}"
    )


def entering(drawn: Model, group: Group) -> Value | None:
    """Return the value of the one tensor that a group reads and does not own; None if there are
    several.
    """
    trace = drawn.trace
    own = set(group.operations)
    read = {t for i in group.operations for t in trace.operations[i].tensors}
    tensors = [trace.tensors[t] for t in read if trace.tensors[t].operation not in own]
    inputs = [tensor for tensor in tensors if not tensor.is_parameter and tensor.kind != "constant"]
    return inputs[0].value if len(inputs) == 1 else None


def contents(board: Canvas, group: Group, result: int | None) -> list[Line]:
    """Return the text about values and gradients in a group's box: of its result and parameters, or
    of a series.
    """
    drawn = board.model
    options = board.options
    theme = board.theme
    if group.leaves:
        return ranges(board, group)
    lines: list[Line] = []
    for shown, name, values, color, spark in (
        (options.values, "value", through(drawn.trace, group, None), theme.ink, theme.spark),
        (
            options.gradients,
            "|grad|",
            through(drawn.trace, group, board.flowed),
            theme.gradient,
            theme.gradient_spark,
        ),
    ):
        if shown and values is not None:
            bars = Words(numbers.sparkline(values, 24), TEXT_SIZE, spark)
            lines += [
                pair(boxes.tag(name, theme), bars),
                pair(None, Words(ends_of(values), color=color)),
            ]
    if lines or group.kind not in ("module", "batch"):
        return lines
    if options.values and result is not None:
        lines += boxes.quantity("value", drawn.trace.tensors[result].value, theme)
    length = gradient_norm(drawn, group)
    if options.gradients and length is not None:
        written = Words(numbers.number(length, 3), TEXT_SIZE, theme.gradient)
        lines.append(pair(boxes.tag("|grad|", theme), written))
    return lines


def ranges(board: Canvas, group: Group) -> list[Line]:
    """Return the lines of a stack of leaves: the ranges of its values and gradients."""
    options = board.options
    theme = board.theme
    lines: list[Line] = []
    for shown, name, color in (
        (options.values, "value", theme.ink),
        (options.gradients, "grad", theme.gradient),
    ):
        written = range_text(board, group, name == "grad") if shown else ""
        if written:
            lines.append(pair(boxes.tag(name, theme), Words(written, TEXT_SIZE, color)))
    return lines


def range_text(board: Canvas, group: Group, gradients: bool) -> str:
    """Return the range of a stack's values, or of its gradients, as text; "" if it is not known."""
    ends = stacks.ends_of(board.model.trace, group, gradients)
    if ends is None:
        return ""
    return numbers.number(ends[0], 3) + (
        f" … {numbers.number(ends[1], 3)}" if ends[0] < ends[1] else ""
    )


def gradient_norm(drawn: Model, group: Group) -> float | None:
    """Return the Euclidean length of the gradients of a group's own parameters together; None if
    there are none.
    """
    parameters = (drawn.trace.tensors[t] for t in nodes.hidden_parameters(drawn, group))
    lengths = [
        tensor.grad.norm
        for tensor in parameters
        if tensor.grad is not None and tensor.grad.is_measured
    ]
    return math.hypot(*lengths) if lengths else None


def through(trace: Trace, group: Group, flowed: dict[int, Value] | None) -> Value | None:
    """Return the output of each block of a series: its value, or an array's norm; with `flowed`, of
    its gradient.
    """
    if group.copies < 2:
        return None
    import numpy as np

    size = len(group.operations) // group.copies
    series = []
    for last in range(size - 1, len(group.operations), size):
        tensor = trace.operations[group.operations[last]].outputs[-1]
        value = trace.tensors[tensor].value if flowed is None else flowed.get(tensor)
        if value is None or not value.is_measured:
            return None
        series.append(float(value.data) if flowed is None and not value.shape else value.norm)
    return Value((len(series),), "float64", np.array(series))


def function_look(theme: Theme) -> Look:
    """Return the look of a Function, which has another shape than the tensors beside it."""
    return theme.looks["function"]._replace(shape="octagon", margin="0.02,0.0")


def function_node(board: Canvas, node: DrawnNode) -> None:
    """Draw a Function as a node: its forward, grad_fn, constants, and saved values."""
    trace = board.model.trace
    options = board.options
    theme = board.theme
    operation = trace.operations[node.record]
    name = nodes.program_word(trace, operation) or operation.label
    lines = [wide(Words(clip(name, 24), NAME_SIZE - 1, bold=True))]
    if operation.grad_fn is not None:
        lines.append(boxes.note(operation.grad_fn, theme))
    function = None if operation.function is None else trace.functions[operation.function]
    saved = () if function is None else function.saved
    if options.values and function is not None and not function.freed:
        items = [nodes.saved_text(trace, item) for item in saved[:LISTED]]
        lines += [boxes.saved_line(*item, theme, f"s{i}", 24) for i, item in enumerate(items)]
    elif function is not None and saved and options.detail:
        lines.append(boxes.note("saved values freed", theme))
    tooltip = [
        operation.text or operation.label,
        operation.grad_fn or "no grad_fn",
        *boxes.lines_of(operation.span),
    ]
    board.used["function"] = look = function_look(theme)
    fill = board.fills.get(node.key)
    attributes = look.attributes() | ({"fillcolor": fill} if fill is not None else {})
    board.place(node.scope, node.key).items.append(
        Box(node.key, attributes, lines, tooltip=tooltip, row=board.row(node.key))
    )
