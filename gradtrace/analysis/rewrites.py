"""Advice as changes of the program's text: an expression in place of another one, a new line, an
argument more.
"""

from __future__ import annotations

from gradtrace.analysis.cause import Fix
from gradtrace.analysis.facts import Facts
from gradtrace.analysis.terms import enclosed
from gradtrace.annotations import Any, Iterable
from gradtrace.program import syntax as ast
from gradtrace.trace.record import Span


def expression(facts: Facts, span: Span | None) -> Any:
    """Return the expression whose text is this span of the main file; None if there is not one."""
    statement = facts.text.statement(span)
    nodes = ast.walk(statement) if statement is not None and span is not None else ()
    return next((n for n in nodes if isinstance(n, ast.expr) and place(n) == span[:4]), None)  # type: ignore[index]


def place(node: Any) -> tuple[int, int, int, int]:
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


def span_of(node: Any) -> Span:
    return Span(*place(node))


def arguments(facts: Facts, node: Any) -> list[str]:
    """Return the texts of an expression's operands, in parentheses where they have operators."""
    return [enclosed(facts.text.cut(operand)) for operand in operands(facts, node)]


def operands(facts: Facts, node: Any) -> list[Any]:
    """Return an expression's operands: of a method, first what it is called on."""
    if isinstance(node, ast.Attribute):
        return [node.value]
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if not isinstance(node, ast.Call):
        return []
    on = node.func.value if isinstance(node.func, ast.Attribute) else None
    return [*([] if on is None or facts.text.cut(on) in modules(facts) else [on]), *node.args]


def modules(facts: Facts) -> set[str]:
    """Return the names by which the program calls modules: "torch", "F", "torch.special".

    Also the usual ones that it does not bind by an assignment: another module can have given them.
    """
    imports = (s for s in facts.text.statements if isinstance(s, (ast.Import, ast.ImportFrom)))
    names = {
        alias.asname or alias.name.partition(".")[0]
        for statement in imports
        for alias in statement.names
    }
    names |= {name for name in ("torch", "F") if not facts.text.assignments(name)}
    return names | {
        f"{name}.{part}"
        for name in names
        for part in ("special", "nn.functional", "linalg", "functional")
    }


def instead(facts: Facts, span: Span | None, template: str, about: str = "") -> Fix | None:
    """Return the advice to write another expression at a span: {0} and {1} of the template are the
    operands of the present one. None if the text has no such expression.
    """
    node = expression(facts, span)
    try:
        new = template.format(*arguments(facts, node))
        ast.parse(new)
    except (IndexError, KeyError, ValueError, SyntaxError):
        return None
    return (
        None if node is None else Fix(f"{about}{new}{facts.at_line(span)}", [(span_of(node), new)])
    )


def without_call(facts: Facts, span: Span | None, text: str) -> str:
    """Return an advice to leave out a call and keep its operand; it can be tried if the call is in
    the text.
    """
    fix = instead(facts, span, "{0}")
    return text if fix is None else Fix(text, fix.edits)


def with_argument(facts: Facts, call: Any, argument: str, text: str) -> str:
    """Return an advice to give a call an argument, also in place of another value; it can be tried
    if there is a call, and is "" if the call has it already.
    """
    if not isinstance(call, ast.Call):
        return text
    name, _, new = argument.partition("=")
    for value in (word.value for word in call.keywords if word.arg == name):
        return "" if facts.text.cut(value) == new else Fix(text, [(span_of(value), new)])
    code = facts.text.cut(call)
    comma = ", " if call.args or call.keywords else ""
    return Fix(text, [(span_of(call), f"{code[:-1].rstrip().removesuffix(',')}{comma}{argument})")])


def with_statement(statement: Any, code: str, text: str) -> str:
    """Return an advice to write another statement, which can be tried if there is one to
    replace.
    """
    return text if statement is None else Fix(text, [(span_of(statement), code)])


def with_line_after(facts: Facts, statement: Any, code: str, text: str) -> str:
    """Return an advice to add a line after a simple statement; without a statement at the program's
    end.
    """
    if statement is None:
        last = len(facts.text.lines)
        column = len(facts.text.bytes[-1])
        return Fix(text, [(Span(last, column, last, column), f"\n{code}\n")])
    end = Span(
        statement.end_lineno,
        statement.end_col_offset,
        statement.end_lineno,
        statement.end_col_offset,
    )
    before = facts.text.lines[statement.lineno - 1][: statement.col_offset]
    alone = not hasattr(statement, "body") and not before.strip()
    return Fix(text, [(end, f"\n{' ' * statement.col_offset}{code}")]) if alone else text


def made_with_grad(facts: Facts, name: str, text: str) -> str:
    """Return an advice to make a variable's tensor with requires_grad=True."""
    bound = facts.text.assignments(name) if name.isidentifier() else []
    call = bound[0].value if len(bound) == 1 and isinstance(bound[0], ast.Assign) else None
    return with_argument(facts, call, "requires_grad=True", text)


def edited(text: str, edits: Iterable[tuple[Span, str]]) -> str:
    """Return a program's text with some of its spans replaced."""
    lines = [line.encode("utf-8", "surrogatepass") for line in text.split("\n")]
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    data = b"\n".join(lines)
    for span, new in sorted(edits, reverse=True):
        begin = starts[span.line - 1] + span.column
        end = starts[span.end_line - 1] + span.end_column
        data = data[:begin] + new.encode("utf-8", "surrogatepass") + data[end:]
    return data.decode("utf-8", "surrogatepass")
