"""Draw the boxes of operations: one for each folded group, and in the style `function` one for each Function."""

from __future__ import annotations

import math

from gradtrace.annotations import TYPE_CHECKING
from gradtrace.trace.record import Operation, Trace, Value
from gradtrace.views import flow, numbers
from gradtrace.views.fold import Group
from gradtrace.views.labels import clip, escape_attribute, font, label, pair, text, wide
from gradtrace.views.model import DrawnNode, Model, users_of
from gradtrace.views.style import NAME_SIZE, SMALL_SIZE, TEXT_SIZE, Look, Theme

if TYPE_CHECKING:
    from graphviz import Digraph

    from gradtrace.views.dot import DotOptions

LISTED = 5  # kinds of operations that a group names
LAYER = 4  # operations that the type of a layer says without being listed


def draw(
    graph: Digraph,
    drawn: Model,
    node: DrawnNode,
    options: DotOptions,
    theme: Theme,
    flowed: dict[int, Value],
    fill: str | None,
) -> dict[str, Look]:
    """Draw a group's box: its kind, its size, and how values and gradients change through a series of equal blocks."""
    group = drawn.groups[node.record]
    role = "series" if group.copies > 1 else "group"
    look = theme.series if group.copies > 1 else theme.group
    result = drawn.results.get(group.id)
    lines = [title(drawn, group, result, theme)]
    lines += [wide(font(text(line), size=SMALL_SIZE, color=theme.faint)) for line in summary(drawn, group)]
    lines += contents(drawn, group, result, options, theme, flowed)
    attributes = look.attributes()
    if fill is not None:
        from gradtrace.views.dot_data import on_fill

        attributes["fillcolor"], lines = fill, on_fill(lines, theme)
    graph.node(node.key, label(lines), id=node.key, tooltip=escape_attribute(details(drawn, group)), **attributes)
    return {role: look}


def title(drawn: Model, group: Group, result: int | None, theme: Theme) -> str:
    """Return the group's name, with the name of its result if it has one, and the result's shape."""
    name = font(text(clip(group.name, 40)), size=NAME_SIZE, bold=True)
    if result is None:
        return wide(name)
    made = drawn.trace.tensors[result]
    if made.name is not None:
        name += font("&#160;→ " + text(clip(made.name, 20)), size=TEXT_SIZE)
    if made.value is not None and made.value.shape:
        name += font("&#160; " + text(numbers.shape(made.value)), size=SMALL_SIZE, color=theme.faint)
    return wide(name)


def contents(
    drawn: Model, group: Group, result: int | None, options: DotOptions, theme: Theme, flowed: dict[int, Value]
) -> list[str]:
    """Return the text about values and gradients in a group's box: of its result and parameters, or of a series."""
    lines: list[str] = []
    for shown, name, values, color, spark in (
        (options.values, "value", through(drawn.trace, group, None), theme.ink, theme.spark),
        (options.gradients, "|grad|", through(drawn.trace, group, flowed), theme.gradient, theme.gradient_spark),
    ):
        if shown and values is not None:
            tag = font(name + "&#160;&#160;", size=SMALL_SIZE, color=theme.faint)
            ends = f"{numbers.number(values.data[0].item(), 3)} … {numbers.number(values.data[-1].item(), 3)}"
            bars = font(numbers.sparkline(values, 24), size=TEXT_SIZE, color=spark)
            lines += [pair(tag, bars), pair("", font(text(ends), size=SMALL_SIZE, color=color))]
    if lines or group.kind != "module":
        return lines
    from gradtrace.views.dot_data import quantity

    if options.values and result is not None:
        lines += quantity("value", drawn.trace.tensors[result].value, "", theme.ink, theme.spark, theme)
    length = gradient_norm(drawn, group)
    if options.gradients and length is not None:
        tag = font("|grad|&#160;&#160;", size=SMALL_SIZE, color=theme.faint)
        lines.append(pair(tag, font(text(numbers.number(length, 3)), size=TEXT_SIZE, color=theme.gradient)))
    return lines


def gradient_norm(drawn: Model, group: Group) -> float | None:
    """Return the Euclidean length of the gradients of a group's own parameters together; None if there are none."""
    parameters = (drawn.trace.tensors[t] for t in hidden_parameters(drawn, group))
    lengths = [flow.norm(tensor.grad) for tensor in parameters if tensor.grad is not None]
    return math.hypot(*lengths) if lengths else None


