"""Expressions to closures: each takes the frame and returns the value. Compiled once, no code object is made."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from gradtrace.engine.state import state
from gradtrace.lang import attributes, strings
from gradtrace.lang.scope import Frame, Unit
from gradtrace.lang.source import span_of

Code = Callable[[Frame], Any]

BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.MatMult: operator.matmul,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
UNARY: dict[type, Callable[[Any], Any]] = {
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert, ast.Not: operator.not_,
}
COMPARE: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
}


def compile_expression(node: ast.AST, unit: Unit) -> Code:
    return _COMPILERS[type(node)](node, unit)


def constant(node: ast.Constant, unit: Unit) -> Code:
    value = node.value
    return lambda f: value


def name(node: ast.Name, unit: Unit) -> Code:
    return unit.load(node.id, span_of(node))


def safe_binary(kind: type) -> Callable[[Any, Any], Any]:
    """The operator, with Python's own unbounded cases held back: huge powers, repeats and formats."""
    apply = BINARY[kind]
    if kind is ast.Mod:
        return lambda a, b: strings.percent(a, b) if type(a) is str else apply(a, b)
    if kind is ast.Pow:
        def power(a: Any, b: Any) -> Any:
            if type(a) is int and type(b) is int and b > 0 and a.bit_length() * b > 100_000:
                raise OverflowError("the result is too large an integer")
            return apply(a, b)
        return power
    if kind is ast.LShift:
        def shift(a: Any, b: Any) -> Any:
            if type(a) is int and type(b) is int and b > 100_000:
                raise OverflowError("the result is too large an integer")
            return apply(a, b)
        return shift
    if kind is ast.Mult:
        def times(a: Any, b: Any) -> Any:
            for x, y in ((a, b), (b, a)):
                if type(x) in (str, list, tuple) and type(y) is int and len(x) * y > 50_000_000:
                    raise MemoryError("the repeated sequence is too large")
            return apply(a, b)
        return times
    return apply


def binop(node: ast.BinOp, unit: Unit) -> Code:
    left, right, apply = compile_expression(node.left, unit), compile_expression(node.right, unit), safe_binary(
        type(node.op))
    origin = unit.origin(node)

    def run(f: Frame) -> Any:
        a = left(f)
        b = right(f)
        state.origin = origin
        return apply(a, b)

    return run


def unary(node: ast.UnaryOp, unit: Unit) -> Code:
    operand, apply, origin = compile_expression(node.operand, unit), UNARY[type(node.op)], unit.origin(node)

    def run(f: Frame) -> Any:
        a = operand(f)
        state.origin = origin
        return apply(a)

    return run


def boolop(node: ast.BoolOp, unit: Unit) -> Code:
    parts = [compile_expression(v, unit) for v in node.values]
    stop_on = isinstance(node.op, ast.Or)

    def run(f: Frame) -> Any:
        value: Any = None
        for part in parts:
            value = part(f)
            if bool(value) is stop_on:
                return value
        return value

    return run


def compare(node: ast.Compare, unit: Unit) -> Code:
    first = compile_expression(node.left, unit)
    rest = [(COMPARE[type(o)], compile_expression(c, unit)) for o, c in zip(node.ops, node.comparators, strict=True)]
    origin = unit.origin(node)
    if len(rest) == 1:
        apply, second = rest[0]

        def one(f: Frame) -> Any:
            a = first(f)
            b = second(f)
            state.origin = origin
            return apply(a, b)

        return one

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


def conditional(node: ast.IfExp, unit: Unit) -> Code:
    test, yes, no = (compile_expression(n, unit) for n in (node.test, node.body, node.orelse))
    return lambda f: yes(f) if test(f) else no(f)


def walrus(node: ast.NamedExpr, unit: Unit) -> Code:
    value, store = compile_expression(node.value, unit), unit.store(node.target.id)

    def run(f: Frame) -> Any:
        result = value(f)
        store(f, result)
        return result

    return run


def attribute(node: ast.Attribute, unit: Unit) -> Code:
    owner, key, origin = compile_expression(node.value, unit), node.attr, unit.origin(node)

    def run(f: Frame) -> Any:
        value = owner(f)
        state.origin = origin
        return attributes.get(value, key)

    return run


def subscript(node: ast.Subscript, unit: Unit) -> Code:
    owner, key, origin = compile_expression(node.value, unit), compile_expression(node.slice, unit), unit.origin(node)

    def run(f: Frame) -> Any:
        value = owner(f)
        index = key(f)
        state.origin = origin
        if isinstance(value, type):
            return value  # list[int] and its like in annotations
        return value[index]

    return run


def slice_(node: ast.Slice, unit: Unit) -> Code:
    parts = [compile_expression(n, unit) if n else None for n in (node.lower, node.upper, node.step)]
    return lambda f: slice(*(None if p is None else p(f) for p in parts))


