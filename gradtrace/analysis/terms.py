"""Names, places and values of a trace, in the terms of an explanation."""

from __future__ import annotations

from gradtrace.analysis import places
from gradtrace.analysis.facts import Facts, parsed
from gradtrace.annotations import Any
from gradtrace.engine.operators.tables import function_table
from gradtrace.program import syntax as ast
from gradtrace.trace.labels import dotted
from gradtrace.trace.operands import record_of
from gradtrace.trace.record import (
    GroupRecord,
    Operation,
    OptimiserRecord,
    ScopeRecord,
    Span,
    TensorRecord,
    Trace,
    Value,
)

DROPOUTS = function_table(
    "analysis.terms.DROPOUTS",
    ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"),
)

# ---- names and places


def plain(label: str) -> str:
    """Return a label without the number of its iteration or version: "model(x) #5" is
    "model(x)".
    """
    return without(without(label, " #", ""), " (version ", ")").removesuffix("...").strip()


def without(label: str, mark: str, end: str) -> str:
    """Return a label without suffixes that consist of a mark, a number and an end text, such as "
    #5". (This module is loaded for scalars, and `re` is not.)
    """
    first, *rest = label.split(mark)
    for part in rest:
        left = part.lstrip("0123456789")
        first += left.removeprefix(end) if left != part and left.startswith(end) else mark + part
    return first


def named(facts: Facts, tensor: int) -> str:
    """Return a tensor's name: its variable (also a local variable of a function), else the text
    that made it.
    """
    label = plain(facts.label(tensor))
    if len(label) < LONG:
        return label
    span = facts.tensors[tensor].span
    statement = facts.text.statement(span)
    value = statement.value if isinstance(statement, ast.Assign) else None
    is_whole = (
        value is not None
        and span is not None
        and span[2:4] == (value.end_lineno, value.end_col_offset)
    )
    if is_whole and "".join(facts.text.cut(value).split()).startswith(
        "".join(label.split())[:LONG]
    ):
        target = statement.targets[0]
        operation = facts.maker(tensor)
        if isinstance(target, ast.Tuple) and operation is not None:
            # results that are not tensors come last
            target = target.elts[operation.outputs.index(tensor)]
        return facts.text.cut(target)
    return label


LONG = 24  # characters of an expression from which its variable is the better name


def code_of(name: str) -> str:
    """Return a tensor's name as code ("model[0].weight" for model.0.weight); "" for a label that is
    not code.
    """
    parts = name.split(".")
    if parts[0].isidentifier() and all(part.isdigit() or part.isidentifier() for part in parts):
        return parts[0] + "".join(
            f"[{part}]" if part.isdigit() else f".{part}" for part in parts[1:]
        )
    node = parsed(name)
    return "" if node is None or (isinstance(node, ast.Compare) and " in " in name) else name


def enclosed(text: str) -> str:
    """Return a text with parentheses if it has an operator, so that a method can be called on
    it.
    """
    if not (text[:1].isdigit() or not {*text}.isdisjoint(" +-*/@%&|^~<>")):
        return text
    return (
        text
        if isinstance(parsed(text), (ast.Call, ast.Name, ast.Attribute, ast.Subscript))
        else f"({text})"
    )


def without_item(name: str) -> str:
    """Return the text of what an item is taken of: "batches" for "batches[1]"; any other text as it
    is.
    """
    node = parsed(name)
    return (
        name[: node.value.end_col_offset]
        if isinstance(node, ast.Subscript) and name.isascii()
        else name
    )


def is_place(name: str) -> bool:
    """Whether a name is of a variable, an attribute or an item, to which a program can assign."""
    return isinstance(parsed(code_of(name)), (ast.Name, ast.Attribute, ast.Subscript))


def code_at(facts: Facts, span: Span | None) -> str:
    """Return the text of a span if it is on one line, else ""."""
    if span is None or span.file or span.line != span.end_line or span.line > len(facts.text.bytes):
        return ""
    line = facts.text.bytes[span.line - 1]
    return line[span.column : span.end_column].decode("utf-8", "replace")


def made_at(facts: Facts, record: TensorRecord) -> Span | None:
    """Return where a tensor was made: its operation's place, else where the text binds its name or
    expression.
    """
    if record.span is not None:
        return record.span
    first = facts.tensors[record.first].span
    if first is not None:
        return first
    label = plain(record.name or record.label)
    bound = [
        s for s in facts.text.assignments(label) if not isinstance(s, (ast.AugAssign, ast.For))
    ]
    if bound:
        return places.head_of(bound[0])
    if record.id in facts.begun:
        return facts.begun[record.id]
    lines = [i for i, line in enumerate(facts.text.lines, 1) if len(label) > 3 and label in line]
    return Span(lines[0], 0, lines[0], 1) if len(lines) == 1 else None


