"""Compilers of simple statements and of blocks.

A statement's closure returns None, or the signal that ends its block: BREAK, CONTINUE, or a one-element tuple with the
value of `return`. In a block without signals an expression statement is compiled to its expression alone, because the
block ignores its value.
"""

from __future__ import annotations

import sys

from gradtrace.annotations import Any
from gradtrace.engine.data.state import state
from gradtrace.lang.binary import binary_code
from gradtrace.lang.exceptions import claim
from gradtrace.lang.expressions import COMPILERS, compile_assignment, compiles
from gradtrace.lang.inputs import declares_input
from gradtrace.lang.library import admitted
from gradtrace.lang.operators import item_reader
from gradtrace.lang.targets import attribute_writer, compile_delete, compile_store, item_writer
from gradtrace.lang.unit import Code, Frame, Unit
from gradtrace.program import syntax as ast

BREAK, CONTINUE = "break", "continue"
BLOCKS = (ast.stmt, ast.ExceptHandler, ast.match_case)  # nodes that hold statements


def compile_block(body: list[ast.stmt], unit: Unit) -> Code:
    """Compile a block to one closure, which returns None or a signal."""
    nodes = effective(body)
    parts = [compile_statement(node, unit) for node in nodes]
    if not nodes:
        return lambda f: None
    *head, last = nodes
    if not may_jump(head):
        end = discarding(parts[-1]) if type(last) is ast.Expr else parts[-1]
        return sequence(parts[:-1], end)
    return jumping_sequence([discarding(p) if type(n) is ast.Expr else p for n, p in zip(nodes, parts, strict=True)])


def compile_statement(node: ast.stmt, unit: Unit) -> Code:
    return COMPILERS[type(node)](node, unit)


