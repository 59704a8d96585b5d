"""The facts about each node and edge of a model, as plain data: for JSON, GraphML, Mermaid, the
tree, the page.

A node has those of these facts that apply to it:

    id, kind        "t0"; "tensor", "operation", "function" or "group"
    role            of a tensor "leaf", "data", "constant", "nonleaf", "retained", "result",
                    "output", "failed"; of a function "function", "freed", "accumulate", "root"
    label           the variable, the source text, the operator with its constants, or the group's
                    name
    op, grad_fn, value, shape, dtype, grad, grad_note, requires_grad, is_leaf    as `eval` gives them
    flowed          the gradient that passed here, if it was not kept and the run was watched
    hooks           the hooks that changed the gradient: "hook clip: 1 → 10"
    value_text, grad_text    the value, and the gradient (kept or passed), in short
    line, text      the source line, and its text
    scope           the names of the open scopes around it, outermost first
    sign            what an operation's box says: "flatten", "+ 1"
    of, saved, freed    of a function: the results of its operation, what it saved, whether that is
                    freed
    operations, copies    of a group: the number of its operations, and of its equal blocks or
                          leaves
    grad_range      of a stack of leaves: the smallest and the largest element of their gradients

Arrays of more than LISTED elements are described in words: shape, range, mean.
"""

from __future__ import annotations

import re

from gradtrace.analysis.lasting import lasting
from gradtrace.analysis.model_summary import multiplications_of
from gradtrace.annotations import Any, Iterable, Sequence
from gradtrace.engine.data.dtypes import count as element_count
from gradtrace.lazy_names import word_pairs
from gradtrace.trace.operands import record_of
from gradtrace.trace.record import (
    FAILED,
    FunctionRecord,
    Operand,
    Operation,
    SavedRecord,
    Span,
    TensorRecord,
    Trace,
    Value,
)
from gradtrace.views import flow, numbers, stacks
from gradtrace.views.boxes import amount
from gradtrace.views.cells import visible
from gradtrace.views.fold import Group
from gradtrace.views.labels import clip
from gradtrace.views.model import FUNCTION, GROUP, TENSOR, DrawnEdge, DrawnNode, Model

LISTED = 64
NAMED = 5  # kinds of operations that a group names
LAYER = 4  # operations that the type of a layer says without being listed
# kinds of operations whose results have the elements of their operands
REARRANGING = ("view", "structural")
LONGEST_OPERAND = 12  # characters of an operand's name in a caption
LONGEST_FACTOR = 14  # characters of a name in a derivative
# How a picture shows the Python operators that records name; the others are shown by their names.
SIGNS = word_pairs("+ +  - −  * ×  / ÷  ** ^  @ @  < <  <= ≤  > >  >= ≥  == =  != ≠")


def facts_of(drawn: Model) -> list[dict[str, Any]]:
    """Return the facts of every node, in the model's order."""
    flowed = flow.gradients(drawn.trace)
    hooks = flow.hooks(drawn.trace)
    rows = [facts(drawn, node, flowed) for node in drawn.nodes]
    for node, own in zip(drawn.nodes, rows, strict=True):
        if node.kind == TENSOR and node.record in hooks:
            own["hooks"] = [numbers.hook_text(hook) for hook in hooks[node.record]]
    return rows


def facts(drawn: Model, node: DrawnNode, flowed: dict[int, Value]) -> dict[str, Any]:
    """Return one node's facts, without those that do not apply to it."""
    if node.kind == TENSOR:
        own = tensor_facts(drawn.trace.tensors[node.record], flowed.get(node.record))
    elif node.kind == GROUP:
        own = group_facts(drawn, node)
    elif node.kind == FUNCTION:
        own = function_facts(drawn, node)
    else:
        own = operation_facts(drawn, node)
    scope = scope_names(drawn, node.scope)
    fields = {"id": node.key, "kind": node.kind, **own, **({"scope": scope} if scope else {})}
    return {
        name: value
        for name, value in fields.items()
        if name == "label" or (value is not None and value != "")
    }


def tensor_facts(tensor: TensorRecord, flowed: Value | None) -> dict[str, Any]:
    value = tensor.value
    return {
        "role": role_of(tensor),
        "label": tensor.label,
        "op": tensor.op,
        "grad_fn": tensor.grad_fn,
        "value": contents(value),
        "shape": None if value is None else list(value.shape),
        "dtype": None if value is None else value.dtype,
        "requires_grad": tensor.requires_grad,
        "is_leaf": tensor.is_leaf,
        "grad": contents(tensor.grad),
        "grad_note": tensor.grad_note,
        "flowed": contents(flowed) if tensor.grad is None else None,
        "value_text": numbers.short(value),
        "grad_text": numbers.short(tensor.grad if tensor.grad is not None else flowed),
        "line": line_of(tensor.span),
    }


