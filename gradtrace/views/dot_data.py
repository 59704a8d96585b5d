"""The data graph: tensors as nodes, operations as ovals on the edges between them, or (style
`function`) as nodes too.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING
from gradtrace.trace.record import FAILED, TensorRecord, Value
from gradtrace.views import boxes, dot_groups, flow, nodes, numbers
from gradtrace.views.cells import visible, wrap
from gradtrace.views.drawing import Box, Part, Wire
from gradtrace.views.labels import Line, Words, clip, wide
from gradtrace.views.model import GROUP, TENSOR, DrawnEdge, DrawnNode
from gradtrace.views.style import TEXT_SIZE, Theme

if TYPE_CHECKING:
    from gradtrace.views.dot import Canvas

STACK = 3  # flat boxes in one scope from which on their columns have the same widths
LONGEST_CAPTION = 20  # characters of an operation with its constants that stand in a heading
LONGEST_MESSAGE = 200  # characters of a failure's message that a node shows


def draw(board: Canvas) -> None:
    """Draw the whole data graph."""
    options = board.options
    trace = board.model.trace
    bad, where = nodes.failed_in_backward(trace) or nodes.first_bad(trace)
    flat_lines = flat_texts(board) if options.flat else {}
    for node in board.model.nodes:
        if node.kind == TENSOR:
            tensor = trace.tensors[node.record]
            lines = flat_lines.get(node.key) or tensor_lines(board, tensor, made_by(board, tensor))
            tooltip = [*facts(tensor), *map(numbers.hook_text, board.hooks.get(tensor.id, ()))]
            board.add_box(
                node, lines, tooltip, nodes.role_of(tensor), where if tensor.id == bad else ""
            )
            if options.accumulate and tensor.kind == "leaf" and tensor.function is not None:
                accumulate_node(board.place(node.scope, node.key), tensor, board.theme)
        elif node.kind == GROUP:
            dot_groups.draw(board, node, flat_lines.get(node.key, ()))
        elif options.style == "function":
            dot_groups.function_node(board, node)
        else:
            operation_node(board, node)
    wires(board)


def flat_texts(board: Canvas) -> dict[str, list[Line]]:
    """Return the text of each flat box; the boxes of operations and modules in one scope have
    columns of the same widths.
    """
    drawn = board.model
    options = board.options
    facts: dict[str, boxes.BoxFacts] = {}
    for node in drawn.nodes:
        if node.kind == GROUP:
            facts[node.key] = dot_groups.flat_line(board, drawn.groups[node.record])
        elif node.kind == TENSOR and drawn.trace.tensors[node.record].kind != FAILED:
            facts[node.key] = flat_line(board, drawn.trace.tensors[node.record])
    widths: dict[str, list[float]] = {}
    if options.flat == 1:
        stacks: dict[int | None, list[str]] = {}
        for node in drawn.nodes:
            tensor = drawn.trace.tensors[node.record] if node.kind == TENSOR else None
            # an output's text is centred in its arrow, which a column would make far too wide
            if node.kind == GROUP or (
                tensor is not None
                and tensor.id in drawn.joined
                and nodes.role_of(tensor) != "output"
            ):
                stacks.setdefault(node.scope, []).append(node.key)
        for keys in stacks.values():
            if len(keys) >= STACK:
                widths.update(
                    dict.fromkeys(keys, boxes.column_widths([facts[key] for key in keys]))
                )
    return {
        key: boxes.flat_lines(line, options.flat, widths.get(key, ()))
        for key, line in facts.items()
    }


def flat_line(board: Canvas, tensor: TensorRecord) -> boxes.BoxFacts:
    """Return the facts of a tensor: what `tensor_lines` shows, in short."""
    options = board.options
    caption = made_by(board, tensor)
    name, constants = in_two(board, tensor, caption, 0)
    if not caption:
        name = tensor.label
        kind = kind_of(tensor)
    elif tensor.name:
        name = tensor.name
        kind = "= " + caption
    else:
        kind = boxes.whole_words(constants)
    values = options.values and not says_itself(tensor)
    flowed = board.flowed.get(tensor.id) if options.style != "function" else None
    gradient = boxes.gradient_text(tensor, flowed, options.detail) if options.gradients else ""
    return boxes.box_facts(name, kind, tensor.value, gradient, board.theme, values=values)


def made_by(board: Canvas, tensor: TensorRecord) -> str:
    """Return the operation that is shown in a tensor's box; "" if it has a node of its own, or if
    there is none.
    """
    maker = board.model.joined.get(tensor.id)
    return (
        ""
        if maker is None
        else nodes.caption(board.model.trace, board.model.trace.operations[maker])
    )


def tensor_lines(board: Canvas, tensor: TensorRecord, made_by: str) -> list[Line]:
    """Return the lines of a tensor's node; `made_by` is the operation that is shown in the same
    box.
    """
    options = board.options
    theme = board.theme
    if tensor.kind == FAILED:
        return failed_lines(tensor, theme)
    if made_by:
        lines = joined_heading(board, tensor, made_by)
    else:
        lines = heading(tensor, theme, short=options.style == "function")
    if options.values and not says_itself(tensor):
        lines += boxes.quantity("value", tensor.value, theme, missing=tensor.missing)
    if options.gradients and (tensor.requires_grad or tensor.grad is not None):
        flowed = board.flowed.get(tensor.id)
        if tensor.grad is None and flowed is not None and options.style != "function":
            # it was there in passing: shown, but not as what .grad says
            lines += boxes.quantity(
                "grad", flowed, theme, gradient=True, after="\u00a0 passed, not kept"
            )
        elif tensor.grad is not None or tensor.is_leaf or options.detail:
            lines += boxes.quantity("grad", tensor.grad, theme, missing="None", gradient=True)
        lines += [
            boxes.note(clip(numbers.hook_text(hook)), theme)
            for hook in board.hooks.get(tensor.id, ())
        ]
    return lines


def failed_lines(tensor: TensorRecord, theme: Theme) -> list[Line]:
    """Return the lines of a failed operation's node: its text, line and message."""
    where = "" if tensor.span is None else tensor.span.where
    said = wrap(visible(clip(tensor.grad_note, LONGEST_MESSAGE)), 44)
    return [
        boxes.title(tensor.label, None, theme),
        boxes.note(where, theme),
        *(wide(Words(line, TEXT_SIZE, theme.bad)) for line in said),
    ]