def sequence(kind: Callable[[list[Any]], Any]) -> Callable[[Any, Unit], Code]:
    def compiler(node: Any, unit: Unit) -> Code:
        parts = [(isinstance(e, ast.Starred), compile_expression(e.value if isinstance(e, ast.Starred) else e, unit))
                 for e in node.elts]

        def run(f: Frame) -> Any:
            items: list[Any] = []
            for starred, part in parts:
                if starred:
                    items.extend(part(f))
                else:
                    items.append(part(f))
            return kind(items)

        return run

    return compiler


def dictionary(node: ast.Dict, unit: Unit) -> Code:
    pairs = [(compile_expression(k, unit) if k else None, compile_expression(v, unit))
             for k, v in zip(node.keys, node.values, strict=True)]

    def run(f: Frame) -> Any:
        result: dict[Any, Any] = {}
        for key, value in pairs:
            if key is None:
                result.update(value(f))
            else:
                result[key(f)] = value(f)
        return result

    return run


def call(node: ast.Call, unit: Unit) -> Code:
    function = compile_expression(node.func, unit)
    plain = [compile_expression(a, unit) for a in node.args] if not any(
        isinstance(a, ast.Starred) for a in node.args) else None
    spread = [(isinstance(a, ast.Starred), compile_expression(a.value if isinstance(a, ast.Starred) else a, unit))
              for a in node.args]
    named = [(k.arg, compile_expression(k.value, unit)) for k in node.keywords]
    origin, meter = unit.origin(node), unit.meter
    is_super = isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args

    def run(f: Frame) -> Any:
        target = function(f)
        if is_super:
            return unit.bare_super(f)
        args = [p(f) for p in plain] if plain is not None else spread_arguments(spread, f)
        kwargs: dict[str, Any] = {}
        for key, value in named:
            if key is None:
                kwargs.update(value(f))
            else:
                kwargs[key] = value(f)
        meter.step()
        state.origin = origin
        return target(*args, **kwargs)

    return run


def spread_arguments(parts: Any, f: Frame) -> list[Any]:
    args: list[Any] = []
    for starred, part in parts:
        if starred:
            args.extend(part(f))
        else:
            args.append(part(f))
    return args


def lambda_(node: ast.Lambda, unit: Unit) -> Code:
    from gradtrace.lang.functions import function_maker

    return function_maker(node, "<lambda>", unit)


def joined(node: ast.JoinedStr, unit: Unit) -> Code:
    parts = [compile_expression(v, unit) for v in node.values]
    return lambda f: "".join([p(f) for p in parts])


def formatted(node: ast.FormattedValue, unit: Unit) -> Code:
    value = compile_expression(node.value, unit)
    spec = compile_expression(node.format_spec, unit) if node.format_spec else None
    convert = {-1: None, 115: str, 114: repr, 97: ascii}[node.conversion]

    def run(f: Frame) -> str:
        shown = value(f)
        if convert is not None:
            shown = convert(shown)
        return format(shown, strings.check_spec(spec(f)) if spec else "")

    return run


def comprehension(build: Callable[[list[Any]], Any], pairs: bool = False) -> Callable[[Any, Unit], Code]:
    """A comprehension runs at once, in a frame of its own; a generator expression too."""

    def compiler(node: Any, unit: Unit) -> Code:
        from gradtrace.lang.targets import store_target

        inner = unit.child(set(), comprehension=True)
        outer_iter = compile_expression(node.generators[0].iter, unit)
        loops = []
        for i, g in enumerate(node.generators):
            inner.declare(g.target)
            source = None if i == 0 else compile_expression(g.iter, inner)
            loops.append((source, store_target(g.target, inner), [compile_expression(c, inner) for c in g.ifs]))
        if pairs:
            key, value = compile_expression(node.key, inner), compile_expression(node.value, inner)
            element: Code = lambda f: (key(f), value(f))
        else:
            element = compile_expression(node.elt, inner)
        meter = unit.meter

        def run(f: Frame) -> Any:
            frame = Frame(f)
            found: list[Any] = []

            def loop(depth: int, items: Any) -> None:
                _, store, tests = loops[depth]
                for item in items:
                    meter.step()
                    store(frame, item)
                    if all(t(frame) for t in tests):
                        if depth + 1 < len(loops):
                            loop(depth + 1, loops[depth + 1][0](frame))
                        else:
                            found.append(element(frame))

            loop(0, outer_iter(f))
            return build(found)

        return run

    return compiler


_COMPILERS: dict[type, Callable[[Any, Unit], Code]] = {
    ast.Constant: constant, ast.Name: name, ast.BinOp: binop, ast.UnaryOp: unary, ast.BoolOp: boolop,
    ast.Compare: compare, ast.IfExp: conditional, ast.NamedExpr: walrus, ast.Attribute: attribute,
    ast.Subscript: subscript, ast.Slice: slice_, ast.Tuple: sequence(tuple), ast.List: sequence(lambda x: x),
    ast.Set: sequence(set), ast.Dict: dictionary, ast.Call: call, ast.Lambda: lambda_, ast.JoinedStr: joined,
    ast.FormattedValue: formatted, ast.ListComp: comprehension(lambda x: x), ast.SetComp: comprehension(set),
    ast.GeneratorExp: comprehension(iter), ast.DictComp: comprehension(dict, pairs=True),
}
