"""Compilers of functions that contain `yield`.

The body of a generator function is compiled in a second mode: a statement or expression that contains a `yield` becomes
a Python generator function over the frame, and Python's own `yield from` suspends and resumes it. All other statements
and expressions are compiled as everywhere else. An operand that is evaluated before a `yield` of the same expression is
stored in a temporary variable of the frame, so the order of evaluation is Python's.
"""

from __future__ import annotations

import copy

from gradtrace.annotations import TYPE_CHECKING, Any, Callable, Iterator
from gradtrace.engine.data.state import state
from gradtrace.errors import GradtraceError, UnsupportedError
from gradtrace.lang.control import Entered, Handler, choose_handler, ignore, raise_if_out_of_memory
from gradtrace.lang.generator_values import Closing, Generator, as_raised
from gradtrace.lang.matching import compile_cases
from gradtrace.lang.scope import COMPREHENSIONS
from gradtrace.lang.statements import BREAK, CONTINUE, compile_block, compile_statement, discarding, effective
from gradtrace.lang.targets import compile_store
from gradtrace.lang.unit import Code, Frame, Unit
from gradtrace.program import syntax as ast

if TYPE_CHECKING:
    from collections.abc import Generator as PythonGenerator

    Suspending = PythonGenerator[Any, Any, Any]
else:
    Suspending = Any

YIELDS = (ast.Yield, ast.YieldFrom)
Steps = Callable[[Frame], Suspending]  # the value of the Python generator is a signal or the expression's value


def steps_of(code: Code) -> Steps:
    """Return the generator function of a closure that contains no `yield`."""

    def execute(f: Frame) -> Suspending:
        yield from ()
        return code(f)

    return execute


def generator_body(node: Any, unit: Unit) -> Code:
    """Return the closure that creates a call's generator from the frame that holds the call's arguments."""
    compiler = Compiler(unit, yielding_nodes(node))
    statements = [ast.copy_location(ast.Return(node.body), node.body)] if type(node) is ast.Lambda else node.body
    if type(node) is ast.Lambda:
        compiler.marked.add(statements[0])
    steps = compiler.block(statements)
    name, qualname, meter = getattr(node, "name", "<lambda>"), unit.scope.qualname, unit.meter
    recording = unit.machine.recording
    return lambda frame: Generator(steps, frame, name, qualname, meter, recording)


def yielding_nodes(function: Any) -> set[ast.AST]:
    """Return the nodes of a function that are or contain one of its own `yield` expressions."""
    marked: set[ast.AST] = set()
    body = function.body if isinstance(function.body, list) else [function.body]
    todo: list[tuple[ast.AST, bool]] = [(node, False) for node in body]
    while todo:
        node, done = todo.pop()
        inner = list(own_children(node))
        if done:
            if isinstance(node, YIELDS) or any(child in marked for child in inner):
                marked.add(node)
            continue
        todo.append((node, True))
        todo += [(child, False) for child in inner]
    return marked


