"""The autograd graph: the backward graph's functions as PyTorch keeps them, and its next_functions.

Inputs are on the left, as in the data graph, so that the two can be compared. The arrows point from
right to left, the direction of `next_functions` and of the gradients.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING
from gradtrace.trace.record import BackwardStep, FunctionRecord, TensorRecord
from gradtrace.views import boxes, dot_groups, flow, nodes, numbers
from gradtrace.views.dot_data import facts as facts_of
from gradtrace.views.drawing import Wire
from gradtrace.views.labels import Line, Words, clip, wide
from gradtrace.views.model import GROUP, DrawnEdge
from gradtrace.views.style import NAME_SIZE

if TYPE_CHECKING:
    from gradtrace.views.dot import Canvas

LISTED = 6  # saved values written into a node; the tooltip has all


def draw(board: Canvas) -> None:
    """Draw the whole graph of functions."""
    drawn = board.model
    trace = drawn.trace
    roots = {trace.tensors[t].function for t in trace.roots}
    steps = flow.last_steps(trace)
    for node in drawn.nodes:
        if node.kind == GROUP:
            facts = (
                dot_groups.flat_line(board, drawn.groups[node.record])
                if board.options.flat
                else None
            )
            dot_groups.draw(board, node, () if facts is None else boxes.flat_lines(facts, 2))
            continue
        function = trace.functions[node.record]
        lines, tooltip = function_text(board, function, steps.get(function.id))
        board.add_box(node, lines, tooltip, nodes.function_role(function, roots))
    counts: dict[int | None, int] = {}
    for edge in drawn.edges:
        counts[edge.function] = counts.get(edge.function, 0) + 1
    for number, edge in enumerate(drawn.edges):
        step = steps.get(edge.function) if edge.function is not None else None
        function_edge(board, edge, number, step, several=counts[edge.function] > 1)


def function_text(
    board: Canvas, function: FunctionRecord, step: BackwardStep | None
) -> tuple[list[Line], list[str]]:
    """Return the lines in a function's node, and those of its tooltip."""
    options = board.options
    theme = board.theme
    changed = [
        numbers.hook_text(hook) for hook in (step.hooks if step is not None else ()) if hook.changed
    ]
    notes = (
        [boxes.note(clip(hook_line), theme) for hook_line in changed] if options.gradients else []
    )
    if function.variable is not None:
        shown, lines = variable_lines(board, board.model.trace.tensors[function.variable], function)
        return [*shown, *notes], [*lines, *changed]
    shown, lines = function_lines(board, function)
    if step is not None and options.gradients:
        for value in step.upstream:
            shown += boxes.quantity("upstream", value, theme, missing="none", gradient=True)
            lines.append(f"upstream {numbers.short(value) or 'none'}")
        for i, value in enumerate(step.local):
            if value is not None and options.derivatives:
                shown += boxes.quantity(f"local {i}", value, theme)
    return [*shown, *notes], [*lines, *changed]


def variable_lines(
    board: Canvas, leaf: TensorRecord, function: FunctionRecord
) -> tuple[list[Line], list[str]]:
    """Return the lines of an AccumulateGrad under the name of its leaf, with the gradient it has
    accumulated.
    """
    shown = [
        boxes.title(leaf.label, leaf.value, board.theme),
        boxes.note(function.name, board.theme),
    ]
    if board.options.gradients:
        shown += boxes.quantity("grad", leaf.grad, board.theme, missing="None", gradient=True)
    return shown, [f"{function.name} of {leaf.label}", *facts_of(leaf)]


def function_lines(board: Canvas, function: FunctionRecord) -> tuple[list[Line], list[str]]:
    """Return the function's name, its results, and what it saves for backward."""
    trace = board.model.trace
    options = board.options
    theme = board.theme
    shown = [wide(Words(function.name, NAME_SIZE - 1, bold=True))]
    outputs = ", ".join(trace.tensors[t].label for t in function.outputs)
    if outputs:
        shown.append(boxes.note("of " + clip(outputs), theme))
    saved = [nodes.saved_text(trace, item) for item in function.saved]
    if function.freed and options.detail:
        shown.append(boxes.note("saved values freed", theme))
    elif saved and options.values and not function.freed:
        shown += [
            boxes.saved_line(*item, theme, f"s{i}", 28) for i, item in enumerate(saved[:LISTED])
        ]
        if len(saved) > LISTED:
            shown.append(boxes.note(f"and {len(saved) - LISTED} more", theme))
    lines = [function.name, *([f"of {outputs}"] if outputs else []), *boxes.lines_of(function.span)]
    lines += (
        ["saved values freed"]
        if function.freed
        else [f"saved {name}: {kept}" for name, kept in saved]
    )
    return shown, lines


def function_edge(
    board: Canvas, edge: DrawnEdge, number: int, step: BackwardStep | None, *, several: bool
) -> None:
    """Draw an edge from the input's function to the one that uses it; its arrow points back, along
    next_functions.

    A number shows the index in next_functions if there are several; the label is the gradient that
    flows back.
    """
    theme = board.theme
    attributes = {"id": f"e{number}", "dir": "back", "arrowtail": "normal", "labeldistance": "1.6"}
    labels: dict[str, Words] = {}
    if edge.times > 1:
        labels["label"] = Words(f"\u00a0×{edge.times}", color=theme.faint)
    elif board.options.derivatives and step is not None and edge.place < len(step.downstream):
        sent = step.downstream[edge.place]
        if sent is not None:
            labels["label"] = Words(boxes.amount(sent), color=theme.gradient)
    if several and not labels:
        labels["headlabel"] = Words(str(edge.place), color=theme.faint)
    if edge.number:
        labels["taillabel"] = Words(str(edge.number), color=theme.faint)
    start = board.start(edge, number)  # which may add boxes
    board.drawing.items.append(Wire(start, edge.target, attributes, labels))
