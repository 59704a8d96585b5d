"""Find values that were copied without their history: into new tensors, Python numbers, numpy arrays, indices."""

from __future__ import annotations

from gradtrace.analysis import places
from gradtrace.analysis.cause import Cause
from gradtrace.analysis.facts import Facts
from gradtrace.analysis.rewrites import without_call
from gradtrace.analysis.terms import plain
from gradtrace.analysis.words import at_line
from gradtrace.annotations import Any
from gradtrace.lang import syntax as ast
from gradtrace.trace.record import TensorRecord

NUMBERS = {"item": "a Python number", "tolist": "Python numbers", "numpy": "a numpy array"}
WRAPPERS = ("tensor", "as_tensor", "FloatTensor", "Tensor", "Parameter")
LISTS = (ast.List, ast.Tuple, ast.ListComp)
KEEPS_GRAPH = "take the tensor itself; .clone() makes a copy that keeps its "


def copied(facts: Facts, record: TensorRecord, subject: str = "it") -> Cause | None:
    """Explain `torch.tensor(y)`, or numbers that were taken from tensors that require grad."""
    name = plain(record.name or record.label)
    if record.operation is not None or not name:
        return None
    taken = [e for e in facts.trace.escapes if e.span is not None and e.tensor is not None and e.how in NUMBERS]
    for statement in facts.text.assignments(name):
        line = statement.lineno
        lines = range(line, line + 1) if hasattr(statement, "body") else places.lines_of(statement)
        escape = next((e for e in taken if e.span.line in lines and facts.tensors[e.tensor].requires_grad), None)  # type: ignore[union-attr,index]
        source = argument_of_tensor(facts, statement) if escape is None else escape.tensor
        if source is None:
            continue
        head, name = places.head_of(statement), plain(facts.label(source))
        named = escape is not None and escape.text.rstrip("()").endswith(escape.how)
        how = f" by {escape.how}()" if escape is not None and named else ""
        return Cause(
            "copied",
            f"{subject} was made from the numbers of {name}{how}{at_line(head)}, a copy without history",
            [facts.at(f"a new leaf is made from the numbers of {name}", head)],
            (stacked(facts, statement) or f"compute with {name} itself, which keeps its graph",),
        )
    return None


def stacked(facts: Facts, statement: ast.stmt) -> str:
    """Return the advice to use torch.stack, with its code, for the torch.tensor([a, b]) of a statement; "" if it has no
    list.
    """
    call = places.method_call(statement, WRAPPERS)
    code = stack_of(facts, call.args[0]).replace(".item()", "") if call is not None and call.args else ""
    return f"{code} joins tensors and keeps the graph: their history" if code else ""


def stack_of(facts: Facts, node: object) -> str:
    if isinstance(node, ast.ListComp):
        return f"torch.stack({facts.text.cut(node)})"
    if not isinstance(node, (ast.List, ast.Tuple)):
        return ""
    return "torch.stack([" + ", ".join(stack_of(facts, item) or facts.text.cut(item) for item in node.elts) + "])"


def rewrapped(facts: Facts, reached: set[int]) -> Cause | None:
    """Explain `torch.tensor(y)` or `torch.tensor([a, b])`, which makes a new leaf of the numbers."""
    for statement in facts.text.simple:
        call = places.method_call(statement, WRAPPERS)
        if not any(facts.names.get(name) in reached for name in names_in(call)):
            continue
        head = places.head_of(statement)
        advice = KEEPS_GRAPH + "history"
        if call.args and isinstance(call.args[0], LISTS):
            advice = stacked(facts, statement) or "torch.stack([...]) joins tensors and keeps their history"
        return Cause(
            "copied",
            f"its value was copied into a new tensor{at_line(head)}, which has no history",
            [facts.at("a new leaf is made of the numbers alone", head)],
            (advice,),
        )
    return None


def names_in(node: ast.AST | None) -> list[str]:
    """Return the variables in a piece of text."""
    return [] if node is None else [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]