def effective(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements of a block without those that do nothing, such as `pass`."""
    return [node for node in body if not has_no_effect(node)]


def has_no_effect(node: ast.stmt) -> bool:
    if isinstance(node, (ast.Pass, ast.Global, ast.Nonlocal)):
        return True
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def may_jump(body: list[ast.stmt]) -> bool:
    """Whether a block contains a return, break or continue, including in nested blocks."""
    todo: list[Any] = list(body)
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.Return, ast.Break, ast.Continue)):
            return True
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            continue
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            todo.extend(getattr(node, field, None) or () if isinstance(node, BLOCKS) else ())
    return False


def sequence(parts: list[Code], last: Code) -> Code:
    """Return a closure that executes the parts in order and returns what the last one returns."""
    if not parts:
        return last
    if len(parts) == 1:
        one = parts[0]

        def two(f: Frame) -> Any:
            one(f)
            return last(f)

        return two
    if len(parts) == 2:
        first, second = parts

        def three(f: Frame) -> Any:
            first(f)
            second(f)
            return last(f)

        return three

    def execute(f: Frame) -> Any:
        for part in parts:
            part(f)
        return last(f)

    return execute


def jumping_sequence(parts: list[Code]) -> Code:
    def execute(f: Frame) -> Any:
        for part in parts:
            signal = part(f)
            if signal is not None:
                return signal
        return None

    return execute


def discarding(value: Code) -> Code:
    def execute(f: Frame) -> None:
        value(f)

    return execute


@compiles(ast.Expr)
def compile_expression_statement(node: ast.Expr, unit: Unit) -> Code:
    return unit.compile(node.value)


@compiles(ast.Break)
def compile_break(node: ast.Break, unit: Unit) -> Code:
    return lambda f: BREAK


@compiles(ast.Continue)
def compile_continue(node: ast.Continue, unit: Unit) -> Code:
    return lambda f: CONTINUE


@compiles(ast.Return)
def compile_return(node: ast.Return, unit: Unit) -> Code:
    if node.value is None:
        return lambda f: (None,)
    value = unit.compile(node.value)
    return lambda f: (value(f),)


# ---- assignment


@compiles(ast.Assign)
def compile_assign(node: ast.Assign, unit: Unit) -> Code:
    if len(node.targets) == 1:
        return compile_single_assignment(node.targets[0], node.value, unit)
    value, stores = unit.compile(node.value), [compile_store(t, unit) for t in node.targets]

    def execute(f: Frame) -> None:
        result = value(f)
        for store in stores:
            store(f, result)

    return execute


def compile_single_assignment(target: ast.expr, source: ast.expr, unit: Unit) -> Code:
    name = unit.stored_variable(target)
    if name is not None:
        return compile_assignment(name, source, unit)
    value = unit.compile(source)
    if isinstance(target, ast.Tuple) and len(target.elts) == 2:
        first, second = (unit.stored_variable(e) for e in target.elts)
        if first is not None and second is not None:
            return unpack_two(first, second, value, unit.origin(target))
    store = compile_store(target, unit)

    def execute(f: Frame) -> None:
        store(f, value(f))

    return execute


def unpack_two(first: str, second: str, value: Code, origin: int) -> Code:
    """Compile `a, b = value` for two frame variables; Python does the unpacking."""

    def execute(f: Frame) -> None:
        pair = value(f)
        state.origin = origin
        f[first], f[second] = pair

    return execute


@compiles(ast.AnnAssign)
def compile_annotated(node: ast.AnnAssign, unit: Unit) -> Code:
    if node.value is None or (declares_input(node) and unit.scope.kind == "module"):
        return lambda f: None  # an input, which already has its value
    return compile_single_assignment(node.target, node.value, unit)


@compiles(ast.AugAssign)
def compile_augmented(node: ast.AugAssign, unit: Unit) -> Code:
    target = node.target
    if isinstance(target, ast.Name):
        return compile_augmented_name(node, target, unit)
    direct, apply, guarded = unit.operator(type(node.op), inplace=True)
    value, owner = unit.compile(node.value), unit.compile(target.value)
    origin, place = unit.origin(node), unit.origin(target)
    if isinstance(target, ast.Attribute):
        key, get, put = target.attr, unit.gate.get, attribute_writer(target.attr, unit)
        readable = unit.gate.readable(key)

        def on_attribute(f: Frame) -> None:
            holder = owner(f)
            state.origin = place
            old = getattr(holder, key) if type(holder) in readable else get(holder, key)
            new = value(f)
            state.origin = origin
            put(holder, apply(old, new) if type(old) in direct else guarded(old, new))

        return on_attribute
    item, read, write = unit.compile(target.slice), item_reader(unit.meter), item_writer(unit.meter)

    def on_item(f: Frame) -> None:
        holder = owner(f)
        index = item(f)
        state.origin = place
        old = read(holder, index)
        new = value(f)
        state.origin = origin
        write(holder, index, apply(old, new) if type(old) in direct else guarded(old, new))

    return on_item


def compile_augmented_name(node: ast.AugAssign, target: ast.Name, unit: Unit) -> Code:
    load, name = ast.copy_location(ast.Name(target.id, ast.Load()), target), unit.stored_variable(target)
    operator, origin = unit.operator(type(node.op), inplace=True), unit.origin(node)
    change = binary_code(operator, load, node.value, unit, origin, name)
    if name is not None:
        return change
    store = unit.store(target.id)

    def execute(f: Frame) -> None:
        store(f, change(f))

    return execute


@compiles(ast.Delete)
def compile_delete_statement(node: ast.Delete, unit: Unit) -> Code:
    *parts, last = [compile_delete(target, unit) for target in node.targets]
    return sequence(parts, last)


# ---- raising


@compiles(ast.Raise)
def compile_raise(node: ast.Raise, unit: Unit) -> Code:
    origin = unit.origin(node)
    if node.exc is None:
        return compile_reraise(origin)
    value, cause = unit.compile(node.exc), None if node.cause is None else unit.compile(node.cause)

    def execute(f: Frame) -> Any:
        error = value(f)
        claim(error)
        if cause is None:
            state.origin = origin
            raise error
        reason = cause(f)
        state.origin = origin
        raise error from reason

    return execute


def compile_reraise(origin: int) -> Code:
    """Compile a bare `raise`: it runs within a Python handler, so Python knows the exception to re-raise."""

    def execute(f: Frame) -> Any:
        if sys.exc_info()[1] is None:
            state.origin = origin
            raise RuntimeError("No active exception to reraise")
        raise

    return execute


@compiles(ast.Assert)
def compile_assert(node: ast.Assert, unit: Unit) -> Code:
    test, message = unit.compile(node.test), None if node.msg is None else unit.compile(node.msg)
    origin = unit.origin(node.test)

    def execute(f: Frame) -> None:
        value = test(f)
        state.origin = origin
        if not value:
            raise AssertionError(*([message(f)] if message is not None else []))

    return execute


# ---- definitions and imports


@compiles(ast.FunctionDef, ast.ClassDef)
def compile_definition(node: Any, unit: Unit) -> Code:
    from gradtrace.lang.classes import compile_class
    from gradtrace.lang.functions import compile_function

    decorators = [unit.located(d) for d in node.decorator_list]
    make = compile_class(node, unit) if isinstance(node, ast.ClassDef) else compile_function(node, unit)
    store = unit.store(node.name)
    if not decorators:
        return lambda f: store(f, make(f))

    def execute(f: Frame) -> None:
        wrappers = [(d(f), origin) for d, origin in decorators]
        definition = make(f)
        for wrapper, origin in reversed(wrappers):
            state.origin = origin
            (given,), _ = admitted(wrapper, (definition,), {})
            definition = wrapper(given)
        store(f, definition)

    return execute


@compiles(ast.Import)
def compile_import(node: ast.Import, unit: Unit) -> Code:
    from gradtrace.lang import namespaces

    origin = unit.origin(node)
    names = [(a.name, a.asname is not None, unit.store(a.asname or a.name.partition(".")[0])) for a in node.names]
    machine = unit.machine

    def execute(f: Frame) -> None:
        state.origin = origin
        for name, renamed, store in names:
            own = machine.own_module(name)
            if own is not None:
                store(f, own if renamed else machine.own_module(name.partition(".")[0]) or own)
                continue
            whole = namespaces.import_module(name, machine.modules)
            store(f, whole if renamed else namespaces.import_module(name.partition(".")[0], machine.modules))

    return execute


@compiles(ast.ImportFrom)
def import_from(node: ast.ImportFrom, unit: Unit) -> Code:
    from gradtrace.lang import namespaces

    origin, module, machine = unit.origin(node), "." * node.level + (node.module or ""), unit.machine
    names = [(a.name, a.asname or a.name) for a in node.names]
    everything = names[0][0] == "*"
    if everything:
        names = [(name, name) for name in namespaces.exported_names(module)]
    stores = [(name, unit.store(own)) for name, own in names]

    def execute(f: Frame) -> None:
        state.origin = origin
        own = machine.own_module(node.module or "", node.level)
        if own is not None and machine.own_modules is not None:
            if everything:
                for name in machine.own_modules.names(own):
                    machine.env[name] = machine.own_modules.take(own, name, machine)
                return
            for name, store in stores:
                store(f, machine.own_modules.take(own, name, machine))
            return
        if not stores:
            namespaces.import_module(module, machine.modules)
        for name, store in stores:
            store(f, namespaces.import_from(module, name, machine.modules))

    return execute
