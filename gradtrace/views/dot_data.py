"""The data graph: tensors as nodes, operations as ovals on the edges between them, or (style `function`) as nodes
too.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING
from gradtrace.trace.operands import record_of
from gradtrace.trace.record import FAILED, Operation, TensorRecord, Trace, Value
from gradtrace.views import dot_extras, dot_groups, flow, numbers
from gradtrace.views.cells import visible, wrap
from gradtrace.views.labels import clip, escape_attribute, font, label, pair, text, wide
from gradtrace.views.model import GROUP, TENSOR, DrawnEdge, Model
from gradtrace.views.style import NAME_SIZE, SMALL_SIZE, TEXT_SIZE, Look, Theme

if TYPE_CHECKING:
    from graphviz import Digraph

    from gradtrace.views.dot import Canvas, DotOptions

LONGEST_CAPTION = 20  # characters of an operation with its constants that stand in a heading
LONGEST_FACTOR = 14  # characters of a name in a derivative
LONGEST_MESSAGE = 200  # characters of a failure's message that a node shows
# How a picture shows the Python operators that records name; the others are shown by their names.
SIGNS = {
    "+": "+",
    "-": "−",
    "*": "×",
    "/": "÷",
    "**": "^",
    "@": "@",
    "<": "<",
    "<=": "≤",
    ">": ">",
    ">=": "≥",
    "==": "=",
    "!=": "≠",
}


def sign_of(name: str) -> str | None:
    """Return the sign that stands for an operator in a picture ("+"); None if it has none."""
    record = record_of(name)
    return None if record is None else SIGNS.get(record.sign)


def is_ordered(name: str) -> bool:
    """Whether a picture shows which operand is the first."""
    record = record_of(name)
    return record is not None and record.commutative is False


def draw(board: Canvas, drawn: Model, options: DotOptions, flowed: dict[int, Value]) -> list[Look]:
    """Draw the whole data graph; return the looks in use, in the legend's order."""
    trace, theme = drawn.trace, board.theme
    bad, where = failed_in_backward(trace) or first_bad(trace)
    fills = dot_extras.fills(drawn, theme, flowed) if options.color_by == "grad-norm" else {}
    roles: dict[str, Look] = {}
    for node in drawn.nodes:
        graph = board.place(node.scope, node.key)
        fill = fills.get(node.key)
        if node.kind == TENSOR:
            tensor = trace.tensors[node.record]
            role = role_of(tensor)
            roles[role] = look = theme.looks[role].pointing(options.direction)
            maker = drawn.joined.get(tensor.id)
            made_by = "" if maker is None else caption(trace.operations[maker])
            lines = tensor_lines(tensor, options, theme, flowed.get(tensor.id), made_by)
            mark = where if tensor.id == bad else ""
            add_node(graph, node.key, lines, facts(tensor), look, theme, bad=mark, fill=fill)
            if options.accumulate and tensor.kind == "leaf" and tensor.function is not None:
                accumulate_node(graph, tensor, theme)
        elif node.kind == GROUP:
            roles.update(dot_groups.draw(graph, drawn, node, options, theme, flowed, fill))
        elif options.style == "function":
            roles["function"] = dot_groups.function_look(theme)
            dot_groups.function_node(graph, trace, trace.operations[node.record], options, theme, fill)
        else:
            operation_node(graph, trace.operations[node.record], theme)
    wires(board, drawn, options, theme)
    order = {**theme.looks, **theme.functions, "group": theme.group, "series": theme.series}
    return [roles.get(role, look) for role, look in order.items() if role in roles]


def role_of(tensor: TensorRecord) -> str:
    """Return the role that determines a tensor's look; "output" and "retained" take precedence over its kind."""
    if tensor.kind == FAILED:
        return FAILED
    if tensor.is_output and not tensor.is_leaf:
        return "output"
    if tensor.retains_grad and not tensor.is_leaf:
        return "retained"
    return tensor.kind


