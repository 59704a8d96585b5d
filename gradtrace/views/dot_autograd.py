"""The autograd graph: the backward graph's functions as PyTorch keeps them, and its next_functions.

Inputs are on the left, as in the data graph, so that the two can be compared. The arrows point from right to left, the
direction of `next_functions` and of the gradients.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING
from gradtrace.trace.record import BackwardStep, FunctionRecord, SavedRecord, TensorRecord, Trace, Value
from gradtrace.views import dot_extras, dot_groups, flow, numbers
from gradtrace.views.dot_data import add_node, extent, facts, quantity, written_out
from gradtrace.views.labels import clip, font, pair, text, wide
from gradtrace.views.model import GROUP, DrawnEdge, Model
from gradtrace.views.style import NAME_SIZE, SMALL_SIZE, Look, Theme

if TYPE_CHECKING:
    from graphviz import Digraph

    from gradtrace.views.dot import Canvas, DotOptions

LISTED = 6  # saved values written into a node; the tooltip has all


def draw(board: Canvas, drawn: Model, options: DotOptions, flowed: dict[int, Value]) -> list[Look]:
    """Draw the whole graph of functions; return the looks in use, in the legend's order."""
    trace, theme = drawn.trace, board.theme
    roots = {trace.tensors[t].function for t in trace.roots}
    steps = flow.last_steps(trace)
    fills = dot_extras.fills(drawn, theme, flowed) if options.color_by == "grad-norm" else {}
    used: dict[str, Look] = {}
    for node in drawn.nodes:
        graph, fill = board.place(node.scope, node.key), fills.get(node.key)
        if node.kind == GROUP:
            used.update(dot_groups.draw(graph, drawn, node, options, theme, flowed, fill))
            continue
        function = trace.functions[node.record]
        role = role_of(function, roots)
        used[role] = look = theme.functions[role].pointing(options.direction)
        shown, lines = function_text(trace, function, options, theme, steps.get(function.id))
        add_node(graph, node.key, shown, lines, look, theme, fill=fill)
    counts: dict[int | None, int] = {}
    for edge in drawn.edges:
        counts[edge.function] = counts.get(edge.function, 0) + 1
    for number, edge in enumerate(drawn.edges):
        step = steps.get(edge.function) if edge.function is not None else None
        several = counts[edge.function] > 1
        drawn_edge = edge._replace(source=board.start(edge, number))
        function_edge(board.graph, drawn_edge, options, theme, step, several=several, key=f"e{number}")
    order = {**theme.functions, "group": theme.group, "series": theme.series}
    return [used[role] for role in order if role in used]


def role_of(function: FunctionRecord, roots: set[int | None]) -> str:
    """Return the role that determines a function's look."""
    if function.variable is not None:
        return "accumulate"
    if function.id in roots:
        return "root"
    return "freed" if function.freed else "function"


def function_text(
    trace: Trace, function: FunctionRecord, options: DotOptions, theme: Theme, step: BackwardStep | None
) -> tuple[list[str], list[str]]:
    """Return the lines in a function's node, and those of its tooltip."""
    if function.variable is not None:
        return variable_lines(trace.tensors[function.variable], function, options, theme)
    shown, lines = function_lines(trace, function, options, theme)
    if step is not None and options.gradients:
        for value in step.upstream:
            shown += quantity("upstream", value, "none", theme.gradient, theme.gradient_spark, theme)
            lines.append(f"upstream {numbers.short(value) or 'none'}")
        for i, value in enumerate(step.local):
            if value is not None and options.derivatives:
                shown += quantity(f"local {i}", value, "", theme.ink, theme.spark, theme)
    return shown, lines


