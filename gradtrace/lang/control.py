"""Compilers of compound statements: if, while, for, with, try.

A GradtraceError (a limit reached, a construct refused) skips every handler, `finally` and `__exit__` of the program, so
no program can catch or delay it.
"""

from __future__ import annotations

from gradtrace.annotations import Any, AnyFunction, Callable
from gradtrace.engine.data.state import state
from gradtrace.errors import GradtraceError
from gradtrace.lang.budget import Meter, is_out_of_memory, out_of_memory
from gradtrace.lang.exceptions import as_known
from gradtrace.lang.expressions import compiles
from gradtrace.lang.places import header, in_pass_scope, in_scope
from gradtrace.lang.statements import BREAK, CONTINUE, compile_block, may_jump
from gradtrace.lang.targets import compile_store
from gradtrace.lang.unit import Code, Frame, Store, Unit
from gradtrace.program import syntax as ast

Raised = Callable[[BaseException], BaseException]


@compiles(ast.If)
def compile_if(node: ast.If, unit: Unit) -> Code:
    branches, other = [], node
    while True:
        branches.append((*unit.located(other.test), other.body))
        if len(other.orelse) != 1 or not isinstance(other.orelse[0], ast.If):
            break
        other = other.orelse[0]
    last = compile_block(other.orelse, unit)
    if len(branches) == 1:
        return one_branch(branches[0], last if other.orelse else None, unit)
    blocks = [(test, origin, compile_block(body, unit)) for test, origin, body in branches]

    def execute(f: Frame) -> Any:
        for test, origin, body in blocks:
            value = test(f)
            state.origin = origin
            if value:
                return body(f)
        return last(f)

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
    test, origin = unit.located(node.test)
    body, meter = loop_body(node, unit), unit.meter
    other, leaving = compile_block(node.orelse, unit), may_jump(node.body)

    def execute(f: Frame) -> Any:
        while True:
            value = test(f)
            state.origin = origin
            if not value:
                return other(f)
            meter.left -= 1
            if meter.left < 0:
                meter.grant()
            signal = body(f)
            if leaving and signal is not None and signal is not CONTINUE:
                return None if signal is BREAK else signal

    return as_loop(node, execute, unit)


@compiles(ast.For)
def compile_for(node: ast.For, unit: Unit) -> Code:
    items, origin = unit.located(node.iter)
    body, meter = loop_body(node, unit), unit.meter
    other, name = compile_block(node.orelse, unit), unit.stored_variable(node.target)
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
            state.origin = origin  # the next item may be computed
            if leaving and signal is not None and signal is not CONTINUE:
                return None if signal is BREAK else signal
        return other(f)

    return as_loop(node, execute, unit)


def simple_for(items: Code, name: str, body: Code, other: Code, meter: Meter, origin: int) -> Code:
    """Return the closure of a loop whose target is a frame variable and whose body has no jumps: a fast path."""

    def execute(f: Frame) -> Any:
        iterable = items(f)
        state.origin = origin
        for f[name] in iterable:
            meter.left -= 1
            if meter.left < 0:
                meter.grant()
            body(f)
            state.origin = origin  # the next item may be computed
        return other(f)

    return execute


# ---- with


@compiles(ast.With)
def compile_with(node: ast.With, unit: Unit) -> Code:
    execute = compile_block(node.body, unit)
    for item in reversed(node.items):
        store = None if item.optional_vars is None else compile_store(item.optional_vars, unit)
        execute = managed(*unit.located(item.context_expr), store, execute)
    return execute


def managed(manager: Code, origin: int, store: Store | None, body: Code) -> Code:
    """Compile one item of a `with`."""

    def execute(f: Frame) -> Any:
        context = manager(f)
        state.origin = origin
        with Entered(context) as value:
            if store is not None:
                store(f, value)
            return body(f)
        return None

    return execute


def as_it_is(error: BaseException) -> BaseException:
    return error


class Entered:
    """A context manager of a program; its `__exit__` gets the type and value of an exception, but no traceback.

    `raised` returns the exception that the program raised.
    """

    __slots__ = ("context", "leave", "raised")

    def __init__(self, context: Any, raised: Raised = as_it_is) -> None:
        self.context = context
        self.raised = raised

    def __enter__(self) -> Any:
        enter, self.leave = protocol(self.context)
        return enter(self.context)

    def __exit__(self, kind: Any, error: BaseException | None, _: object) -> bool:
        if error is None:
            self.leave(self.context, None, None, None)
            return False
        if isinstance(error, (GradtraceError, KeyboardInterrupt)):
            return False
        place = state.origin
        is_exception = isinstance(error, Exception)
        if is_exception:
            raise_if_out_of_memory(error)
        known = as_known(self.raised(error))
        suppressed = self.leave(self.context, type(known), known, None)
        if is_exception and suppressed:
            return True
        if is_exception:
            state.origin = place
        return False


def protocol(context: Any) -> tuple[AnyFunction, AnyFunction]:
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
        handlers = [Handler(h, unit, compile_block(h.body, unit)) for h in node.handlers]
        execute = handled(execute, handlers, compile_block(node.orelse, unit) if node.orelse else None)
    if node.finalbody:
        execute = finalized(execute, compile_block(node.finalbody, unit))
    return execute


class Handler:
    """One `except kind as name: body` clause; `store` and `discard` bind and remove the name."""

    def __init__(self, node: ast.ExceptHandler, unit: Unit, body: Any) -> None:
        self.kind = None if node.type is None else unit.compile(node.type)
        self.origin = unit.origin(node.type or node)
        self.body = body
        self.store: Store = ignore if node.name is None else unit.store(node.name)
        self.discard: Code = ignore if node.name is None else unit.discard(node.name)

    def takes(self, f: Frame, error: BaseException) -> bool:
        if self.kind is None:
            return True
        kinds = self.kind(f)
        state.origin = self.origin
        for kind in kinds if type(kinds) is tuple else (kinds,):
            if not (isinstance(kind, type) and issubclass(kind, BaseException)):
                raise TypeError("catching classes that do not inherit from BaseException is not allowed")
        return isinstance(error, kinds)


def ignore(*_: Any) -> None:
    return None


def choose_handler(
    handlers: list[Handler], f: Frame, error: BaseException, raised: Raised = as_it_is
) -> tuple[Handler, BaseException] | None:
    """Return the first handler that takes an exception, and the exception as the program sees it; else None."""
    place = state.origin
    raise_if_out_of_memory(error)
    known = as_known(raised(error))
    vars(known).setdefault("__origin__", place)  # for `tracebacks`
    for handler in handlers:
        if handler.takes(f, known):
            error.__traceback__ = known.__traceback__ = None  # programs must not see frames or keep ours alive
            return handler, known
    state.origin = place
    return None


def handled(body: Code, handlers: list[Handler], other: Code | None) -> Code:
    def execute(f: Frame) -> Any:
        try:
            signal = body(f)
        except GradtraceError:
            raise
        except (Exception, SystemExit) as error:
            choice = choose_handler(handlers, f, error)
            if choice is None:
                raise
            handler, known = choice
            handler.store(f, known)
            try:
                return handler.body(f)
            finally:
                handler.discard(f)
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
