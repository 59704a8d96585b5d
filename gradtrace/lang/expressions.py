"""Compilers of expressions. An expression's closure takes the frame and returns the value.

`compile_expression` looks up the compiler of a node type in COMPILERS, where other modules register theirs, also those
of statements. Before an operation that may raise or be recorded, the closure sets `state.origin` to its place.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Callable
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor
from gradtrace.lang import binary
from gradtrace.lang.budget import Meter
from gradtrace.lang.costs import HASHED, charge_made, charge_text, charge_visit
from gradtrace.lang.hash_cost import charge_key, charge_keys
from gradtrace.lang.operators import NUMBERS, UNARY, Guarded, guarded_comparison, item_reader
from gradtrace.lang.subscripts import get_from_tensor
from gradtrace.lang.unit import Code, Frame, Unit
from gradtrace.program import syntax as ast

COMPILERS: dict[type, Callable[..., Code]] = {}
STORING: frozenset[type] = frozenset({ast.BinOp, ast.Call})  # node types whose compilers take a target variable
LONG = 30  # chains of at least this many operators are evaluated in a loop


def compile_expression(node: ast.AST, unit: Unit) -> Code:
    return COMPILERS[type(node)](node, unit)


def compile_assignment(target: str, node: ast.AST, unit: Unit) -> Code:
    """Compile `target = expression` for a frame variable; node types in STORING need one closure only."""
    if type(node) in STORING:
        return COMPILERS[type(node)](node, unit, target)
    value = compile_expression(node, unit)

    def evaluate(f: Frame) -> None:
        f[target] = value(f)

    return evaluate


def compiles(*kinds: type) -> Callable[[Any], Any]:
    """Return a decorator that registers a compiler for node types."""

    def register(compiler: Any) -> Any:
        COMPILERS.update(dict.fromkeys(kinds, compiler))
        return compiler

    return register


@compiles(ast.Constant)
def compile_constant(node: ast.Constant, unit: Unit) -> Code:
    value = node.value
    return lambda f: value


@compiles(ast.Name)
def name(node: ast.Name, unit: Unit) -> Code:
    return unit.load(node)


@compiles(ast.BinOp)
def compile_binop(node: ast.BinOp, unit: Unit, target: str | None = None) -> Code:
    row = [node]
    while isinstance(row[-1].left, ast.BinOp):
        row.append(row[-1].left)
    if len(row) < LONG:
        return binary.binary_code(unit.operator(type(node.op)), node.left, node.right, unit, unit.origin(node), target)
    row.reverse()
    first = compile_expression(row[0].left, unit)
    rest = [(unit.operator(type(n.op)), compile_expression(n.right, unit), unit.origin(n)) for n in row]
    return binary.chain(first, rest, target)


@compiles(ast.UnaryOp)
def compile_unary(node: ast.UnaryOp, unit: Unit) -> Code:
    apply, origin = UNARY[type(node.op)], unit.origin(node)
    if isinstance(node.operand, ast.Constant) and type(node.operand.value) in (int, float):
        value = apply(node.operand.value) if not isinstance(node.op, ast.Invert) else None
        if value is not None:
            return lambda f: value
    operand = compile_expression(node.operand, unit)

    def evaluate(f: Frame) -> Any:
        a = operand(f)
        state.origin = origin
        return apply(a)

    return evaluate


@compiles(ast.BoolOp)
def compile_boolop(node: ast.BoolOp, unit: Unit) -> Code:
    *parts, last = [unit.located(v) for v in node.values]
    final, needs_all = last[0], isinstance(node.op, ast.And)

    def evaluate(f: Frame) -> Any:
        for part, origin in parts:
            value = part(f)
            state.origin = origin
            if (not value) is needs_all:
                return value
        return final(f)

    return evaluate


@compiles(ast.Compare)
def compile_compare(node: ast.Compare, unit: Unit) -> Code:
    origin = unit.origin(node)
    if len(node.ops) == 1:
        operator = guarded_comparison(type(node.ops[0]), unit.meter)
        return binary.binary_code(operator, node.left, node.comparators[0], unit, origin)
    first = compile_expression(node.left, unit)
    pairs = zip(node.ops, node.comparators, strict=True)
    rest = [(guarded_comparison(type(o), unit.meter).guarded, compile_expression(c, unit)) for o, c in pairs]

    def chain(f: Frame) -> Any:
        left, result = first(f), True
        for apply, code in rest:
            right = code(f)
            state.origin = origin
            result = apply(left, right)
            if not result:
                return result
            left = right
        return result

    return chain


@compiles(ast.IfExp)
def compile_conditional(node: ast.IfExp, unit: Unit) -> Code:
    test, yes, no = (compile_expression(n, unit) for n in (node.test, node.body, node.orelse))
    origin = unit.origin(node.test)

    def evaluate(f: Frame) -> Any:
        value = test(f)
        state.origin = origin
        return yes(f) if value else no(f)

    return evaluate


@compiles(ast.NamedExpr)
def compile_walrus(node: ast.NamedExpr, unit: Unit) -> Code:
    value, store = compile_expression(node.value, unit), unit.store(node.target.id)

    def evaluate(f: Frame) -> Any:
        result = value(f)
        store(f, result)
        return result

    return evaluate


@compiles(ast.Attribute)
def compile_attribute(node: ast.Attribute, unit: Unit) -> Code:
    key, origin, get = node.attr, unit.origin(node), unit.gate.get
    readable, (name, read) = unit.gate.readable(key), unit.operand(node.value)

    def evaluate(f: Frame) -> Any:
        if name is None:
            value = read(f)
        else:
            try:
                value = f[name]
            except KeyError:
                value = read(f)
        state.origin = origin
        return getattr(value, key) if type(value) in readable else get(value, key)

    return evaluate


@compiles(ast.Subscript)
def compile_subscript(node: ast.Subscript, unit: Unit) -> Code:
    operator = Guarded(NUMBERS, get_from_tensor, item_reader(unit.meter))
    return binary.binary_code(operator, node.value, node.slice, unit, unit.origin(node))


@compiles(ast.Slice)
def compile_slice(node: ast.Slice, unit: Unit) -> Code:
    parts = [None if n is None else compile_expression(n, unit) for n in (node.lower, node.upper, node.step)]
    if all(n is None or isinstance(n, ast.Constant) for n in (node.lower, node.upper, node.step)):
        value = slice(*(None if p is None else p({}) for p in parts))
        return lambda f: value
    return lambda f: slice(*[None if p is None else p(f) for p in parts])


# ---- displays


def items_of(elements: list[ast.expr], unit: Unit) -> Callable[..., list[Any]]:
    """Return the closure that lists the elements of a display, or the arguments of a call to `target`."""
    if not any(isinstance(e, ast.Starred) for e in elements):
        parts = [compile_expression(e, unit) for e in elements]
        return lambda f, target=None: [part(f) for part in parts]
    pairs = [starred_or_not(e, unit) for e in elements]

    def evaluate(f: Frame, target: Any = None) -> list[Any]:
        results: list[Any] = []
        for starred, part, origin in pairs:
            value = part(f)
            if starred:
                state.origin = origin
                extend_unpacked(results, value, target, unit.meter)
            else:
                results.append(value)
        return results

    return evaluate


def starred_or_not(node: ast.expr, unit: Unit) -> tuple[bool, Code, int]:
    if isinstance(node, ast.Starred):
        return True, compile_expression(node.value, unit), unit.origin(node)
    return False, compile_expression(node, unit), 0


def extend_unpacked(results: list[Any], value: Any, target: Any, meter: Meter) -> None:
    try:
        items = iter(value)
    except TypeError:
        what = "Value" if target is None else f"{full_name(target)} argument"
        raise TypeError(f"{what} after * must be an iterable, not {type(value).__name__}") from None
    charge_visit(value, meter)
    results.extend(items)


def full_name(target: Any) -> str:
    """Return the name of a called object as in Python's messages."""
    name = getattr(target, "__qualname__", None)
    if name is None:
        return str(target)
    module = getattr(target, "__module__", None)
    return f"{name}()" if module in (None, "builtins") else f"{module}.{name}()"