def failed_in_backward(trace: Trace) -> tuple[int, str] | None:
    """Return the tensor whose derivative failed, with a text; None if the program did not fail in backward."""
    failure = trace.failure
    if failure is None or failure.operation is None or failure.forward is None:
        return None
    made = trace.operations[failure.operation].outputs
    said = clip(visible(f"its backward failed: {failure.kind}: {failure.message}"), 60)
    return (made[0], said) if made else None


def first_bad(trace: Trace) -> tuple[int | None, str]:
    """Return the tensor with the first NaN or infinity, in a value, else in a gradient, with a text.

    Values are searched in the order of creation, gradients in the reverse order.
    """
    for tensor in trace.tensors:
        if _is_bad(tensor.value):
            return tensor.id, "first NaN or Inf" + (f", line {tensor.span.where}" if tensor.span else "")
    for tensor in reversed(trace.tensors):
        if _is_bad(tensor.grad):
            return tensor.id, "first NaN or Inf in a gradient"
    return None, ""


def _is_bad(value: Value | None) -> bool:
    return value is not None and value.is_float and not _finite(value)


def _finite(value: Value) -> bool:
    return value.all_finite


def tensor_lines(
    tensor: TensorRecord, options: DotOptions, theme: Theme, flowed: Value | None, made_by: str = ""
) -> list[str]:
    """Return the lines of a tensor's node; `made_by` is the operation that is shown in the same box."""
    if tensor.kind == FAILED:
        return failed_lines(tensor, theme)
    if made_by:
        lines = joined_heading(tensor, made_by, theme)
    else:
        lines = heading(tensor, theme, short=options.style == "function")
    if options.values and not says_itself(tensor):
        lines += quantity("value", tensor.value, "overwritten", theme.ink, theme.spark, theme)
    if options.gradients and (tensor.requires_grad or tensor.grad is not None):
        if tensor.grad is None and flowed is not None and options.style != "function":
            # it was there in passing: shown, but not as what .grad says
            ink, remark = (theme.gradient, theme.gradient_spark), " passed, not kept"
            lines += quantity("grad", flowed, "None", *ink, theme, after=remark)
        elif tensor.grad is not None or tensor.is_leaf or options.detail:
            lines += quantity("grad", tensor.grad, "None", theme.gradient, theme.gradient_spark, theme)
    return lines


def failed_lines(tensor: TensorRecord, theme: Theme) -> list[str]:
    """Return the lines of a failed operation's node: its text, line and message."""
    where = "" if tensor.span is None else f"line {tensor.span.where}"
    said = wrap(visible(clip(tensor.grad_note, LONGEST_MESSAGE)), 44)
    return [
        wide(font(text(clip(tensor.label)), size=NAME_SIZE, bold=True)),
        wide(font(text(where), size=SMALL_SIZE, color=theme.faint)),
        *(wide(font(text(line), size=TEXT_SIZE, color=theme.bad)) for line in said),
    ]


def add_node(
    graph: Digraph,
    key: str,
    lines: list[str],
    tooltip: list[str],
    look: Look,
    theme: Theme,
    *,
    bad: str = "",
    fill: str | None = None,
) -> None:
    """Add a node in a look, and mark it if it is the first one that holds a NaN or an infinity."""
    attributes = look.attributes()
    if fill is not None:
        attributes["fillcolor"] = fill
        lines = on_fill(lines, theme)
    if bad:
        attributes.update(color=theme.bad, penwidth="3")
        lines = [*lines, wide(font(text(bad), color=theme.bad, size=SMALL_SIZE, bold=True))]
    graph.node(key, label(lines), id=key, tooltip=escape_attribute(tooltip), **attributes)