def own_children(node: Any) -> Iterator[ast.AST]:
    """Yield the children of a node that belong to the same function."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        yield from node.decorator_list
        if isinstance(node, ast.ClassDef):
            yield from node.bases
            return
    if isinstance(node, (ast.FunctionDef, ast.Lambda)):
        yield from (d for d in (*node.args.defaults, *node.args.kw_defaults) if d is not None)
    elif isinstance(node, COMPREHENSIONS):
        yield node.generators[0].iter
    else:
        yield from ast.iter_child_nodes(node)


class Compiler:
    """The compiler of one generator function, for the nodes that contain a `yield`."""

    def __init__(self, unit: Unit, marked: set[ast.AST]) -> None:
        self.unit = unit
        self.marked = marked
        self.temporaries = 0

    # ---- statements

    def block(self, body: list[ast.stmt]) -> Steps:
        if not any(node in self.marked for node in body):
            return steps_of(compile_block(body, self.unit))
        parts = [(node in self.marked, self.statement(node)) for node in effective(body)]

        def execute(f: Frame) -> Suspending:
            for suspends, code in parts:
                signal = (yield from code(f)) if suspends else code(f)
                if signal is not None:
                    return signal
            return None

        return execute

    def statement(self, node: ast.stmt) -> Any:
        """Compile a statement: to steps if it contains a `yield`, else to a closure."""
        if node not in self.marked:
            code = compile_statement(node, self.unit)
            return discarding(code) if type(node) is ast.Expr else code
        compound = COMPOUND.get(type(node))
        if compound is not None:
            return compound(self, node)
        if isinstance(node, ast.Expr):
            return ignoring_steps(self.expression(node.value))
        return self.with_operands(node, lambda plain: compile_statement(plain, self.unit))

    def if_statement(self, node: ast.If) -> Steps:
        origin = self.unit.origin(node.test)
        return branching(self.part(node.test), self.block(node.body), self.block(node.orelse), origin)

    def while_statement(self, node: ast.While) -> Steps:
        test, origin, meter = self.part(node.test), self.unit.origin(node.test), self.unit.meter
        body, other = self.block(node.body), self.block(node.orelse)

        def execute(f: Frame) -> Suspending:
            while True:
                value = yield from test(f)
                state.origin = origin
                if not value:
                    return (yield from other(f))
                meter.count_steps(1)
                signal = yield from body(f)
                if signal is not None and signal is not CONTINUE:
                    return None if signal is BREAK else signal

        return execute

    def for_statement(self, node: ast.For) -> Steps:
        items, origin, meter = self.part(node.iter), self.unit.origin(node.iter), self.unit.meter
        body, other = self.block(node.body), self.block(node.orelse)
        store = compile_store(node.target, self.unit)

        def execute(f: Frame) -> Suspending:
            iterable = yield from items(f)
            state.origin = origin
            for item in iterable:
                meter.count_steps(1)
                store(f, item)
                signal = yield from body(f)
                state.origin = origin  # the next item may be computed
                if signal is not None and signal is not CONTINUE:
                    return None if signal is BREAK else signal
            return (yield from other(f))

        return execute

    def with_statement(self, node: ast.With) -> Steps:
        body = self.block(node.body)
        for item in reversed(node.items):
            body = self.managed(item, body)
        return body

    def managed(self, item: ast.withitem, body: Steps) -> Steps:
        """Compile one item of a `with`."""
        manager, origin = self.part(item.context_expr), self.unit.origin(item.context_expr)
        store = None if item.optional_vars is None else compile_store(item.optional_vars, self.unit)

        def execute(f: Frame) -> Suspending:
            context = yield from manager(f)
            state.origin = origin
            with Entered(context, as_raised) as value:
                if store is not None:
                    store(f, value)
                return (yield from body(f))

        return execute

    def try_statement(self, node: ast.Try) -> Steps:
        body = self.block(node.body)
        if node.handlers:
            handlers = [Handler(h, self.unit, self.block(h.body)) for h in node.handlers]
            body = handled(body, handlers, self.block(node.orelse))
        if node.finalbody:
            body = finalized(body, self.block(node.finalbody))
        return body

    def match_statement(self, node: ast.Match) -> Steps:
        subject, origin = self.part(node.subject), self.unit.origin(node.subject)
        blocks = [self.block(case.body) for case in node.cases]
        choose = compile_cases(node, self.unit)

        def execute(f: Frame) -> Suspending:
            value = yield from subject(f)
            state.origin = origin
            chosen = choose(f, value)
            return None if chosen is None else (yield from blocks[chosen](f))

        return execute

    # ---- expressions

    def part(self, node: ast.expr) -> Steps:
        return self.expression(node) if node in self.marked else steps_of(self.unit.compile(node))

    def expression(self, node: Any) -> Steps:
        """Compile an expression that contains a `yield`."""
        if isinstance(node, ast.Yield):
            return self.yielded(node)
        if isinstance(node, ast.YieldFrom):
            return self.delegated(node)
        if isinstance(node, ast.IfExp):
            return branching(self.part(node.test), self.part(node.body), self.part(node.orelse))
        if isinstance(node, ast.BoolOp):
            return self.boolean(node)
        return self.with_operands(node, self.unit.compile)

    def yielded(self, node: ast.Yield) -> Steps:
        value = steps_of(ignore) if node.value is None else self.part(node.value)

        def execute(f: Frame) -> Suspending:
            result = yield from value(f)
            try:
                return (yield result)
            except Closing:
                raise GeneratorExit from None

        return execute

    def delegated(self, node: ast.YieldFrom) -> Steps:
        value, origin = self.part(node.value), self.unit.origin(node)

        def execute(f: Frame) -> Suspending:
            inner = yield from value(f)
            state.origin = origin
            try:
                return (yield from inner)
            except Closing:
                raise GeneratorExit from None

        return execute

    def boolean(self, node: ast.BoolOp) -> Steps:
        *parts, last = [self.part(value) for value in node.values]
        ends = isinstance(node.op, ast.Or)

        def execute(f: Frame) -> Suspending:
            for part in parts:
                value = yield from part(f)
                if bool(value) is ends:
                    return value
            return (yield from last(f))

        return execute

    def with_operands(self, node: Any, compile_plain: Callable[[Any], Code]) -> Steps:
        """Compile a node whose operands contain a `yield`: evaluate the operands up to the last such one first."""
        plain, places = copied_operands(node)
        last = max((i for i, (holder, key) in enumerate(places) if holder[key] in self.marked), default=None)
        if last is None:
            raise UnsupportedError(
                "'yield' is not part of the language in this place",
                "assign its value to a variable in a statement of its own",
                self.unit.machine.place(self.unit.origin(node)),
            )
        if node in self.unit.machine.scopes:
            self.unit.machine.scopes[plain] = self.unit.machine.scopes[node]
        early: list[tuple[str, Steps]] = []
        for holder, key in places[: last + 1]:
            operand = holder[key]
            if isinstance(operand, ast.Constant):
                continue
            name = self.temporary()
            early.append((name, self.part(operand)))
            holder[key] = ast.copy_location(ast.Name(name, ast.Load()), operand)
        code = compile_plain(plain)

        def execute(f: Frame) -> Suspending:
            for name, part in early:
                f[name] = yield from part(f)
            return code(f)

        return execute

    def temporary(self) -> str:
        """Return a new name for a temporary variable of the frame; programs cannot write this name."""
        self.temporaries += 1
        name = f".{self.temporaries}"
        self.unit.scope.bound.add(name)
        return name


COMPOUND: dict[type, Any] = {
    ast.If: Compiler.if_statement,
    ast.While: Compiler.while_statement,
    ast.For: Compiler.for_statement,
    ast.With: Compiler.with_statement,
    ast.Try: Compiler.try_statement,
    ast.Match: Compiler.match_statement,
}


def branching(test: Steps, yes: Steps, no: Steps, origin: int | None = None) -> Steps:
    """Compile `if` and the conditional expression, which sets no origin."""

    def execute(f: Frame) -> Suspending:
        value = yield from test(f)
        if origin is not None:
            state.origin = origin
        return (yield from (yes if value else no)(f))

    return execute


def ignoring_steps(steps: Steps) -> Steps:
    def execute(f: Frame) -> Suspending:
        yield from steps(f)

    return execute


# ---- operands

# The fields of a node that hold operands, in the order in which Python evaluates them.
ORDER: dict[type, tuple[str, ...]] = {
    **dict.fromkeys((ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return), ("value",)),
    **dict.fromkeys((ast.keyword, ast.Attribute, ast.Starred, ast.NamedExpr), ("value",)),
    **dict.fromkeys((ast.Tuple, ast.List, ast.Set), ("elts",)),
    **dict.fromkeys(COMPREHENSIONS, ("generators",)),
    ast.Raise: ("exc", "cause"),
    ast.Assert: ("test", "msg"),
    ast.Delete: ("targets",),
    ast.FunctionDef: ("decorator_list",),
    ast.ClassDef: ("decorator_list", "bases"),
    ast.BinOp: ("left", "right"),
    ast.UnaryOp: ("operand",),
    ast.Compare: ("left", "comparators"),
    ast.Call: ("func", "args", "keywords"),
    ast.Subscript: ("value", "slice"),
    ast.Slice: ("lower", "upper", "step"),
    ast.JoinedStr: ("values",),
    ast.FormattedValue: ("value", "format_spec"),
    ast.comprehension: ("iter",),
}
# Nodes that are no values themselves; their operands are those of the node around them.
PASSED_THROUGH = (ast.keyword, ast.Starred, ast.Slice, ast.FormattedValue, ast.JoinedStr, ast.comprehension)
Place = tuple[Any, Any]  # the fields of a node with a field's name, or a list with an index


def copied_operands(node: Any) -> tuple[Any, list[Place]]:
    """Return a copy of the node and the places of its operands in the copy, in the order of evaluation."""
    places: list[Place] = []
    return copied(node, places), places


def copied(node: Any, places: list[Place]) -> Any:
    plain = copy.copy(node)
    if isinstance(node, ast.Dict):
        plain.keys, plain.values = list(node.keys), list(node.values)
        for i, key in enumerate(node.keys):
            places += [(plain.keys, i)] if key is not None else []
            places.append((plain.values, i))
        return plain
    for field in ORDER.get(type(node), ()):
        value = getattr(node, field)
        if isinstance(value, list):
            items = list(value)
            setattr(plain, field, items)
            for i in range(len(items)):
                add_operand(items, i, places)
        elif value is not None:
            add_operand(vars(plain), field, places)
    return plain


def add_operand(holder: Any, key: Any, places: list[Place]) -> None:
    if isinstance(holder[key], PASSED_THROUGH):
        holder[key] = copied(holder[key], places)
    else:
        places.append((holder, key))


# ---- try


def handled(body: Steps, handlers: list[Handler], other: Steps) -> Steps:
    def execute(f: Frame) -> Suspending:
        try:
            signal = yield from body(f)
        except GradtraceError:
            raise
        except (Exception, SystemExit, GeneratorExit) as error:
            choice = choose_handler(handlers, f, error, as_raised)
            if choice is None:
                raise
            handler, known = choice
            handler.store(f, known)
            try:
                return (yield from handler.body(f))
            finally:
                handler.discard(f)
        return (yield from other(f)) if signal is None else signal

    return execute


def finalized(body: Steps, last: Steps) -> Steps:
    def execute(f: Frame) -> Suspending:
        try:
            signal = yield from body(f)
        except (GradtraceError, KeyboardInterrupt):
            raise
        except BaseException as error:
            place = state.origin
            raise_if_out_of_memory(error)
            late = yield from last(f)
            if late is not None:
                return late
            state.origin = place
            raise
        late = yield from last(f)
        return signal if late is None else late

    return execute