def operation_facts(drawn: Model, node: DrawnNode) -> dict[str, Any]:
    operation = drawn.trace.operations[node.record]
    return {
        "label": operation.label,
        "sign": caption(drawn.trace, operation),
        "op": operation.name,
        "grad_fn": operation.grad_fn,
        "line": line_of(operation.span),
        "text": operation.text,
    }


def function_facts(drawn: Model, node: DrawnNode) -> dict[str, Any]:
    trace = drawn.trace
    function = trace.functions[node.record]
    roots = {trace.tensors[t].function for t in trace.roots}
    leaf = None if function.variable is None else trace.tensors[function.variable]
    outputs = ", ".join(trace.tensors[t].label for t in function.outputs)
    return {
        "role": function_role(function, roots),
        "label": function.name if leaf is None else leaf.label,
        "grad_fn": function.name,
        "of": outputs,
        "saved": [": ".join(saved_text(trace, item)) for item in function.saved] or None,
        "freed": function.freed or None,
        "grad": None if leaf is None else contents(leaf.grad),
        "grad_text": None if leaf is None else numbers.short(leaf.grad),
        "line": line_of(function.span),
    }


def group_facts(drawn: Model, node: DrawnNode) -> dict[str, Any]:
    group = drawn.groups[node.record]
    lines = lines_in(drawn, group)
    return {
        "role": group_role(group),
        "label": group.name,
        "detail": group.detail,
        "operations": len(group.operations),
        "copies": group.copies,
        "text": "; ".join(summary(drawn, group)),
        "grad_range": list(stacks.ends_of(drawn.trace, group, True) or ()) or None,
        "line": min(lines, default=None),
    }


def contents(value: Value | None) -> Any:
    """Return a value as JSON can hold it; a large array in words."""
    return (
        numbers.jsonable(value) if value is None or value.numel <= LISTED else numbers.short(value)
    )


def line_of(span: Span | None) -> int | None:
    return None if span is None else span.line


def scope_names(drawn: Model, scope: int | None) -> list[str]:
    """Return the names of the open scopes around a node, outermost first."""
    names = [
        f"pass {record.turn}" if record.kind == "pass" else record.name
        for record in drawn.trace.scopes_around(scope)
    ]
    return names[::-1]


def edge_facts(
    drawn: Model, edge: DrawnEdge, values: dict[tuple[int, int], Value]
) -> dict[str, Any]:
    """Return an edge's facts: its ends, the operand or the index in next_functions, its local
    derivative if known.
    """
    fields: dict[str, Any] = {"source": edge.source, "target": edge.target, "flows": edge.flows}
    if edge.times > 1:
        return {**fields, "times": edge.times}
    if edge.function is not None:
        return {**fields, "place": edge.place, **({"output": edge.number} if edge.number else {})}
    if edge.operation is not None and edge.operand is not None:
        fields["operand"] = edge.operand
        value = values.get((edge.operation, edge.operand))
        if value is not None and not edge.target.startswith("g"):
            operation = drawn.trace.operations[edge.operation]
            fields["derivative"] = contents(value)
            fields["text"] = derivative_text(drawn.trace, operation, edge.operand, value)
    return fields


# ---- of tensors


def role_of(tensor: TensorRecord) -> str:
    """Return the role that determines a tensor's look; "output" and "retained" take precedence over
    its kind.
    """
    if tensor.kind == FAILED:
        return FAILED
    if tensor.is_output and not tensor.is_leaf:
        return "output"
    if tensor.retains_grad and not tensor.is_leaf:
        return "retained"
    return tensor.kind


def failed_in_backward(trace: Trace) -> tuple[int, str] | None:
    """Return the tensor whose derivative failed, with a text; None if the program did not fail in
    backward.
    """
    failure = trace.failure
    if failure is None or failure.operation is None or failure.forward is None:
        return None
    outputs = trace.operations[failure.operation].outputs
    said = clip(visible(f"its backward failed: {failure.kind}: {failure.message}"), 60)
    return (outputs[0], said) if outputs else None


