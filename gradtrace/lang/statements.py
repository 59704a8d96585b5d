"""Statements to closures. Each returns None, or the signal BREAK, CONTINUE or RETURN."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from gradtrace.engine.state import state
from gradtrace.errors import BudgetError, GradtraceError
from gradtrace.lang import attributes
from gradtrace.lang.expressions import compile_expression, safe_binary
from gradtrace.lang.functions import class_maker, function_maker
from gradtrace.lang.scope import Frame, Unit
from gradtrace.lang.targets import store_target

BREAK, CONTINUE, RETURN = "break", "continue", "return"
Code = Callable[[Frame], Any]
INPLACE: dict[type, Any] = {
    ast.Add: operator.iadd, ast.Sub: operator.isub, ast.Mult: operator.imul, ast.Div: operator.itruediv,
    ast.FloorDiv: operator.ifloordiv, ast.Mod: operator.imod, ast.Pow: operator.ipow, ast.MatMult: operator.imatmul,
    ast.BitAnd: operator.iand, ast.BitOr: operator.ior, ast.BitXor: operator.ixor, ast.LShift: operator.ilshift,
    ast.RShift: operator.irshift,
}


def compile_block(body: list[Any], unit: Unit) -> Code:
    parts = [_STATEMENTS[type(node)](node, unit) for node in body]
    if len(parts) == 1:
        return parts[0]

    def run(f: Frame) -> Any:
        for part in parts:
            signal = part(f)
            if signal is not None:
                return signal
        return None

    return run


def expression(node: ast.Expr, unit: Unit) -> Code:
    value = compile_expression(node.value, unit)

    def run(f: Frame) -> None:
        value(f)

    return run


def assign(node: ast.Assign, unit: Unit) -> Code:
    value, stores = compile_expression(node.value, unit), [store_target(t, unit) for t in node.targets]
    if len(stores) == 1:
        store = stores[0]

        def one(f: Frame) -> None:
            store(f, value(f))

        return one

    def run(f: Frame) -> None:
        result = value(f)
        for store in stores:
            store(f, result)

    return run


def annotated(node: ast.AnnAssign, unit: Unit) -> Code:
    declares = isinstance(node.annotation, ast.Name) and node.annotation.id in ("leaf", "data")
    if node.value is None or (declares and unit.kind == "module"):
        return lambda f: None  # an input: its value is there already
    value, store = compile_expression(node.value, unit), store_target(node.target, unit)

    def run(f: Frame) -> None:
        store(f, value(f))

    return run


def augmented(node: ast.AugAssign, unit: Unit) -> Code:
    value, apply, origin = compile_expression(node.value, unit), INPLACE[type(node.op)], unit.origin(node)
    guard = safe_binary(type(node.op))

    def change(old: Any, new: Any) -> Any:
        state.origin = origin
        return guard(old, new) if type(old) in (int, str, tuple) else apply(old, new)

    target = node.target
    if isinstance(target, ast.Name):
        load, store = compile_expression(ast.copy_location(ast.Name(target.id, ast.Load()), target), unit), unit.store(
            target.id)
        return lambda f: store(f, change(load(f), value(f)))
    owner = compile_expression(target.value, unit)
    if isinstance(target, ast.Attribute):
        key = target.attr

        def on_attribute(f: Frame) -> None:
            holder = owner(f)
            attributes.put(holder, key, change(attributes.get(holder, key), value(f)))

        return on_attribute
    item = compile_expression(target.slice, unit)

    def on_item(f: Frame) -> None:
        holder, index = owner(f), item(f)
        holder[index] = change(holder[index], value(f))

    return on_item


def if_(node: ast.If, unit: Unit) -> Code:
    test, body = compile_expression(node.test, unit), compile_block(node.body, unit)
    other = compile_block(node.orelse, unit) if node.orelse else None
    return lambda f: body(f) if test(f) else other(f) if other else None


def while_(node: ast.While, unit: Unit) -> Code:
    test, body, meter = compile_expression(node.test, unit), compile_block(node.body, unit), unit.meter
    other = compile_block(node.orelse, unit) if node.orelse else None

    def run(f: Frame) -> Any:
        while test(f):
            meter.step()
            signal = body(f)
            if signal is BREAK:
                return None
            if signal is RETURN:
                return signal
        return other(f) if other else None

    return run


def for_(node: ast.For, unit: Unit) -> Code:
    items, store, body = compile_expression(node.iter, unit), store_target(node.target, unit), compile_block(
        node.body, unit)
    other, meter = compile_block(node.orelse, unit) if node.orelse else None, unit.meter

    def run(f: Frame) -> Any:
        for item in items(f):
            meter.step()
            store(f, item)
            signal = body(f)
            if signal is BREAK:
                return None
            if signal is RETURN:
                return signal
        return other(f) if other else None

    return run


def return_(node: ast.Return, unit: Unit) -> Code:
    value = compile_expression(node.value, unit) if node.value else None

    def run(f: Frame) -> Any:
        f.result = value(f) if value else None
        return RETURN

    return run


def define(node: ast.FunctionDef | ast.ClassDef, unit: Unit) -> Code:
    make: Any = class_maker(node, unit) if isinstance(node, ast.ClassDef) else function_maker(node, node.name, unit)
    decorators = [compile_expression(d, unit) for d in node.decorator_list]
    store = unit.store(node.name)

    def run(f: Frame) -> None:
        wrappers = [d(f) for d in decorators]
        made = make(f)
        for wrapper in reversed(wrappers):
            made = wrapper(made)
        store(f, made)

    return run


def with_(node: ast.With, unit: Unit) -> Code:
    items = [(compile_expression(i.context_expr, unit), store_target(i.optional_vars, unit) if i.optional_vars else None)
             for i in node.items]
    body = compile_block(node.body, unit)

    def nested(f: Frame, depth: int) -> Any:
        if depth == len(items):
            return body(f)
        manager, store = items[depth]
        with manager(f) as value:
            if store is not None:
                store(f, value)
            return nested(f, depth + 1)
        return None

    return lambda f: nested(f, 0)


def try_(node: ast.Try, unit: Unit) -> Code:
    body, other, last = (compile_block(b, unit) if b else None for b in (node.body, node.orelse, node.finalbody))
    handlers = [(compile_expression(h.type, unit) if h.type else None, h.name, compile_block(h.body, unit))
                for h in node.handlers]

    def guarded(f: Frame) -> Any:
        try:
            signal = body(f) if body else None
        except BudgetError:
            raise
        except (Exception, GradtraceError) as error:
            if isinstance(error, GradtraceError):
                raise
            for kind, name, handler in handlers:
                if kind is None or isinstance(error, kind(f)):
                    if name:
                        f.vars[name] = error
                    previous = f.vars.get("  error")
                    f.vars["  error"] = error
                    try:
                        return handler(f)
                    finally:
                        f.vars["  error"] = previous
                        if name:
                            f.vars.pop(name, None)
            raise
        return other(f) if other and signal is None else signal

    def run(f: Frame) -> Any:
        try:
            signal = guarded(f)
        except GradtraceError:
            raise
        except BaseException:
            if last:
                late = last(f)
                if late is not None:
                    return late
            raise
        if last:
            late = last(f)
            if late is not None:
                return late
        return signal

    return run


def raise_(node: ast.Raise, unit: Unit) -> Code:
    value = compile_expression(node.exc, unit) if node.exc else None
    cause = compile_expression(node.cause, unit) if node.cause else None
    origin = unit.origin(node)

    def run(f: Frame) -> Any:
        if value is None:
            frame: Any = f
            while frame is not None and frame.vars.get("  error") is None:
                frame = frame.parent
            if frame is None:
                raise RuntimeError("No active exception to reraise")
            raise frame.vars["  error"]
        error = value(f)
        state.origin = origin
        if cause is not None:
            raise error from cause(f)
        raise error

    return run


def assert_(node: ast.Assert, unit: Unit) -> Code:
    test, message = compile_expression(node.test, unit), compile_expression(node.msg, unit) if node.msg else None
    origin = unit.origin(node)

    def run(f: Frame) -> None:
        if not test(f):
            state.origin = origin
            raise AssertionError(*([message(f)] if message else []))

    return run


def delete(node: ast.Delete, unit: Unit) -> Code:
    actions: list[Code] = []
    for target in node.targets:
        if isinstance(target, ast.Name):
            actions.append(lambda f, key=target.id: f.vars.pop(key))  # type: ignore[misc]
        elif isinstance(target, ast.Attribute):
            owner = compile_expression(target.value, unit)
            actions.append(lambda f, o=owner, key=target.attr: attributes.remove(o(f), key))  # type: ignore[misc]
        elif isinstance(target, ast.Subscript):
            owner, item = compile_expression(target.value, unit), compile_expression(target.slice, unit)
            actions.append(lambda f, o=owner, i=item: operator.delitem(o(f), i(f)))  # type: ignore[misc]

    def run(f: Frame) -> None:
        for action in actions:
            action(f)

    return run


def import_(node: ast.Import | ast.ImportFrom, unit: Unit) -> Code:
    from gradtrace.lang.namespaces import import_from, import_module

    origin = unit.origin(node)
    names = [(a.name, a.asname, unit.store(a.asname or a.name.split(".")[0])) for a in node.names if a.name != "*"]
    module = (node.module or "") if isinstance(node, ast.ImportFrom) else None
    place = unit.source.place(unit.spans[origin])

    def run(f: Frame) -> None:
        for name, renamed, store in names:
            if module is not None:
                store(f, import_from(module, name, place))
            else:
                store(f, import_module(name if renamed else name.split(".")[0], place, name))

    return run


def nothing(node: Any, unit: Unit) -> Code:
    return lambda f: None


_STATEMENTS: dict[type, Callable[[Any, Unit], Code]] = {
    ast.Expr: expression, ast.Assign: assign, ast.AnnAssign: annotated, ast.AugAssign: augmented, ast.If: if_,
    ast.While: while_, ast.For: for_, ast.Return: return_, ast.FunctionDef: define, ast.ClassDef: define,
    ast.With: with_, ast.Try: try_, ast.Raise: raise_, ast.Assert: assert_, ast.Delete: delete, ast.Import: import_,
    ast.ImportFrom: import_, ast.Pass: nothing, ast.Global: nothing, ast.Nonlocal: nothing,
    ast.Break: lambda node, unit: lambda f: BREAK, ast.Continue: lambda node, unit: lambda f: CONTINUE,
}
