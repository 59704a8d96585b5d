"""Find values that were copied without their history: into new tensors, Python numbers, numpy
arrays, indices; and the numbers of tensors that a result was computed with.
"""

from __future__ import annotations

from gradtrace.analysis import places
from gradtrace.analysis.cause import Cause
from gradtrace.analysis.facts import Facts
from gradtrace.analysis.rewrites import expression, place, without_call
from gradtrace.analysis.terms import loads, plain, spans_of, stores
from gradtrace.annotations import Any, Iterable, Iterator, NamedTuple, Sequence
from gradtrace.program import syntax as ast
from gradtrace.trace.record import Escape, Operation, Span, TensorRecord

NUMBERS = {"item": "a Python number", "tolist": "Python numbers", "numpy": "a numpy array"}
WRAPPERS = ("tensor", "as_tensor", "FloatTensor", "Tensor", "Parameter")
LISTS = (ast.List, ast.Tuple, ast.ListComp)
KEEPS_GRAPH = "take the tensor itself; .clone() makes a copy that keeps its "


def copied(facts: Facts, record: TensorRecord, subject: str = "it") -> Cause | None:
    """Explain `torch.tensor(y)`, or numbers that were taken from tensors that require grad."""
    name = plain(record.name or record.label)
    if record.operation is not None or not name:
        return None
    for statement in facts.text.assignments(name):
        line = statement.lineno
        lines = range(line, line + 1) if hasattr(statement, "body") else places.lines_of(statement)
        escape = next(
            (
                e
                for e in facts.trace.escapes
                if e.how in NUMBERS
                and e.span is not None
                and e.span.line in lines
                and e.tensor is not None
                and facts.tensors[e.tensor].requires_grad
            ),
            None,
        )
        source = argument_of_tensor(facts, statement) if escape is None else escape.tensor
        if source is None:
            continue
        head = places.head_of(statement)
        name = plain(facts.label(source))
        named = escape is not None and escape.text.rstrip("()").endswith(escape.how)
        how = f" by {escape.how}()" if escape is not None and named else ""
        return Cause(
            "copied",
            f"{subject} was made from the numbers of {name}{how}{facts.at_line(head)}, a copy "
            "without history",
            [facts.at(f"a new leaf is made from the numbers of {name}", head)],
            (stacked(facts, statement) or f"compute with {name} itself, which keeps its graph",),
        )
    return None


def stacked(facts: Facts, statement: ast.stmt) -> str:
    """Return the advice to use torch.stack, with its code, for the torch.tensor([a, b]) of a
    statement; "" if it has no list.
    """
    call = places.method_call(statement, WRAPPERS)
    code = (
        stack_of(facts, call.args[0]).replace(".item()", "")
        if call is not None and call.args
        else ""
    )
    return f"{code} joins tensors and keeps the graph: their history" if code else ""


def stack_of(facts: Facts, node: object) -> str:
    if isinstance(node, ast.ListComp):
        return f"torch.stack({facts.text.cut(node)})"
    if not isinstance(node, (ast.List, ast.Tuple)):
        return ""
    return (
        "torch.stack(["
        + ", ".join(stack_of(facts, item) or facts.text.cut(item) for item in node.elts)
        + "])"
    )


def rewrapped(facts: Facts, reached: set[int], results: Sequence[int]) -> Cause | None:
    """Explain `torch.tensor(y)` or `torch.tensor([a, b])`, which makes a new leaf of the numbers
    that the results were computed from.
    """
    behind = set(map(facts.text.statement, spans_behind(facts, results)))
    for statement in facts.text.simple:
        call = places.method_call(statement, WRAPPERS)
        if not any(facts.names.get(name) in reached for name in names_in(call)):
            continue
        if behind.isdisjoint(statements_after(facts, statement)):
            continue
        head = places.head_of(statement)
        advice = KEEPS_GRAPH + "history"
        if call.args and isinstance(call.args[0], LISTS):
            advice = (
                stacked(facts, statement)
                or "torch.stack([...]) joins tensors and keeps their history"
            )
        return Cause(
            "copied",
            f"its value was copied into a new tensor{facts.at_line(head)}, which has no history",
            [facts.at("a new leaf is made of the numbers alone", head)],
            (advice,),
        )
    return None


def names_in(node: ast.AST | None) -> list[str]:
    """Return the variables in a piece of text."""
    return [] if node is None else [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]


