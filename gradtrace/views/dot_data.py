"""The data graph: tensors as nodes, operations as ovals on the edges between them, or (style `function`) as nodes
too.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING
from gradtrace.trace.record import FAILED, Operation, TensorRecord, Value
from gradtrace.views import boxes, dot_groups, flow, nodes, numbers
from gradtrace.views.cells import visible, wrap
from gradtrace.views.labels import clip, escape_attribute, font, text, wide
from gradtrace.views.model import GROUP, TENSOR, DrawnEdge
from gradtrace.views.style import TEXT_SIZE, Look, Theme

if TYPE_CHECKING:
    from graphviz import Digraph

    from gradtrace.views.dot import Canvas

LONGEST_CAPTION = 20  # characters of an operation with its constants that stand in a heading
LONGEST_MESSAGE = 200  # characters of a failure's message that a node shows


def draw(board: Canvas) -> dict[str, Look]:
    """Draw the whole data graph; return the looks in use, by role."""
    drawn, options, theme = board.model, board.options, board.theme
    trace = drawn.trace
    bad, where = nodes.failed_in_backward(trace) or nodes.first_bad(trace)
    used: dict[str, Look] = {}
    for node in drawn.nodes:
        graph, fill = board.place(node.scope, node.key), board.fills.get(node.key)
        if node.kind == TENSOR:
            tensor = trace.tensors[node.record]
            role = nodes.role_of(tensor)
            used[role] = look = theme.looks[role].pointing(options.direction)
            maker = drawn.joined.get(tensor.id)
            made_by = "" if maker is None else nodes.caption(trace.operations[maker])
            lines = tensor_lines(board, tensor, made_by)
            mark = where if tensor.id == bad else ""
            boxes.add_node(graph, node.key, lines, facts(tensor), look, theme, bad=mark, fill=fill)
            if options.accumulate and tensor.kind == "leaf" and tensor.function is not None:
                accumulate_node(graph, tensor, theme)
        elif node.kind == GROUP:
            used.update(dot_groups.draw(graph, board, node, fill))
        elif options.style == "function":
            used["function"] = dot_groups.function_look(theme)
            dot_groups.function_node(graph, board, trace.operations[node.record], fill)
        else:
            operation_node(graph, trace.operations[node.record], theme)
    wires(board)
    return used


def tensor_lines(board: Canvas, tensor: TensorRecord, made_by: str) -> list[str]:
    """Return the lines of a tensor's node; `made_by` is the operation that is shown in the same box."""
    options, theme = board.options, board.theme
    if tensor.kind == FAILED:
        return failed_lines(tensor, theme)
    if made_by:
        lines = joined_heading(tensor, made_by, theme)
    else:
        lines = heading(tensor, theme, short=options.style == "function")
    if options.values and not says_itself(tensor):
        lines += boxes.quantity("value", tensor.value, theme, missing="overwritten")
    if options.gradients and (tensor.requires_grad or tensor.grad is not None):
        flowed = board.flowed.get(tensor.id)
        if tensor.grad is None and flowed is not None and options.style != "function":
            # it was there in passing: shown, but not as what .grad says
            lines += boxes.quantity("grad", flowed, theme, gradient=True, after=" passed, not kept")
        elif tensor.grad is not None or tensor.is_leaf or options.detail:
            lines += boxes.quantity("grad", tensor.grad, theme, missing="None", gradient=True)
    return lines


def failed_lines(tensor: TensorRecord, theme: Theme) -> list[str]:
    """Return the lines of a failed operation's node: its text, line and message."""
    where = "" if tensor.span is None else f"line {tensor.span.where}"
    said = wrap(visible(clip(tensor.grad_note, LONGEST_MESSAGE)), 44)
    return [
        boxes.title(tensor.label, None, theme),
        boxes.note(where, theme),
        *(wide(font(text(line), size=TEXT_SIZE, color=theme.bad)) for line in said),
    ]


def says_itself(tensor: TensorRecord) -> bool:
    """Whether a tensor's name is its value: the 2.0 of sqrt(2.0)."""
    if tensor.kind != "constant" or tensor.value is None or tensor.value.shape:
        return False
    try:
        return bool(float(tensor.label) == tensor.value.data)
    except ValueError:
        return False


def heading(tensor: TensorRecord, theme: Theme, short: bool = False) -> list[str]:
    """Return the name with an array's shape, and below it the operation (unless `short`) or the kind of the tensor."""
    value = tensor.value
    origin = [("" if short else tensor.grad_fn) or ("parameter" if tensor.is_parameter else "")]
    if value is not None and not value.is_float:
        origin.append(value.dtype)
    below = " ".join(filter(None, origin))
    return [boxes.title(tensor.label, value, theme), *([boxes.note(below, theme)] if below else [])]