def summary(drawn: Model, group: Group) -> list[str]:
    """Describe a group: its kind, its operations, and how many are hidden in it."""
    kinds: dict[str, int] = {}
    for index in group.operations:
        name = drawn.trace.operations[index].name
        kinds[name] = kinds.get(name, 0) + 1
    many = len(group.operations)
    blocks = {"loop": "loop", "pass": "passes", "module": "blocks", "function": "calls"}.get(group.kind, "times")
    each = f"{group.copies:,} {blocks} of {many // group.copies}: " if group.copies > 1 else ""
    what = group.detail if group.kind != "pass" else ""  # of a pass it is the loop, which stands around it
    hidden = hidden_parameters(drawn, group)
    size = sum(value.numel for t in hidden if (value := drawn.trace.tensors[t].value) is not None)
    owns = f"{size:,} parameters" if hidden else ""
    if group.kind == "module" and group.copies == 1 and what and many <= LAYER:
        return list(filter(None, [what, owns]))
    lines = [" · ".join(filter(None, [what, f"{each}{many:,} operation{'s' if many > 1 else ''}"]))]
    if group.kind != "chain" or (group.copies == 1 and len(kinds) > 1):
        named = ", ".join(name if n == 1 else f"{name} ×{n:,}" for name, n in list(kinds.items())[:LISTED])
        lines.append(named + (", …" if len(kinds) > LISTED else ""))
    return [*lines, *filter(None, [owns])]


def hidden_parameters(drawn: Model, group: Group) -> list[int]:
    """Return the parameters that only this group uses, and that are therefore not drawn."""
    shown = {node.record for node in drawn.nodes if node.kind == "tensor"}
    inside = set(group.operations)
    used = {o.tensor for i in group.operations for o in drawn.trace.operations[i].inputs if o.tensor is not None}
    own = [t for t in sorted(used) if drawn.trace.tensors[t].is_parameter and t not in shown]
    if drawn.style == "autograd" and own:
        users = users_of(drawn.trace)
        own = [t for t in own if inside.issuperset(users[t])]
    return own


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
        found.append(float(value.data) if flowed is None and not value.shape else flow.norm(value))
    return Value((len(found),), "float64", np.array(found))


def details(drawn: Model, group: Group) -> list[str]:
    """Return a group's tooltip."""
    lines = [group.name, *summary(drawn, group)]
    spans = [span.line for i in group.operations if (span := drawn.trace.operations[i].span) is not None]
    if spans:
        lines.append(f"line {min(spans)}" if min(spans) == max(spans) else f"lines {min(spans)} to {max(spans)}")
    return lines


def function_look(theme: Theme) -> Look:
    """Return the look of a Function, which has another shape than the tensors beside it."""
    return theme.functions["function"]._replace(shape="octagon", margin="0.02,0.0")


def function_node(
    graph: Digraph, trace: Trace, operation: Operation, options: DotOptions, theme: Theme, fill: str | None
) -> None:
    """Draw a Function as a node: its forward, grad_fn, constants, and saved values."""
    from gradtrace.views.dot_autograd import saved_text

    look = function_look(theme)
    lines = [wide(font(text(clip(operation.label, 24)), size=NAME_SIZE - 1, bold=True))]
    if operation.grad_fn is not None:
        lines.append(wide(font(text(operation.grad_fn), size=SMALL_SIZE, color=theme.faint)))
    function = None if operation.function is None else trace.functions[operation.function]
    saved = () if function is None else function.saved
    if options.values and function is not None and not function.freed:
        for i, (name, kept) in enumerate(saved_text(trace, item) for item in saved[:LISTED]):
            tag = font(text(f"saved {name}") + "&#160;&#160;", size=SMALL_SIZE, color=theme.faint)
            lines.append(pair(tag, font(text(clip(kept, 24)), size=SMALL_SIZE), f"s{i}"))
    elif function is not None and saved and options.detail:
        lines.append(wide(font("saved values freed", size=SMALL_SIZE, color=theme.faint)))
    tooltip = [operation.text or operation.label, operation.grad_fn or "no grad_fn"]
    if operation.span is not None:
        tooltip.append(f"line {operation.span.where}")
    attributes = look.attributes() | ({"fillcolor": fill} if fill is not None else {})
    key = f"o{operation.id}"
    graph.node(key, label(lines), id=key, tooltip=escape_attribute(tooltip), **attributes)