def made_by(facts: Facts, tensor: int | None, names: tuple[str, ...]) -> Operation | None:
    """Return the operation that made a tensor if it is of one of these operators, else None."""
    maker = facts.maker(tensor)
    return maker if maker is not None and operator(maker) in names else None


def scopes_of(facts: Facts, operation: Operation) -> list[ScopeRecord]:
    """Return the scopes that an operation ran in, innermost first."""
    return list(facts.trace.scopes_around(operation.scope))


def spans_of(facts: Facts, operation: Operation) -> list[Span]:
    """Return the place of an operation's call, then of the function and module calls around it,
    innermost first.
    """
    around = [
        s.span
        for s in scopes_of(facts, operation)
        if s.kind in ("function", "module") and s.span is not None
    ]
    return [span for span in (operation.span, *around) if span is not None]


def own_span(facts: Facts, operation: Operation) -> Span | None:
    """Return the innermost place in the program itself that leads to an operation in a library;
    else its own place.
    """
    return next((span for span in spans_of(facts, operation) if not span.file), operation.span)


def assigned_name(facts: Facts, span: Span | None) -> str:
    """Return what the statement at a place assigns its value to; "" for any other statement."""
    statement = facts.text.statement(span)
    if not isinstance(statement, ast.Assign):
        return ""
    target = statement.targets[0]
    if not isinstance(target, ast.Tuple):
        return facts.text.cut(target)
    values = getattr(statement.value, "elts", ())
    pairs = zip(target.elts, values) if len(values) == len(target.elts) else ()
    own = (part for part, value in pairs if places.encloses(places.span_of(value), span))
    return next(map(facts.text.cut, own), "")


def optimiser_name(facts: Facts, optimiser: OptimiserRecord | None) -> str:
    """Return what the program calls an optimiser where it steps, `opt` for opt.step() and for
    scaler.step(opt); else the variable that it was assigned to; "optimizer" if neither is in the
    text.
    """
    if optimiser is None:
        return "optimizer"
    caller, _, argument = code_at(facts, optimiser.step_span).partition(".step(")
    assigned = assigned_name(facts, optimiser.span)
    names = (
        (assigned,)
        if assigned and assigned in argument
        else (caller.strip() if argument else "", assigned)
    )
    return next(
        (name for name in names if name and name.replace(".", "").isidentifier()), "optimizer"
    )


def settings(optimiser: OptimiserRecord | GroupRecord) -> dict[str, str]:
    """Return the options of a group, or of an optimiser's first one, as texts."""
    return dict(text.split("=", 1) for text in optimiser.options)


def setting(optimiser: OptimiserRecord, name: str) -> float:
    """Return an option of an optimiser's first group that is a number or a flag; 0 without it."""
    text = settings(optimiser).get(name, "0")
    return float({"False": 0, "True": 1}.get(text, text))


def loads(node: Any) -> set[str]:
    """Return the variables and attributes ("self.h") that a piece of text reads, without the
    functions that it calls.
    """
    called = {id(part.func) for part in ast.walk(node) if isinstance(part, ast.Call)}
    return {
        text
        for part in ast.walk(node)
        if id(part) not in called and (text := place_text(part, ast.Load))
    }


def stores(node: Any) -> set[str]:
    """Return the variables and attributes that a piece of text binds, also by augmented
    assignment.
    """
    return {text for part in ast.walk(node) if (text := place_text(part, ast.Store))}


def place_text(node: Any, context: type) -> str:
    if isinstance(node, ast.Name) and isinstance(node.ctx, context):
        return str(node.id)
    is_attribute = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    return f"{node.value.id}.{node.attr}" if is_attribute and isinstance(node.ctx, context) else ""


def inside(statement: Any, container: Any) -> bool:
    """Whether a statement is inside another one."""
    return bool(
        container.lineno <= statement.lineno
        and (statement.end_lineno or 0) <= (container.end_lineno or 0)
    )


def loop_around(facts: Facts, *statements: Any) -> Any:
    """Return the innermost loop statement around other ones, or None."""
    loops = [
        s
        for s in facts.text.statements
        if isinstance(s, (ast.For, ast.While)) and s not in statements
    ]
    around = (s for s in loops if all(inside(statement, s) for statement in statements))
    return max(around, key=places.starts, default=None)