def joined_heading(tensor: TensorRecord, made_by: str, theme: Theme) -> list[str]:
    """Return the heading of a box for operation and result: the operation, or the result's name with the operation
    below.
    """
    name, constants = (made_by, "") if len(made_by) <= LONGEST_CAPTION else made_by.partition(" ")[::2]
    below = clip("= " + made_by if tensor.name else constants)
    return [boxes.title(tensor.name or name, tensor.value, theme), *([boxes.note(below, theme)] if below else [])]


def facts(tensor: TensorRecord) -> list[str]:
    """Return all facts about a tensor, for its tooltip."""
    lines = [tensor.label if tensor.span is None else f"{tensor.label}  (line {tensor.span.where})"]
    others = [name for name in tensor.names if name != tensor.label]
    lines += [f"also named {', '.join(others)}"] if others else []
    if tensor.value is not None:
        lines.append(f"shape {numbers.shape(tensor.value)}, {tensor.value.dtype}")
        lines.append(f"value {numbers.short(tensor.value)}")
    lines.append(f"is_leaf {tensor.is_leaf}, requires_grad {tensor.requires_grad}, grad_fn {tensor.grad_fn}")
    if tensor.grad is not None:
        made = f" ({tensor.grad_fn_of_grad})" if tensor.grad_fn_of_grad else ""
        lines.append(f"grad {numbers.short(tensor.grad)}{made}")
    elif tensor.grad_note:
        lines.append(f"grad None: {tensor.grad_note}")
    return lines


def accumulate_node(graph: Digraph, tensor: TensorRecord, theme: Theme) -> None:
    """Draw the leaf's AccumulateGrad as a separate node."""
    node = f"f{tensor.function}"
    name = boxes.edge_label("AccumulateGrad", theme.faint)
    graph.node(
        node, name, id=node, tooltip=escape_attribute(f"adds to {tensor.label}.grad"), **theme.operation.attributes()
    )
    graph.edge(node, f"t{tensor.id}", style="dotted", dir="none")


def operation_node(graph: Digraph, operation: Operation, theme: Theme) -> None:
    node = f"o{operation.id}"
    lines = [operation.text or operation.label, f"{operation.label}, {operation.grad_fn or 'no grad_fn'}"]
    lines += boxes.lines_of(operation.span)
    name = f"<{font(text(clip(nodes.caption(operation), 20)), size=TEXT_SIZE)}>"
    graph.node(node, name, id=node, tooltip=escape_attribute(lines), **theme.operation.attributes())


def wires(board: Canvas) -> None:
    """Draw an edge for every operand (repeated ones too) and to every result; dashed where no gradient flows."""
    graph, options = board.graph, board.options
    known = flow.derivatives(board.model.trace) if options.derivatives else {}
    for number, edge in enumerate(board.model.edges):
        attributes: dict[str, str] = {"id": f"e{number}"}
        if not edge.flows:
            attributes.update(color=board.theme.idle, style="dashed")
        if edge.operand is None or edge.operation is None:
            graph.edge(board.start(edge, number), edge.target, headport=options.ports[1], **attributes)
            continue
        attributes.update(operand_text(board, edge, known.get((edge.operation, edge.operand))))
        if edge.target.startswith("o") and options.style == "data":
            attributes["arrowhead"] = "none"
        graph.edge(board.start(edge, number), edge.target, tailport=options.ports[0], **attributes)


def operand_text(board: Canvas, edge: DrawnEdge, derivative: Value | None) -> dict[str, str]:
    """Return the text on an operand's edge: its local derivative, else its position if that matters."""
    trace, theme = board.model.trace, board.theme
    if edge.operation is None or edge.operand is None:
        return {}
    operation = trace.operations[edge.operation]
    if edge.transposed:
        return {"label": f"<{font('&#160;T', size=TEXT_SIZE, bold=True, color=theme.faint)}>"}
    if edge.times > 1:
        return {"label": boxes.edge_label(f"&#160;×{edge.times}", theme.faint)}
    if derivative is not None and not edge.target.startswith("g"):
        written = nodes.derivative_text(trace, operation, edge.operand, derivative)
        return {"label": boxes.edge_label("&#160;" + text(written), theme.gradient)}
    operands = [operand for operand in operation.inputs if operand.tensor is not None]
    if nodes.is_ordered(operation.name) and len(operands) == 2 and not edge.target.startswith("g"):
        side = "left" if edge.operand == 0 else "right"
        return {"headlabel": boxes.edge_label(side, theme.faint), "labeldistance": "1.6"}
    return {}
