"""Find values that were copied without their history: into new tensors, Python numbers, numpy arrays, indices."""

from __future__ import annotations

from gradtrace.analysis import places
from gradtrace.analysis.answer import Evidence, Facts
from gradtrace.analysis.causes.cause import plain
from gradtrace.annotations import NamedTuple
from gradtrace.lang import syntax as ast
from gradtrace.trace.record import TensorRecord

NUMBERS = {"item": "a Python number", "tolist": "Python numbers", "numpy": "a numpy array"}
WRAPPERS = ("tensor", "as_tensor", "FloatTensor", "Tensor", "Parameter")


class Reason(NamedTuple):
    """The reason why a tensor has no history: a code for the cause, a clause, evidence and advice."""

    cause: str
    because: str
    evidence: list[Evidence]
    advice: tuple[str, ...] = ()


def copied(facts: Facts, record: TensorRecord) -> Reason | None:
    """Explain `torch.tensor(y)`, or numbers that were taken from tensors that require grad."""
    name = plain(record.name or record.label)
    if record.operation is not None or not name:
        return None
    for statement in facts.text.assignments(name):
        head = places.head_of(statement)
        left = [
            e
            for e in facts.trace.escapes
            if e.span is not None
            and e.tensor is not None
            and e.how in NUMBERS
            and statement.lineno <= e.span.line <= (statement.end_lineno or 0)
            and facts.trace.tensors[e.tensor].requires_grad
        ]
        source = left[0].tensor if left else argument_of_tensor(facts, statement)
        if source is not None:
            name = plain(facts.label(source))
            how = f" by {left[0].how}()" if left and left[0].text.rstrip("()").endswith(left[0].how) else ""
            return Reason(
                "copied",
                f"it was made from the numbers of {name}{how}{facts.line(head)}, a copy without history",
                [facts.at(f"a new leaf is made from the numbers of {name}", head)],
                (stacked(facts, statement) or f"compute with {name} itself, which keeps its graph",),
            )
    return None


def stacked(facts: Facts, statement: ast.stmt) -> str:
    """Return the advice to use torch.stack, with its code, for the torch.tensor([a, b]) of a statement; "" if it has no
    list.
    """
    call = places.method_call(statement, WRAPPERS)
    node = call.args[0] if call is not None and call.args else None
    code = stack_of(facts, node)
    return f"{code} joins tensors and keeps the graph: their history" if code else ""


def stack_of(facts: Facts, node: object) -> str:
    if isinstance(node, ast.ListComp):
        return f"torch.stack({facts.text.cut(node)})"
    if not isinstance(node, (ast.List, ast.Tuple)):
        return ""
    return "torch.stack([" + ", ".join(stack_of(facts, item) or facts.text.cut(item) for item in node.elts) + "])"


def rewrapped(facts: Facts, reached: set[int]) -> Reason | None:
    """Explain `torch.tensor(y)` or `torch.tensor([a, b])`, which makes a new leaf of the numbers."""
    known = dict(facts.trace.names)
    for statement in facts.text.simple:
        call = places.method_call(statement, WRAPPERS)
        names = [n.id for n in ast.walk(call) if isinstance(n, ast.Name)] if call is not None else []
        if not any(known.get(name) in reached for name in names):
            continue
        head = places.head_of(statement)
        listed = bool(call.args) and isinstance(call.args[0], (ast.List, ast.Tuple, ast.ListComp))
        remedy = (
            stacked(facts, statement) or "torch.stack([...]) joins tensors and keeps their history"
            if listed
            else ("take the tensor itself; .clone() makes a copy that keeps its history")
        )
        return Reason(
            "copied",
            f"its value was copied into a new tensor{facts.line(head)}, which has no history",
            [facts.at("a new leaf is made of the numbers alone", head)],
            (remedy,),
        )
    return None


def left_as_number(facts: Facts, reached: set[int]) -> Reason | None:
    """Explain a value that became a Python number, an array, or an index."""
    left = facts.flow.numbers_from(reached)
    if not left:
        return None
    escape = left[0]
    where = facts.line(escape.span)
    wrapped = facts.text.statement(escape.span)
    call = places.method_call(wrapped, WRAPPERS)
    if escape.how in ("item", "tolist") and call is not None and escape.text.startswith(facts.text.cut(call.func)):
        remedy = stacked(facts, wrapped)
        return Reason(
            "copied",
            f"its value was copied into a new tensor{where}, which has no history",
            [facts.at("a new leaf is made of the numbers alone: the graph ends here", escape.span)],
            (remedy or "take the tensor itself; .clone() makes a copy that keeps its graph",),
        )
    if escape.how == "item" and ".item" not in escape.text and escape.text.endswith("]"):
        return Reason(
            "index",
            f"it only chooses which element is taken{where}, and an index has no derivative",
            [facts.at(f"{escape.text} takes whole numbers for the index", escape.span)],
            ("let it be a weight: (softmax(scores) * values).sum() instead of values[scores.argmax()]",),
        )
    what = NUMBERS[escape.how]
    called = escape.text.partition("(")[0] if escape.text.startswith(("float(", "int(", "bool(")) else f".{escape.how}"
    return Reason(
        escape.how,
        f"its value left the graph as {what}{where}",
        [facts.at(f"{called.lstrip('.')}() makes {what}, which has no history", escape.span)],
        (f"compute with the tensor itself, without {called}()",),
    )


def argument_of_tensor(facts: Facts, statement: ast.stmt) -> int | None:
    """Return the tensor with history among the arguments of torch.tensor(...) in a statement."""
    call = places.method_call(statement, WRAPPERS)
    known = dict(facts.trace.names)
    for node in ast.walk(call) if call is not None else ():
        if isinstance(node, ast.Name) and node.id in known and facts.trace.tensors[known[node.id]].requires_grad:
            return known[node.id]
    return None


def numbers_before(facts: Facts, record: TensorRecord) -> Reason | None:
    """Explain a value with history that the program converted to Python numbers before, except to print them."""
    until = len(facts.trace.operations) if record.operation is None else record.operation
    for escape in facts.trace.escapes:
        if escape.how not in NUMBERS or escape.tensor is None or escape.after > until:
            continue
        source = facts.trace.tensors[escape.tensor]
        statement = facts.text.statement(escape.span)
        if not source.requires_grad or source.is_leaf or statement is None:
            continue
        text = facts.text.cut(statement)
        if text.startswith(("print", "if ", "while ", "assert")) or "print(" in text:
            continue
        where, name = facts.line(escape.span), plain(source.label)
        return Reason(
            escape.how,
            f"{name} left the graph as {NUMBERS[escape.how]}{where}, and the numbers have no history",
            [facts.at(f"{escape.how}() makes {NUMBERS[escape.how]}", escape.span), facts.origin(record)],
            (
                f"keep the tensor itself{where}, without .{escape.how}()",
                "torch.stack(list_of_tensors) in place of torch.tensor(list_of_numbers) keeps the graph",
            ),
        )
    return None