def says_itself(tensor: TensorRecord) -> bool:
    """Whether a tensor's name is its value: the 2.0 of sqrt(2.0)."""
    if tensor.kind != "constant" or tensor.value is None or tensor.value.shape:
        return False
    try:
        return bool(float(tensor.label) == tensor.value.data)
    except ValueError:
        return False


def heading(tensor: TensorRecord, theme: Theme, short: bool = False) -> list[Line]:
    """Return the name with an array's shape, and below it the operation (unless `short`) or the
    kind of the tensor.
    """
    below = kind_of(tensor, short)
    return [
        boxes.title(tensor.label, tensor.value, theme),
        *([boxes.note(below, theme)] if below else []),
    ]


def kind_of(tensor: TensorRecord, short: bool = False) -> str:
    """Return the function that made a tensor (unless `short`) or "parameter", and the dtype of
    integers and bools.
    """
    value = tensor.value
    origin = [("" if short else tensor.grad_fn) or ("parameter" if tensor.is_parameter else "")]
    if value is not None and not value.is_float:
        origin.append(value.dtype)
    return " ".join(filter(None, origin))


def in_two(
    board: Canvas, tensor: TensorRecord, caption: str, longest: int = LONGEST_CAPTION
) -> tuple[str, str]:
    """Return the operation's name and its constants, where both are longer than `longest`."""
    maker = board.model.joined.get(tensor.id)
    named = maker is not None and caption == board.model.trace.operations[maker].label
    name, _, constants = (
        caption.partition(" ") if named and len(caption) > longest else (caption, "", "")
    )
    return name, constants


def joined_heading(board: Canvas, tensor: TensorRecord, made_by: str) -> list[Line]:
    """Return the heading of a box for operation and result: the operation, or the result's name
    with the operation below.
    """
    theme = board.theme
    name, constants = in_two(board, tensor, made_by)
    below = clip("= " + made_by if tensor.name else constants)
    return [
        boxes.title(tensor.name or name, tensor.value, theme),
        *([boxes.note(below, theme)] if below else []),
    ]