def on_fill(lines: list[str], theme: Theme) -> list[str]:
    """Return the lines in a text colour that is readable on every colour of the scale."""
    soft = (theme.gradient, theme.gradient_spark, theme.spark, theme.faint)
    for color in soft:
        lines = [line.replace(f'COLOR="{color}"', f'COLOR="{theme.ink}"') for line in lines]
    return lines


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
    name = font(text(clip(tensor.label)), size=NAME_SIZE, bold=True)
    value = tensor.value
    if value is not None and value.shape:
        name += font("&#160; " + text(numbers.shape(value)), size=SMALL_SIZE, color=theme.faint)
    origin = [("" if short else tensor.grad_fn) or ("parameter" if tensor.is_parameter else "")]
    if value is not None and not value.is_float:
        origin.append(value.dtype)
    note = " ".join(filter(None, origin))
    return [wide(name), *([wide(font(text(note), size=SMALL_SIZE, color=theme.faint))] if note else [])]


def joined_heading(tensor: TensorRecord, made_by: str, theme: Theme) -> list[str]:
    """Return the heading of a box for operation and result: the operation, or the result's name with the operation
    below.
    """
    name, constants = (made_by, "") if len(made_by) <= LONGEST_CAPTION else made_by.partition(" ")[::2]
    below = "= " + made_by if tensor.name else constants
    title = font(text(clip(tensor.name or name)), size=NAME_SIZE, bold=True)
    if tensor.value is not None and tensor.value.shape:
        title += font("&#160; " + text(numbers.shape(tensor.value)), size=SMALL_SIZE, color=theme.faint)
    return [wide(title), *([wide(font(text(clip(below)), size=SMALL_SIZE, color=theme.faint))] if below else [])]


def quantity(
    title: str, value: Value | None, missing: str, color: str, spark: str, theme: Theme, after: str = ""
) -> list[str]:
    """Return rows for a value or a gradient: a number, a small list, or a sparkline over its range."""
    tag = font(f"{title}&#160;&#160;", size=SMALL_SIZE, color=theme.faint)
    if value is None:
        return [pair(tag, font(text(missing), size=SMALL_SIZE, color=theme.faint))]
    if not value.is_measured:
        return []  # its shape is all that is known
    written = written_out(value)
    if written is not None:
        remark = font(text(after), size=SMALL_SIZE, color=color)
        return [pair(tag, font(text(written), size=TEXT_SIZE, color=color) + remark)]
    line = font(numbers.sparkline(value), size=TEXT_SIZE, color=spark)
    below = font(text(extent(value)), size=SMALL_SIZE, color=color)
    return [pair(tag, line), pair("", below)] if line else [pair(tag, below)]


def written_out(value: Value) -> str | None:
    """Return a scalar or a small array as text; None if it is too large for a node."""
    if not value.shape:
        return numbers.number(value.data)
    if value.numel > numbers.SMALL or not value.is_whole:
        return None
    written = numbers.elements(value)
    return written if len(written) <= numbers.CELL else None


def extent(value: Value) -> str:
    """Return an array's range and its number of bad elements: "-2.4 … 1.3, 2 NaN"."""
    known = numbers.stats(value)
    parts = []
    if known.low is not None and known.high is not None:
        low, high = numbers.number(known.low, 3), numbers.number(known.high, 3)
        parts.append(f"all {low}" if known.low == known.high and not known.nan and not known.inf else f"{low} … {high}")
    parts += [f"{count} {name}" for count, name in ((known.nan, "NaN"), (known.inf, "Inf")) if count]
    return ", ".join(parts) or "empty"


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
    name = f"<{font('AccumulateGrad', size=SMALL_SIZE, color=theme.faint)}>"
    graph.node(
        node, name, id=node, tooltip=escape_attribute(f"adds to {tensor.label}.grad"), **theme.operation.attributes()
    )
    graph.edge(node, f"t{tensor.id}", style="dotted", dir="none")


