"""Compilers of compound statements: if, while, for, with, try.

A GradtraceError (a limit reached, a construct refused) skips every handler, `finally` and `__exit__` of the program, so
no program can catch or delay it.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Callable
from gradtrace.engine.state import state
from gradtrace.errors import GradtraceError
from gradtrace.lang import syntax as ast
from gradtrace.lang.budget import Meter, is_out_of_memory, out_of_memory
from gradtrace.lang.exceptions import as_known
from gradtrace.lang.places import header, in_pass_scope, in_scope
from gradtrace.lang.statements import BREAK, CONTINUE, compile_block, compiles, may_jump
from gradtrace.lang.targets import compile_store
from gradtrace.lang.unit import Code, Frame, Unit


def compile_optional_block(body: list[ast.stmt], unit: Unit) -> Code | None:
    return compile_block(body, unit) if body else None


@compiles(ast.If)
def compile_if(node: ast.If, unit: Unit) -> Code:
    branches, other = [], node
    while True:
        branches.append((unit.compile(other.test), unit.origin(other.test), other.body))
        if len(other.orelse) != 1 or not isinstance(other.orelse[0], ast.If):
            break
        other = other.orelse[0]
    last = compile_optional_block(other.orelse, unit)
    if len(branches) == 1:
        return one_branch(branches[0], last, unit)
    blocks = [(test, origin, compile_block(body, unit)) for test, origin, body in branches]

    def execute(f: Frame) -> Any:
        for test, origin, body in blocks:
            value = test(f)
            state.origin = origin
            if value:
                return body(f)
        return last(f) if last is not None else None

    return execute


def one_branch(branch: tuple[Code, int, list[ast.stmt]], other: Code | None, unit: Unit) -> Code:
    test, origin, statements = branch
    body = compile_block(statements, unit)
    if other is None:

        def without_else(f: Frame) -> Any:
            value = test(f)
            state.origin = origin
            return body(f) if value else None

        return without_else

    def either(f: Frame) -> Any:
        value = test(f)
        state.origin = origin
        return body(f) if value else other(f)

    return either


def loop_body(node: ast.For | ast.While, unit: Unit) -> Code:
    body = compile_block(node.body, unit)
    return in_pass_scope(body) if unit.machine.recording else body


def as_loop(node: ast.For | ast.While, execute: Code, unit: Unit) -> Code:
    return in_scope("loop", header(node, unit), execute) if unit.machine.recording else execute


@compiles(ast.While)
def compile_while(node: ast.While, unit: Unit) -> Code:
    test, origin = unit.compile(node.test), unit.origin(node.test)
    body, meter = loop_body(node, unit), unit.meter
    other, leaving = compile_optional_block(node.orelse, unit), may_jump(node.body)

    def execute(f: Frame) -> Any:
        while True:
            value = test(f)
            state.origin = origin
            if not value:
                return other(f) if other is not None else None
            meter.left -= 1
            if meter.left < 0:
                meter.grant()
            signal = body(f)
            if leaving and signal is not None and signal is not CONTINUE:
                return None if signal is BREAK else signal

    return as_loop(node, execute, unit)


@compiles(ast.For)
def compile_for(node: ast.For, unit: Unit) -> Code:
    items, origin = unit.compile(node.iter), unit.origin(node.iter)
    body, meter = loop_body(node, unit), unit.meter
    other, name = compile_optional_block(node.orelse, unit), unit.stored_variable(node.target)
    if name is not None and not may_jump(node.body):
        return as_loop(node, simple_for(items, name, body, other, meter, origin), unit)
    store, leaving = compile_store(node.target, unit), may_jump(node.body)

    def execute(f: Frame) -> Any:
        iterable = items(f)
        state.origin = origin
        for item in iterable:
            meter.left -= 1
            if meter.left < 0:
                meter.grant()
            store(f, item)
            signal = body(f)
            if leaving and signal is not None and signal is not CONTINUE:
                return None if signal is BREAK else signal
        return other(f) if other is not None else None

    return as_loop(node, execute, unit)


def simple_for(items: Code, name: str, body: Code, other: Code | None, meter: Meter, origin: int) -> Code:
    """Return the closure of a loop whose target is a frame variable and whose body has no jumps: a fast path."""

    def execute(f: Frame) -> Any:
        iterable = items(f)
        state.origin = origin
        for f[name] in iterable:
            meter.left -= 1
            if meter.left < 0:
                meter.grant()
            body(f)
        return other(f) if other is not None else None

    return execute


# ---- with


@compiles(ast.With)
def compile_with(node: ast.With, unit: Unit) -> Code:
    execute = compile_block(node.body, unit)
    for item in reversed(node.items):
        store = None if item.optional_vars is None else compile_store(item.optional_vars, unit)
        execute = managed(unit.compile(item.context_expr), unit.origin(item.context_expr), store, execute)
    return execute


def managed(manager: Code, origin: int, store: Any, body: Code) -> Code:
    """Compile one item of a `with`. `__exit__` gets the type and value of an exception, but no traceback."""

    def execute(f: Frame) -> Any:
        context = manager(f)
        state.origin = origin
        enter, leave = protocol(context)
        value = enter(context)
        try:
            if store is not None:
                store(f, value)
            signal = body(f)
        except (GradtraceError, KeyboardInterrupt):
            raise
        except Exception as error:
            place = state.origin
            raise_if_out_of_memory(error)
            known = as_known(error)
            if not leave(context, type(known), known, None):
                state.origin = place
                raise
            return None
        except BaseException as error:
            known = as_known(error)
            leave(context, type(known), known, None)
            raise
        leave(context, None, None, None)
        return signal

    return execute


def protocol(context: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    kind = type(context)
    enter, leave = getattr(kind, "__enter__", None), getattr(kind, "__exit__", None)
    if enter is None or leave is None:
        missing = "" if enter is None else " (missed __exit__ method)"
        raise TypeError(f"'{kind.__name__}' object does not support the context manager protocol{missing}")
    return enter, leave


# ---- try


@compiles(ast.Try)
def compile_try(node: ast.Try, unit: Unit) -> Code:
    execute = compile_block(node.body, unit)
    if node.handlers:
        execute = handled(execute, [Handler(h, unit) for h in node.handlers], compile_optional_block(node.orelse, unit))
    if node.finalbody:
        execute = finalized(execute, compile_block(node.finalbody, unit))
    return execute


class Handler:
    """One `except kind as name: body` clause."""

    def __init__(self, node: ast.ExceptHandler, unit: Unit) -> None:
        self.kind = None if node.type is None else unit.compile(node.type)
        self.origin = unit.origin(node.type or node)
        self.body = compile_block(node.body, unit)
        target = None if node.name is None else ast.copy_location(ast.Name(node.name, ast.Store()), node)
        self.store = None if target is None else unit.store(target.id)
        self.discard = None if target is None else unit.discard(target.id)

    def takes(self, f: Frame, error: BaseException) -> bool:
        if self.kind is None:
            return True
        kind = self.kind(f)
        state.origin = self.origin
        for one in kind if type(kind) is tuple else (kind,):
            if not (isinstance(one, type) and issubclass(one, BaseException)):
                raise TypeError("catching classes that do not inherit from BaseException is not allowed")
        return isinstance(error, kind)

    def execute(self, f: Frame, error: BaseException) -> Any:
        if self.store is None or self.discard is None:
            return self.body(f)
        self.store(f, error)
        try:
            return self.body(f)
        finally:
            self.discard(f)


def handled(body: Code, handlers: list[Handler], other: Code | None) -> Code:
    def execute(f: Frame) -> Any:
        try:
            signal = body(f)
        except GradtraceError:
            raise
        except (Exception, SystemExit) as error:
            place = state.origin
            raise_if_out_of_memory(error)
            known = as_known(error)
            for handler in handlers:
                if handler.takes(f, known):
                    error.__traceback__ = None  # programs must not see frames or keep ours alive
                    return handler.execute(f, known)
            state.origin = place
            raise
        return other(f) if other is not None and signal is None else signal

    return execute


def raise_if_out_of_memory(error: BaseException) -> None:
    """Raise BudgetError, which the program cannot catch, if `error` means that the process ran out of memory."""
    if is_out_of_memory(error):
        raise out_of_memory() from error


def finalized(body: Code, last: Code) -> Code:
    def execute(f: Frame) -> Any:
        try:
            signal = body(f)
        except (GradtraceError, KeyboardInterrupt):
            raise
        except BaseException as error:
            place = state.origin
            raise_if_out_of_memory(error)
            late = last(f)
            if late is not None:
                return late
            state.origin = place
            raise
        late = last(f)
        return signal if late is None else late

    return execute