def left_as_number(facts: Facts, reached: set[int], results: Sequence[int]) -> Cause | None:
    """Explain a value that became a Python number, an array, or an index, from which the results
    were computed.
    """
    escapes = list(facts.flow.numbers_from(reached))
    escape = next(used_in(facts, escapes, results), None)
    if escape is None and set(facts.stored) <= set(map(facts.flow.tensor, results)):
        # Backward reached nothing but its roots: these were made of numbers, by ways that the text
        # does not show.
        escape = next((e for e in escapes if not is_printed(facts, e)), None)
    if escape is None:
        return None
    where = facts.at_line(escape.span)
    wrapped = facts.text.statement(escape.span)
    call = places.method_call(wrapped, WRAPPERS)
    if (
        escape.how in ("item", "tolist")
        and call is not None
        and escape.text.startswith(facts.text.cut(call.func))
    ):
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
            (
                "let it be a weight: (softmax(scores) * values).sum() instead of "
                "values[scores.argmax()]",
            ),
        )
    number = NUMBERS[escape.how]
    called = (
        escape.text.partition("(")[0]
        if escape.text.startswith(("float(", "int(", "bool("))
        else f".{escape.how}"
    )
    return Cause(
        escape.how,
        f"its value left the graph as {number}{where}",
        [facts.at(f"{called.lstrip('.')}() makes {number}, which has no history", escape.span)],
        (without_call(facts, escape.span, f"compute with the tensor itself, without {called}()"),),
    )


def argument_of_tensor(facts: Facts, statement: ast.stmt) -> int | None:
    """Return the tensor with history among the arguments of torch.tensor(...) in a statement."""
    variables = map(facts.variable, names_in(places.method_call(statement, WRAPPERS)))
    return next((t.id for t in variables if t is not None and t.requires_grad), None)


# ---- numbers, followed through the program's text


def is_printed(facts: Facts, escape: Escape) -> bool:
    """Whether a number is only printed or compared."""
    statement = facts.text.statement(escape.span)
    text = "" if statement is None else facts.text.cut(statement)
    return text.startswith(("print", "if ", "while ", "assert")) or "print(" in text


def used_in(facts: Facts, escapes: Iterable[Escape], results: Sequence[int]) -> Iterator[Escape]:
    """Yield the places whose numbers can reach the results, unlike numbers that the program only
    prints or keeps.
    """
    behind = spans_behind(facts, results)
    statements = set(map(facts.text.statement, behind)) - {None}
    for escape in escapes:
        statement = facts.text.statement(escape.span)
        if statement is None:
            continue
        is_operand = any(places.encloses(span, escape.span) for span in behind)
        if is_operand or not statements.isdisjoint(
            statements_after(facts, statement) - {statement}
        ):
            yield escape


def spans_behind(facts: Facts, results: Sequence[int]) -> set[Span]:
    """Return the places of what some results were computed from: of operations and the calls around
    them, and of the statements that bind leaves.
    """
    spans: set[Span | None] = set()
    for i in facts.flow.before(results):
        t = facts.tensors[i]
        operation = facts.maker(i)
        if operation is not None:
            spans.update(spans_of(facts, operation))
            continue
        name = plain(t.name or t.label)
        bound = facts.text.assignments(name) if name.isidentifier() else []
        # where a leaf was first seen may be any statement that reads it
        spans.update(
            map(places.span_of, (s for s in bound if not hasattr(s, "body")))
            if bound
            else (t.span,)
        )
    return {span for span in spans if span is not None}


def statements_after(facts: Facts, statement: ast.stmt) -> set[Any]:
    """Return the statements that can read what a statement binds, appends or returns, also through
    others.
    """
    statements = {statement}
    names = bound_by(facts, statement)
    grows = True
    while grows:
        more = [
            s for s in facts.text.simple if s not in statements and not names.isdisjoint(read_by(s))
        ]
        grows = bool(more)
        statements.update(more)
        names = names.union(*(bound_by(facts, s) for s in more))
    return statements


def bound_by(facts: Facts, statement: ast.stmt) -> set[str]:
    """Return the variables and attributes that a statement binds, or whose container it changes,
    and the function from which it returns; of several values that are returned together, it is not
    known which one is used.
    """
    if hasattr(statement, "body"):
        return set(places.targets(statement))
    call = places.method_call(statement, ("append", "extend", "add", "update", "insert"))
    changed = [call.func.value] if call is not None and isinstance(call.func, ast.Attribute) else []
    changed += [
        n.value
        for n in ast.walk(statement)
        if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store)
    ]
    bound = stores(statement).union(*map(loads, changed)) - inner_names(statement)
    if isinstance(statement, ast.Return) and not isinstance(statement.value, (ast.Tuple, ast.Dict)):
        bound |= {
            function.name for function in places.around(facts.text.functions, statement.lineno)[-1:]
        }
    return bound