def facts(tensor: TensorRecord) -> list[str]:
    """Return all facts about a tensor, for its tooltip."""
    lines = [tensor.label if tensor.span is None else f"{tensor.label}  ({tensor.span.where})"]
    others = [name for name in tensor.names if name != tensor.label]
    lines += [f"also named {', '.join(others)}"] if others else []
    if tensor.value is not None:
        lines.append(f"shape {numbers.shape(tensor.value)}, {tensor.value.dtype}")
        lines.append(f"value {numbers.short(tensor.value)}")
    lines.append(
        f"is_leaf {tensor.is_leaf}, requires_grad {tensor.requires_grad}, grad_fn {tensor.grad_fn}"
    )
    if tensor.grad is not None:
        origin = f" ({tensor.grad_fn_of_grad})" if tensor.grad_fn_of_grad else ""
        lines.append(f"grad {numbers.short(tensor.grad)}{origin}")
    elif tensor.grad_note:
        lines.append(f"grad None: {tensor.grad_note}")
    return lines


def accumulate_node(part: Part, tensor: TensorRecord, theme: Theme) -> None:
    """Draw the leaf's AccumulateGrad as a separate node."""
    key = f"f{tensor.function}"
    name = Words("AccumulateGrad", color=theme.faint)
    tooltip = [f"adds to {tensor.label}.grad"]
    part.items.append(
        Box(key, theme.looks["operation"].attributes(), caption=[name], tooltip=tooltip)
    )
    part.items.append(Wire(key, f"t{tensor.id}", {"style": "dotted", "dir": "none"}))


def operation_node(board: Canvas, node: DrawnNode) -> None:
    trace = board.model.trace
    attributes = board.theme.looks["operation"].attributes()
    operation = trace.operations[node.record]
    tooltip = [
        operation.text or operation.label,
        f"{operation.label}, {operation.grad_fn or 'no grad_fn'}",
    ]
    tooltip += boxes.lines_of(operation.span)
    name = Words(clip(nodes.caption(trace, operation), 20), TEXT_SIZE)
    box = Box(node.key, attributes, caption=[name], tooltip=tooltip, row=board.row(node.key))
    board.place(node.scope, node.key).items.append(box)


def wires(board: Canvas) -> None:
    """Draw an edge for every operand (repeated ones too) and to every result; dashed where no
    gradient flows.
    """
    options = board.options
    items = board.drawing.items
    derivatives = flow.derivatives(board.model.trace) if options.derivatives else {}
    for number, edge in enumerate(board.model.edges):
        attributes: dict[str, str] = {"id": f"e{number}"}
        if not edge.flows:
            attributes.update(color=board.theme.idle, style="dashed")
        labels: dict[str, Words] = {}
        if edge.operand is None or edge.operation is None:
            attributes["headport"] = options.ports[1]
        else:
            labels = operand_text(board, edge, derivatives.get((edge.operation, edge.operand)))
            attributes["tailport"] = options.ports[0]
            if edge.target.startswith("o") and options.style == "data":
                attributes["arrowhead"] = "none"
        start = board.start(edge, number)  # which may add boxes
        items.append(Wire(start, edge.target, attributes, labels))


def operand_text(board: Canvas, edge: DrawnEdge, derivative: Value | None) -> dict[str, Words]:
    """Return the text on an operand's edge: its local derivative, the mark of a transpose, or how
    many it is.
    """
    trace = board.model.trace
    theme = board.theme
    if edge.operation is None or edge.operand is None:
        return {}
    if edge.transposed:
        return {"label": Words("\u00a0T", TEXT_SIZE, theme.faint, bold=True)}
    if edge.times > 1:
        return {"label": Words(f"\u00a0×{edge.times}", color=theme.faint)}
    if derivative is not None and not edge.target.startswith("g"):
        written = nodes.derivative_text(
            trace, trace.operations[edge.operation], edge.operand, derivative
        )
        return {"label": Words("\u00a0" + written, color=theme.gradient)}
    return {}