def first_bad(trace: Trace) -> tuple[int | None, str]:
    """Return the tensor with the first NaN or infinity that matters, in a value, else in a
    gradient, with a text.

    Values are searched in the order of creation, gradients in the reverse order.
    """
    bad = lasting(trace) if any(is_bad(tensor.value) for tensor in trace.tensors) else ()
    for tensor in trace.tensors:
        if tensor.id in bad and is_bad(tensor.value):
            return tensor.id, "first NaN or Inf" + (f", {tensor.span.where}" if tensor.span else "")
    for tensor in reversed(trace.tensors):
        if is_bad(tensor.grad):
            return tensor.id, "first NaN or Inf in a gradient"
    return None, ""


def is_bad(value: Value | None) -> bool:
    return value is not None and value.is_float and not value.all_finite


# ---- of operations


def sign_of(name: str) -> str | None:
    """Return the sign that stands for an operator in a picture ("+"); None if it has none."""
    record = record_of(name)
    return None if record is None else SIGNS.get(record.sign)


def is_ordered(name: str) -> bool:
    """Whether a picture shows which operand is the first."""
    record = record_of(name)
    return record is not None and record.commutative is False


def caption(trace: Trace, operation: Operation) -> str:
    """Return the text in an operation's oval: a sign with its constant ("+ 1", "1 −"), its operands
    where their order matters ("a − b"), the program's own word ("flatten"), or its label.
    """
    sign = sign_of(operation.name)
    if sign is None or len(operation.inputs) != 2:
        return program_word(trace, operation) or operation.label
    left, right = (operand_name(trace, operation, operand) for operand in operation.inputs)
    return " ".join(part for part in (left, sign, right) if part)


def operand_name(trace: Trace, operation: Operation, operand: Operand) -> str:
    """Return the text of a constant; the name of a tensor only where the order of two tensors
    matters.
    """
    if operand.tensor is None:
        return operand.text
    if not is_ordered(operation.name) or len(operation.tensors) < 2:
        return ""
    label = trace.tensors[operand.tensor].label
    if len(label) <= LONGEST_OPERAND:
        return label
    maker = trace.tensors[operand.tensor].operation
    return (
        "…"
        if maker is None
        else program_word(trace, trace.operations[maker]) or trace.operations[maker].name
    )


def program_word(trace: Trace, operation: Operation) -> str:
    """Return what the program called an operation that only rearranges: "flatten" for a view,
    "out[:, -1]" for a select; "" for other operations, and for a step inside of a larger call.
    """
    record = record_of(operation.name)
    if (
        record is None
        or record.kind not in REARRANGING
        or not operation.text
        or not operation.outputs
    ):
        return ""
    label = trace.tensors[operation.outputs[0]].label
    inside = operation.scope is not None and trace.scopes[operation.scope].span == operation.span
    if inside or label.startswith(f"{operation.name} in "):
        return ""
    return clip(operation.text, 20) if operation.text.endswith("]") else called(operation.text)


def called(text: str) -> str:
    """Return the name of the function or attribute that an expression ends with: "flatten" of
    "f(x).flatten(1)".
    """
    depth = 0
    at = len(text)
    while at and text.endswith(")"):
        at -= 1
        depth += {")": 1, "(": -1}.get(text[at], 0)
        if not depth:
            break
    match = re.search(r"([^\W\d]\w*)$", text[:at])
    return match[1] if match is not None else ""


def derivative_text(trace: Trace, operation: Operation, position: int, value: Value) -> str:
    """Return "∂y/∂a = b = 2": the derivative by name if the names are short, then its number, or an
    array's range.
    """
    used = next(o.tensor for o in operation.inputs if o.position == position)
    names = [trace.tensors[t].label if t is not None else "" for t in (operation.outputs[0], used)]
    over, under = (in_parentheses(name) if len(name) <= LONGEST_FACTOR else "" for name in names)
    factor = flow.factor(trace, operation, position)
    number = amount(value)
    symbol = f"∂{over}/∂{under}" if over and under else "∂"
    return " = ".join(
        [
            symbol,
            *([factor] if 0 < len(factor) <= LONGEST_FACTOR and factor != number else []),
            number,
        ]
    )


def in_parentheses(name: str) -> str:
    """Return a name as it is written after ∂: an expression gets parentheses."""
    plain = name.replace(".", "").replace("_", "")
    return name if plain.isalnum() else f"({name})"


# ---- of functions


def function_role(function: FunctionRecord, roots: set[int | None]) -> str:
    """Return the role that determines a function's look."""
    if function.variable is not None:
        return "accumulate"
    if function.id in roots:
        return "root"
    return "freed" if function.freed else "function"