def read_by(statement: ast.stmt) -> set[str]:
    """Return the variables and attributes that a statement reads, and the functions and methods
    that it calls.
    """
    called = [n.func for n in ast.walk(statement) if isinstance(n, ast.Call)]
    names = {f.attr if isinstance(f, ast.Attribute) else getattr(f, "id", "") for f in called}
    return (loads(statement) | names) - inner_names(statement)


def inner_names(statement: ast.stmt) -> set[str]:
    """Return the variables of the comprehensions in a statement, which no other statement sees."""
    inner = [n.target for n in ast.walk(statement) if isinstance(n, ast.comprehension)]
    return set().union(*map(stores, inner))


def numbers_before(facts: Facts, record: TensorRecord) -> Cause | None:
    """Explain a value with history that the program converted to Python numbers before."""
    until = len(facts.operations) if record.operation is None else record.operation
    taken = [
        e
        for e in facts.trace.escapes
        if e.how in NUMBERS and e.tensor is not None and e.after <= until
    ]
    for escape in used_in(facts, taken, [record.id]):
        source = facts.tensors[escape.tensor]  # type: ignore[index]
        if not source.requires_grad or source.is_leaf:
            continue
        where = facts.at_line(escape.span)
        number = NUMBERS[escape.how]
        return Cause(
            escape.how,
            f"{plain(source.label)} left the graph as {number}{where}, and the numbers have no "
            "history",
            [facts.at(f"{escape.how}() makes {number}", escape.span), facts.origin(record)],
            (
                without_call(
                    facts, escape.span, f"keep the tensor itself{where}, without .{escape.how}()"
                ),
                "torch.stack(list_of_tensors) in place of torch.tensor(list_of_numbers) keeps the "
                "graph",
            ),
        )
    return None


# ---- numbers that a result was computed with


class LeftNumber(NamedTuple):
    """A tensor's value that became a number, and the operation that computes with it; `operand` is
    its text there.
    """

    escape: Escape
    tensor: int
    operation: Operation
    operand: Any


def left_numbers(facts: Facts) -> list[LeftNumber]:
    """Return the numbers of tensors that require grad which the roots of the last pass were
    computed with.
    """
    taken: dict[Any, tuple[Escape, int]] = {}
    for record in facts.trace.escapes:
        is_own = record.how in NUMBERS and record.span is not None and not record.span.file
        if is_own and record.tensor is not None and facts.tensors[record.tensor].requires_grad:
            taken[record.span] = record, record.tensor
    if not taken:
        return []
    into = facts.flow.before(facts.roots)
    operations = {
        o.span: o
        for o in facts.operations
        if o.constants and o.span and not into.isdisjoint(o.outputs)
    }
    numbers = [
        (operation, operand)
        for operation in operations.values()
        for operand in constants(facts, operation)
    ]
    return [
        LeftNumber(escape, tensor, operation, operand)
        for escape, tensor in taken.values()
        for operation, operand in numbers
        if operation.id >= escape.after and is_read(facts, escape, operand)
    ]


def constants(facts: Facts, operation: Operation) -> Iterator[Any]:
    """Yield the operands of an operation's text that no other operation made."""
    node = expression(facts, operation.span)
    operands = getattr(node, "args", ())
    if isinstance(node, ast.BinOp):
        operands = [node.left, node.right]
    elif isinstance(node, ast.Compare):
        operands = [node.left, *node.comparators]
    spans = {facts.tensors[i].span for i in operation.tensors}
    for operand in operands:
        if not any(span is not None and place(operand) == span[:4] for span in spans):
            yield operand


def is_read(facts: Facts, escape: Escape, operand: Any) -> bool:
    """Whether a piece of text has the number of an escape: its call, or a variable that was bound
    to it.
    """
    assert escape.span is not None
    parts = list(ast.walk(operand))
    if any(isinstance(n, ast.expr) and place(n) == escape.span[:4] for n in parts):
        return True
    statement = facts.text.statement(escape.span)
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return False
    name = statement.targets[0].id
    if facts.variable(name) is not None:  # it holds a tensor, not a number
        return False
    return len(facts.text.assignments(name)) == 1 and any(
        isinstance(n, ast.Name) and n.id == name for n in parts
    )