@compiles(ast.Tuple)
def compile_tuple(node: ast.Tuple, unit: Unit) -> Code:
    if all(isinstance(e, ast.Constant) for e in node.elts):
        value = tuple(e.value for e in node.elts)  # type: ignore[attr-defined]
        return lambda f: value
    if len(node.elts) == 2 and not any(isinstance(e, ast.Starred) for e in node.elts):
        first, second = (compile_expression(e, unit) for e in node.elts)
        return lambda f: (first(f), second(f))
    items = items_of(node.elts, unit)
    return lambda f: tuple(items(f))


@compiles(ast.List)
def compile_list(node: ast.List, unit: Unit) -> Code:
    return items_of(node.elts, unit)


@compiles(ast.Set)
def compile_set(node: ast.Set, unit: Unit) -> Code:
    items, origin = items_of(node.elts, unit), unit.origin(node)

    def evaluate(f: Frame) -> Any:
        elements = items(f)
        state.origin = origin
        charge_keys(elements, unit.meter)
        return set(elements)

    return evaluate


@compiles(ast.Dict)
def compile_dict(node: ast.Dict, unit: Unit) -> Code:
    pairs = [
        (None if k is None else compile_expression(k, unit), *unit.located(v))
        for k, v in zip(node.keys, node.values, strict=True)
    ]
    meter = unit.meter

    def evaluate(f: Frame) -> Any:
        results: dict[Any, Any] = {}
        for key, value, origin in pairs:
            if key is not None:
                k = key(f)
                v = value(f)
                state.origin = origin
                if isinstance(k, tuple):
                    charge_key(k, meter)
                results[k] = v
                continue
            mapping = value(f)
            state.origin = origin
            if not hasattr(type(mapping), "keys"):
                raise TypeError(f"'{type(mapping).__name__}' object is not a mapping")
            charge_visit(mapping, meter, HASHED)
            results.update(mapping)
        return results

    return evaluate


# ---- f-strings

QUICK = frozenset({bool, int, float, Tensor})  # types whose text needs no charge
CONVERSIONS: dict[int, Any] = {-1: None, ord("s"): str, ord("r"): repr, ord("a"): ascii}


@compiles(ast.JoinedStr)
def compile_fstring(node: ast.JoinedStr, unit: Unit) -> Code:
    parts = [compile_expression(v, unit) for v in node.values]
    meter = unit.meter

    def evaluate(f: Frame) -> str:
        texts = [part(f) for part in parts]
        length = sum(map(len, texts))
        if length > 4096:
            charge_made(str, length, meter)
        return "".join(texts)

    return evaluate


@compiles(ast.FormattedValue)
def compile_formatted(node: ast.FormattedValue, unit: Unit) -> Code:
    value, convert, origin = compile_expression(node.value, unit), CONVERSIONS[node.conversion], unit.origin(node.value)
    spec = compile_expression(node.format_spec, unit) if node.format_spec else None
    check, meter = unit.machine.strings.check, unit.meter

    def evaluate(f: Frame) -> str:
        shown = value(f)
        wanted = "" if spec is None else check(spec(f))
        state.origin = origin
        if type(shown) not in QUICK:
            charge_text(shown, meter)
        return format(shown if convert is None else convert(shown), wanted)

    return evaluate