def method_of(facts: Facts, name: str, method: str) -> Any:
    """Return the definition of a method in a class of the program."""
    for cls in facts.text.statements:
        if isinstance(cls, ast.ClassDef) and cls.name == name:
            return next(
                (n for n in cls.body if isinstance(n, ast.FunctionDef) and n.name == method), None
            )
    return None


# ---- values


def result(facts: Facts, operation: Operation) -> Value | None:
    return facts.tensors[operation.outputs[0]].value


def has_nan(value: Value | None) -> bool:
    return value is not None and value.is_float and value.has_nan


def has_inf(value: Value | None) -> bool:
    return value is not None and value.is_float and not value.all_finite and bool(value.summary.inf)


def lowest(value: Value) -> float | None:
    """Return the smallest element; None if there are no elements, or one is not finite."""
    low = value.summary.minimum
    return None if low is None else float(low)


def highest(value: Value) -> float | None:
    high = value.summary.maximum
    return None if high is None else float(high)


def operator(operation: Operation) -> str:
    """Return the operator's name without the underscore of its in-place form."""
    return operation.name.rstrip("_")


def numbers_in(operation: Operation, options: bool = True) -> list[float]:
    """Return the arguments of an operation that are Python numbers, also those given by a name if
    `options`.
    """
    numbers = []
    for text in operation.constants:
        _, equals, value = text.rpartition("=")
        try:
            numbers += [float(value)] if options or not equals else []
        except ValueError:
            continue
    return numbers


def unit(facts: Facts, operation: Operation) -> str:
    """Return an operator with its line: "log on line 14"."""
    return f"{operator(operation)}{facts.at_line(operation.span)}"


def is_dropout(trace: Trace, operation: Operation) -> bool:
    """Whether an operation is a dropout, or a part of one: by its operator, the class of its
    innermost module, or its call.
    """
    if "dropout" in operation.name or is_in_dropout(trace, operation):
        return True
    call = parsed(operation.text)
    return isinstance(call, ast.Call) and dotted(call.func).rpartition(".")[2] in DROPOUTS


def is_in_dropout(trace: Trace, operation: Operation) -> bool:
    """Whether the innermost module around an operation is a dropout."""
    scope = None if operation.scope is None else trace.scopes[operation.scope]
    return scope is not None and scope.kind == "module" and "Dropout" in scope.detail


def is_comparison(name: str) -> bool:
    record = record_of(name)
    return record is not None and record.promote == "compare"


def mask_behind(facts: Facts, tensor: int) -> TensorRecord:
    """Return what the program calls a mask, from which views, negations and fills with -inf have
    made another one.
    """
    while not named(facts, tensor).isidentifier() and (maker := facts.maker(tensor)) is not None:
        masks = [r.id for r, value in facts.operands(maker) if value.dtype == "bool"]
        if len(masks) != 1:
            break
        tensor = masks[0]
    return facts.tensors[tensor]


# ---- the range of the floating-point dtypes


LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38}
LARGEST["float64"] = 1.7976931348623157e308
SMALLEST = {"float16": 2.0**-24, "bfloat16": 2.0**-133, "float32": 2.0**-149, "float64": 2.0**-1074}
SHORT = ("float16", "bfloat16")  # what autocast and .half() compute in


def magnitude(value: Value | None) -> float | None:
    """Return the largest absolute value of the elements; None if there are none, or one is not
    finite.
    """
    if value is None or not value.is_float or not value.all_finite:
        return None
    low = value.summary.minimum
    high = value.summary.maximum
    return None if low is None or high is None else max(abs(float(low)), abs(float(high)))


def calls_method(facts: Facts, method: str) -> bool:
    """Whether the text calls a method of this name."""
    return any(getattr(call.func, "attr", "") == method for call in facts.text.calls)


def is_maximised(facts: Facts) -> bool:
    """Whether an optimiser raises what backward begins at."""
    return any("maximize=True" in optimiser.options for optimiser in facts.trace.optimisers)


def slope(facts: Facts, operation: Operation) -> int:
    """Return 1 if every gradient that arrived at an operation's result is positive, -1 if every one
    is negative; 0 otherwise, and if none is known.
    """
    visits = () if operation.function is None else facts.visits.get(operation.function, ())
    arrived = [value for visit in visits for value in visit.upstream if value is not None]
    lows = [lowest(value) if value.is_measured else None for value in arrived]
    highs = [highest(value) if value.is_measured else None for value in arrived]
    if lows and all(low is not None and low > 0 for low in lows):
        return 1
    if highs and all(high is not None and high < 0 for high in highs):
        return -1
    return 0