def caption(operation: Operation) -> str:
    """Return the text in an operation's oval: a sign with its constant ("+ 1", "1 −"), or its label."""
    sign = sign_of(operation.name)
    if sign is None or len(operation.inputs) != 2:
        return operation.label
    left, right = (operand.text if operand.tensor is None else "" for operand in operation.inputs)
    return " ".join(part for part in (left, sign, right) if part)


def operation_node(graph: Digraph, operation: Operation, theme: Theme) -> None:
    node = f"o{operation.id}"
    lines = [operation.text or operation.label, f"{operation.label}, {operation.grad_fn or 'no grad_fn'}"]
    if operation.span is not None:
        lines.append(f"line {operation.span.where}")
    name = f"<{font(text(clip(caption(operation), 20)), size=TEXT_SIZE)}>"
    graph.node(node, name, id=node, tooltip=escape_attribute(lines), **theme.operation.attributes())


def wires(board: Canvas, drawn: Model, options: DotOptions, theme: Theme) -> None:
    """Draw an edge for every operand (repeated ones too) and to every result; dashed where no gradient flows."""
    graph = board.graph
    known = flow.derivatives(drawn.trace) if options.derivatives else {}
    for number, edge in enumerate(drawn.edges):
        attributes: dict[str, str] = {"id": f"e{number}"}
        if not edge.flows:
            attributes.update(color=theme.idle, style="dashed")
        if edge.operand is None or edge.operation is None:
            graph.edge(board.start(edge, number), edge.target, headport=options.ports[1], **attributes)
            continue
        attributes.update(operand_text(drawn, edge, known, theme))
        if edge.target.startswith("o") and options.style == "data":
            attributes["arrowhead"] = "none"
        graph.edge(board.start(edge, number), edge.target, tailport=options.ports[0], **attributes)


def operand_text(drawn: Model, edge: DrawnEdge, known: dict[tuple[int, int], Value], theme: Theme) -> dict[str, str]:
    """Return the text on an operand's edge: its local derivative, else its position if that matters."""
    trace = drawn.trace
    if edge.operation is None or edge.operand is None:
        return {}
    operation = trace.operations[edge.operation]
    value = known.get((edge.operation, edge.operand))
    if edge.transposed:
        return {"label": f"<{font('&#160;T', size=TEXT_SIZE, bold=True, color=theme.faint)}>"}
    if edge.times > 1:
        return {"label": f"<{font(f'&#160;×{edge.times}', size=SMALL_SIZE, color=theme.faint)}>"}
    if value is not None and not edge.target.startswith("g"):
        written = derivative_text(trace, operation, edge.operand, value)
        return {"label": f"<{font('&#160;' + text(written), size=SMALL_SIZE, color=theme.gradient)}>"}
    operands = [operand for operand in operation.inputs if operand.tensor is not None]
    if is_ordered(operation.name) and len(operands) == 2 and not edge.target.startswith("g"):
        side = "left" if edge.operand == 0 else "right"
        return {"headlabel": f"<{font(side, size=SMALL_SIZE, color=theme.faint)}>", "labeldistance": "1.6"}
    return {}


def derivative_text(trace: Trace, operation: Operation, position: int, value: Value) -> str:
    """Return "∂y/∂a = b = 2": the derivative by name if the names are short, then its number, or an array's range."""
    used = next(o.tensor for o in operation.inputs if o.position == position)
    names = [trace.tensors[t].label if t is not None else "" for t in (operation.outputs[0], used)]
    over, under = (in_parentheses(name) if len(name) <= LONGEST_FACTOR else "" for name in names)
    other = flow.factor(trace, operation, position)
    written = written_out(value)
    number = written if written is not None else extent(value)
    symbol = f"∂{over}/∂{under}" if over and under else "∂"
    return " = ".join([symbol, *([other] if 0 < len(other) <= LONGEST_FACTOR and other != number else []), number])


def in_parentheses(name: str) -> str:
    """Return a name as it is written after ∂: an expression gets parentheses."""
    plain = name.replace(".", "").replace("_", "")
    return name if plain.isalnum() else f"({name})"