def saved_text(trace: Trace, item: SavedRecord) -> tuple[str, str]:
    """Return the name of a saved value, and its text: a tensor with its value, or anything else as
    text.
    """
    if item.tensor is None:
        return item.name, item.text
    tensor = trace.tensors[item.tensor]
    if tensor.value is None:
        return item.name, tensor.label
    value = (
        numbers.number(tensor.value.data) if not tensor.value.shape else numbers.shape(tensor.value)
    )
    return (
        item.name,
        f"{clip(tensor.label, 18)} = {value}"
        if not tensor.value.shape
        else f"{tensor.label} {value}",
    )


# ---- of groups


def name_inside(drawn: Model, group: Group) -> str:
    """Return a group's name as its open scope calls it: "fc1" for "net.fc1" in the frame of
    "net".
    """
    outer = "" if group.scope is None else drawn.trace.scopes[group.scope].name + "."
    inner = group.name.removeprefix(outer)
    return inner if inner.isidentifier() else group.name


def summary(drawn: Model, group: Group) -> list[str]:
    """Describe a group: its kind, its operations, and how many are hidden in it."""
    if group.leaves:
        return [stacks.text_of(drawn.trace, group)]
    kinds: dict[str, int] = {}
    for index in group.operations:
        name = drawn.trace.operations[index].name
        if not is_plumbing(name):
            kinds[name] = kinds.get(name, 0) + 1
    many = len(group.operations)
    blocks = {"loop": "loop", "pass": "passes", "module": "blocks", "function": "calls"}.get(
        group.kind, "times"
    )
    copies = f"{group.copies:,} {blocks} of {many // group.copies}: " if group.copies > 1 else ""
    # of a pass it is the loop, which stands around it
    detail = group.detail if group.kind != "pass" else ""
    owns = counts(drawn.trace, hidden_parameters(drawn, group), group.operations)
    if group.kind == "module" and group.copies == 1 and detail and many <= LAYER:
        return list(filter(None, [detail, owns]))
    lines = [
        " · ".join(filter(None, [detail, f"{copies}{many:,} operation{'s' if many > 1 else ''}"]))
    ]
    if group.kind != "chain" or (group.copies == 1 and len(kinds) > 1):
        named = ", ".join(
            name if n == 1 else f"{name} ×{n:,}" for name, n in list(kinds.items())[:NAMED]
        )
        lines.append(named + (", …" if len(kinds) > NAMED else ""))
    return [*lines, *filter(None, [owns])]


def counts(trace: Trace, parameters: Sequence[int], operations: Iterable[int]) -> str:
    """Return how many elements parameters have, and the multiply-accumulates of operations:
    "8,650 parameters · 69.1 k multiply-adds"; "" without parameters.
    """
    if not parameters:
        return ""
    records = [trace.tensors[t] for t in parameters]
    size = sum(element_count(t.shape) for t in records)
    frozen = size - sum(element_count(t.shape) for t in records if t.requires_grad)
    text = f"{size:,} parameters"
    if frozen:
        text += " (frozen)" if frozen == size else f" ({frozen:,} frozen)"
    multiplications = sum(multiplications_of(trace, trace.operations[i]) for i in operations)
    return f"{text} · {numbers.count(multiplications)} multiply-adds" if multiplications else text


def is_plumbing(name: str) -> bool:
    """Whether an operation only rearranges; a list of what a group computes leaves these out."""
    record = record_of(name)
    return record is not None and (record.kind in REARRANGING or record.identity != "")


def hidden_parameters(drawn: Model, group: Group) -> list[int]:
    """Return the parameters that only this group uses, and that are therefore not drawn: of each
    its last version.
    """
    used = {t for i in group.operations for t in drawn.trace.operations[i].tensors}
    own = [drawn.trace.tensors[t] for t in sorted(used - drawn.outside)]
    return list({t.first: t.id for t in own if t.is_parameter}.values())


def details(drawn: Model, group: Group) -> list[str]:
    """Return a group's tooltip."""
    lines = [group.name, *summary(drawn, group)]
    spans = lines_in(drawn, group)
    if spans:
        lines.append(
            f"line {min(spans)}"
            if min(spans) == max(spans)
            else f"lines {min(spans)} to {max(spans)}"
        )
    return lines


def group_role(group: Group) -> str:
    if group.leaves:
        return "leaves"
    return "series" if group.copies > 1 else "group"


def lines_in(drawn: Model, group: Group) -> list[int]:
    return [
        span.line for i in group.operations if (span := drawn.trace.operations[i].span) is not None
    ]
