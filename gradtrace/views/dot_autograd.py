"""The autograd graph: the backward graph's functions as PyTorch keeps them, and its next_functions.

It stands as the data graph does, inputs left, so that the two can be compared; the arrows point the way that gradients
flow, from right to left, as `next_functions` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradtrace.trace.record import FunctionEdge, FunctionRecord, Saved, TensorRecord, Trace
from gradtrace.views import numbers
from gradtrace.views.dot_data import facts, quantity
from gradtrace.views.labels import clip, font, label, pair, plain, text, wide
from gradtrace.views.style import NAME_SIZE, SMALL_SIZE, Look, Theme

if TYPE_CHECKING:
    from graphviz import Digraph

    from gradtrace.views.dot import Options

LISTED = 6  # saved values written into a node; the tooltip has all


def draw(graph: Digraph, trace: Trace, options: Options, theme: Theme) -> list[Look]:
    """Adds the whole graph of functions; returns the looks in use, in the legend's order."""
    roots = {trace.tensors[t].function for t in trace.roots}
    used = set()
    for function in trace.functions:
        role = role_of(function, roots)
        used.add(role)
        function_node(graph, trace, function, theme.functions[role], options, theme)
    counts: dict[int, int] = {}
    for edge in trace.function_edges:
        counts[edge.source] = counts.get(edge.source, 0) + 1
    for edge in trace.function_edges:
        function_edge(graph, edge, options, theme, several=counts[edge.source] > 1)
    return [look for role, look in theme.functions.items() if role in used]


def role_of(function: FunctionRecord, roots: set[int | None]) -> str:
    """Which look a function gets."""
    if function.variable is not None:
        return "accumulate"
    if function.id in roots:
        return "root"
    return "freed" if function.freed else "function"


def function_node(
    graph: Digraph, trace: Trace, function: FunctionRecord, look: Look, options: Options, theme: Theme
) -> None:
    if function.variable is not None:
        shown, lines = variable_lines(trace.tensors[function.variable], function, options, theme)
    else:
        shown, lines = function_lines(trace, function, options, theme)
    node = f"f{function.id}"
    graph.node(node, label(shown), id=node, tooltip=plain(lines), **look.attributes())


def variable_lines(
    leaf: TensorRecord, function: FunctionRecord, options: Options, theme: Theme
) -> tuple[list[str], list[str]]:
    """AccumulateGrad under the name of its leaf, with the gradient it has gathered."""
    title = font(text(clip(leaf.label)), size=NAME_SIZE, bold=True)
    if leaf.value is not None and leaf.value.shape:
        title += font("&#160; " + text(numbers.shape(leaf.value)), size=SMALL_SIZE, color=theme.faint)
    shown = [wide(title), wide(font(text(function.name), size=SMALL_SIZE, color=theme.faint))]
    if options.gradients:
        shown += quantity("grad", leaf.grad, "None", theme.gradient, theme.gradient_spark, theme)
    return shown, [f"{function.name} of {leaf.label}", *facts(leaf)]


def function_lines(
    trace: Trace, function: FunctionRecord, options: Options, theme: Theme
) -> tuple[list[str], list[str]]:
    """The function's name, the tensors that it made, and what it keeps for backward."""
    shown = [wide(font(text(function.name), size=NAME_SIZE - 1, bold=True))]
    made = ", ".join(trace.tensors[t].label for t in function.outputs)
    if made:
        shown.append(wide(font(text("of " + clip(made)), size=SMALL_SIZE, color=theme.faint)))
    saved = [saved_text(trace, item) for item in function.saved]
    if function.freed:
        shown.append(wide(font("saved values freed", size=SMALL_SIZE, color=theme.faint)))
    elif saved and options.values:
        shown += [_saved_row(*item, theme, port=f"s{i}") for i, item in enumerate(saved[:LISTED])]
        if len(saved) > LISTED:
            shown.append(wide(font(f"and {len(saved) - LISTED} more", size=SMALL_SIZE, color=theme.faint)))
    lines = [function.name, f"of {made}"] if made else [function.name]
    if function.span is not None:
        lines.append(f"line {function.span.line}")
    lines += ["saved values freed"] if function.freed else [f"saved {name}: {kept}" for name, kept in saved]
    return shown, lines


def _saved_row(name: str, kept: str, theme: Theme, port: str) -> str:
    tag = font(text(f"saved {name}") + "&#160;&#160;", size=SMALL_SIZE, color=theme.faint)
    return pair(tag, font(text(clip(kept, 28)), size=SMALL_SIZE), port)


def saved_text(trace: Trace, item: Saved) -> tuple[str, str]:
    """The name of a saved value, and the tensor with its value, or the text of anything else."""
    if item.tensor is None:
        return item.name, item.text
    tensor = trace.tensors[item.tensor]
    if tensor.value is None:
        return item.name, tensor.label
    value = numbers.number(tensor.value.data) if not tensor.value.shape else numbers.shape(tensor.value)
    return item.name, f"{clip(tensor.label, 18)} = {value}" if not tensor.value.shape else f"{tensor.label} {value}"


def function_edge(graph: Digraph, edge: FunctionEdge, options: Options, theme: Theme, *, several: bool) -> None:
    """From the input's function to the one that uses it, its arrow turned round to point along next_functions.

    The number on it is the place in next_functions, written where there are several.
    """
    attributes = {"dir": "back", "arrowtail": "normal", "labeldistance": "1.6"}
    if several:
        attributes["headlabel"] = f"<{font(str(edge.input_index), size=7, color=theme.faint)}>"
    if edge.output_nr:
        attributes["taillabel"] = f"<{font(f'output {edge.output_nr}', size=7, color=theme.faint)}>"
    graph.edge(f"f{edge.target}", f"f{edge.source}", **attributes)