def variable_lines(
    leaf: TensorRecord, function: FunctionRecord, options: DotOptions, theme: Theme
) -> tuple[list[str], list[str]]:
    """Return the lines of an AccumulateGrad under the name of its leaf, with the gradient it has accumulated."""
    title = font(text(clip(leaf.label)), size=NAME_SIZE, bold=True)
    if leaf.value is not None and leaf.value.shape:
        title += font("&#160; " + text(numbers.shape(leaf.value)), size=SMALL_SIZE, color=theme.faint)
    shown = [wide(title), wide(font(text(function.name), size=SMALL_SIZE, color=theme.faint))]
    if options.gradients:
        shown += quantity("grad", leaf.grad, "None", theme.gradient, theme.gradient_spark, theme)
    return shown, [f"{function.name} of {leaf.label}", *facts(leaf)]


def function_lines(
    trace: Trace, function: FunctionRecord, options: DotOptions, theme: Theme
) -> tuple[list[str], list[str]]:
    """Return the function's name, its results, and what it saves for backward."""
    shown = [wide(font(text(function.name), size=NAME_SIZE - 1, bold=True))]
    made = ", ".join(trace.tensors[t].label for t in function.outputs)
    if made:
        shown.append(wide(font(text("of " + clip(made)), size=SMALL_SIZE, color=theme.faint)))
    saved = [saved_text(trace, item) for item in function.saved]
    if function.freed and options.detail:
        shown.append(wide(font("saved values freed", size=SMALL_SIZE, color=theme.faint)))
    elif saved and options.values and not function.freed:
        shown += [_saved_row(*item, theme, port=f"s{i}") for i, item in enumerate(saved[:LISTED])]
        if len(saved) > LISTED:
            shown.append(wide(font(f"and {len(saved) - LISTED} more", size=SMALL_SIZE, color=theme.faint)))
    lines = [function.name, f"of {made}"] if made else [function.name]
    if function.span is not None:
        lines.append(f"line {function.span.where}")
    lines += ["saved values freed"] if function.freed else [f"saved {name}: {kept}" for name, kept in saved]
    return shown, lines


def _saved_row(name: str, kept: str, theme: Theme, port: str) -> str:
    tag = font(text(f"saved {name}") + "&#160;&#160;", size=SMALL_SIZE, color=theme.faint)
    return pair(tag, font(text(clip(kept, 28)), size=SMALL_SIZE), port)


def saved_text(trace: Trace, item: SavedRecord) -> tuple[str, str]:
    """Return the name of a saved value, and its text: a tensor with its value, or anything else as text."""
    if item.tensor is None:
        return item.name, item.text
    tensor = trace.tensors[item.tensor]
    if tensor.value is None:
        return item.name, tensor.label
    value = numbers.number(tensor.value.data) if not tensor.value.shape else numbers.shape(tensor.value)
    return item.name, f"{clip(tensor.label, 18)} = {value}" if not tensor.value.shape else f"{tensor.label} {value}"


def function_edge(
    graph: Digraph,
    edge: DrawnEdge,
    options: DotOptions,
    theme: Theme,
    step: BackwardStep | None,
    *,
    several: bool,
    key: str,
) -> None:
    """Draw an edge from the input's function to the one that uses it; its arrow points back, along next_functions.

    A number shows the index in next_functions if there are several; the label is the gradient that flows back.
    """
    attributes = {"id": key, "dir": "back", "arrowtail": "normal", "labeldistance": "1.6"}
    if edge.times > 1:
        attributes["label"] = f"<{font(f'&#160;×{edge.times}', size=SMALL_SIZE, color=theme.faint)}>"
    elif options.derivatives and step is not None and edge.place < len(step.downstream):
        sent = step.downstream[edge.place]
        if sent is not None:
            written = written_out(sent)
            shown = written if written is not None else extent(sent)
            attributes["label"] = f"<{font(text(shown), size=SMALL_SIZE, color=theme.gradient)}>"
    if several and "label" not in attributes:
        attributes["headlabel"] = f"<{font(str(edge.place), size=SMALL_SIZE, color=theme.faint)}>"
    if edge.number:
        attributes["taillabel"] = f"<{font(f'output {edge.number}', size=SMALL_SIZE, color=theme.faint)}>"
    graph.edge(edge.source, edge.target, **attributes)