def left_as_number(facts: Facts, reached: set[int]) -> Cause | None:
    """Explain a value that became a Python number, an array, or an index."""
    escape = next(iter(facts.flow.numbers_from(reached)), None)
    if escape is None:
        return None
    where = at_line(escape.span)
    wrapped = facts.text.statement(escape.span)
    call = places.method_call(wrapped, WRAPPERS)
    if escape.how in ("item", "tolist") and call is not None and escape.text.startswith(facts.text.cut(call.func)):
        return Cause(
            "copied",
            f"its value was copied into a new tensor{where}, which has no history",
            [facts.at("a new leaf is made of the numbers alone: the graph ends here", escape.span)],
            (stacked(facts, wrapped) or KEEPS_GRAPH + "graph",),
        )
    if escape.how == "item" and ".item" not in escape.text and escape.text.endswith("]"):
        return Cause(
            "index",
            f"it only chooses which element is taken{where}, and an index has no derivative",
            [facts.at(f"{escape.text} takes whole numbers for the index", escape.span)],
            ("let it be a weight: (softmax(scores) * values).sum() instead of values[scores.argmax()]",),
        )
    what = NUMBERS[escape.how]
    called = escape.text.partition("(")[0] if escape.text.startswith(("float(", "int(", "bool(")) else f".{escape.how}"
    return Cause(
        escape.how,
        f"its value left the graph as {what}{where}",
        [facts.at(f"{called.lstrip('.')}() makes {what}, which has no history", escape.span)],
        (without_call(facts, escape.span, f"compute with the tensor itself, without {called}()"),),
    )


def argument_of_tensor(facts: Facts, statement: ast.stmt) -> int | None:
    """Return the tensor with history among the arguments of torch.tensor(...) in a statement."""
    variables = map(facts.variable, names_in(places.method_call(statement, WRAPPERS)))
    return next((t.id for t in variables if t is not None and t.requires_grad), None)


def statements_behind(facts: Facts, record: TensorRecord) -> set[Any]:
    """Return the statements that made a result, and the tensors that it was computed from."""
    found: set[Any] = set()
    for i in facts.flow.before([record.id]):
        t = facts.tensors[i]
        name = plain(t.name or t.label)
        bound = facts.text.assignments(name) if t.operation is None and name.isidentifier() else []
        # where a leaf was first seen may be any statement that reads it
        found.update(s for s in bound or (facts.text.statement(t.span),) if s is not None)
    return found


def statements_after(facts: Facts, statement: ast.stmt) -> set[Any]:
    """Return the statements that can read what a statement binds or appends to, also through others."""
    found, names = {statement}, bound_by(statement)
    grows = True
    while grows:
        more = [s for s in facts.text.simple if s not in found and not names.isdisjoint(names_in(s))]
        grows = bool(more)
        found.update(more)
        names = names.union(*map(bound_by, more))
    return found


def bound_by(statement: ast.stmt) -> set[str]:
    """Return the variables that a statement binds, or whose list it appends to."""
    call = places.method_call(statement, ("append", "extend", "add", "update", "insert"))
    owner = names_in(call.func.value) if call is not None and isinstance(call.func, ast.Attribute) else []
    kept = [n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return {*owner, *kept}


def numbers_before(facts: Facts, record: TensorRecord) -> Cause | None:
    """Explain a value with history that the program converted to Python numbers before, except to print them."""
    until = len(facts.operations) if record.operation is None else record.operation
    behind = statements_behind(facts, record)
    for escape in facts.trace.escapes:
        if escape.how not in NUMBERS or escape.tensor is None or escape.after > until:
            continue
        source = facts.tensors[escape.tensor]
        statement = facts.text.statement(escape.span)
        if not source.requires_grad or source.is_leaf or statement is None:
            continue
        text = facts.text.cut(statement)
        if text.startswith(("print", "if ", "while ", "assert")) or "print(" in text:
            continue
        if behind.isdisjoint(statements_after(facts, statement)):
            continue
        where, what = at_line(escape.span), NUMBERS[escape.how]
        return Cause(
            escape.how,
            f"{plain(source.label)} left the graph as {what}{where}, and the numbers have no history",
            [facts.at(f"{escape.how}() makes {what}", escape.span), facts.origin(record)],
            (
                without_call(facts, escape.span, f"keep the tensor itself{where}, without .{escape.how}()"),
                "torch.stack(list_of_tensors) in place of torch.tensor(list_of_numbers) keeps the graph",
            ),
        )
    return None
