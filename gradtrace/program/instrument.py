"""Change the syntax tree of a program that is recorded, so that it notes its functions, loops and
their passes.

The functions that the changed tree calls have names that are no identifiers; they are the methods
of `Scopes`.
"""

from __future__ import annotations

import ast

from gradtrace.annotations import Any, Callable, Iterator
from gradtrace.engine.data.state import Scope, state
from gradtrace.program.places import ProgramPlaces
from gradtrace.program.source import Span
from gradtrace.program.values import call, is_text

FUNCTION = "<function>"
LAMBDA = "<lambda>"
LOOP = "<loop>"
PASSES = "<passes>"
COUNT = "<count>"
TEST = "<test>"
LEAVE = "<leave>"
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def instrumented(tree: ast.Module, places: ProgramPlaces, file: int) -> ast.Module:
    """Return a tree with calls that note functions, loops and their passes."""
    return ast.fix_missing_locations(Instrument(places, file).visit(tree))


class Instrument(ast.NodeTransformer):
    """Adds calls that set `state.scope` around functions, lambdas, loops and passes, except in
    generators.
    """

    def __init__(self, places: ProgramPlaces, file: int) -> None:
        self.places = places
        self.file = file
        self.names: list[str] = []  # the qualified name of the function or class around

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        self.inside(node, [node.name])
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        name = ".".join([*self.names, node.name])
        if yields(node):
            return node
        self.inside(node, [node.name, "<locals>"])
        first = 1 if is_text(node.body[0]) else 0
        head = node.body[:first]
        body = node.body[first:]
        if body:
            enter = ast.Expr(call(FUNCTION, [constant(name, body[0])], body[0]))
            node.body = [*head, ast.copy_location(enter, body[0]), self.leaving(body)]
        return node

    def inside(self, node: Any, names: list[str]) -> None:
        self.names += names
        self.generic_visit(node)
        del self.names[-len(names) :]

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        if yields(node):
            return node
        name = ".".join([*self.names, "<lambda>"])
        self.names += ["<lambda>", "<locals>"]
        body = self.visit(node.body)
        del self.names[-2:]
        inner = ast.copy_location(ast.Lambda(no_arguments(), body), node.body)
        node.body = call(LAMBDA, [constant(name, node.body), inner], node.body)
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> Any:
        return node

    def visit_For(self, node: ast.For) -> Any:
        header = self.header(node, node.iter)
        name = counter_of(node)
        self.generic_visit(node)
        node.iter = call(PASSES, [node.iter], node.iter)
        if name is not None:
            first = node.body[0]
            value = ast.copy_location(ast.Name(name, ast.Load()), first)
            count = ast.Expr(call(COUNT, [constant(name, first), value], first))
            node.body = [ast.copy_location(count, first), *node.body]
        return self.loop(node, header)

    def visit_While(self, node: ast.While) -> Any:
        header = self.header(node, node.test)
        self.generic_visit(node)
        test = call(TEST, [], node.test)
        node.test = ast.copy_location(ast.BoolOp(ast.Or(), [test, node.test]), node.test)
        begin = ast.Expr(call(PASSES, [], node.body[0]))
        node.body = [ast.copy_location(begin, node.body[0]), *node.body]
        return self.loop(node, header)

    def header(self, node: Any, end: Any) -> int:
        """Return the number of a loop's first line: `for i in range(3)`, `while x < 2`."""
        return self.places.add_span(
            Span(node.lineno, node.col_offset, end.end_lineno, end.end_col_offset, self.file)
        )

    def loop(self, node: Any, header: int) -> Any:
        begin = ast.Expr(call(LOOP, [constant(header, node)], node))
        return [ast.copy_location(begin, node), self.leaving([node])]

    def leaving(self, body: list[Any]) -> Any:
        """Return a statement that leaves the innermost scope after the body."""
        leave = ast.copy_location(ast.Expr(call(LEAVE, [], body[-1])), body[-1])
        return ast.copy_location(ast.Try(body, [], [], [leave]), body[0])


def counter_of(loop: Any) -> str | None:
    """Return the variable of a `for` that may count its iterations: `i`, also in `i, batch`; None
    for `_`.
    """
    parts: Any = getattr(loop.target, "elts", None) or [loop.target]
    name = getattr(parts[0], "id", "_")
    return None if name.startswith("_") else name


def constant(value: Any, place: Any) -> Any:
    return ast.copy_location(ast.Constant(value), place)


def no_arguments() -> ast.arguments:
    return ast.arguments([], [], None, [], [], None, [])


def yields(node: Any) -> bool:
    """Whether a function is a generator, which other code can run in between."""
    waiting: list[Any] = [node.body] if isinstance(node, ast.Lambda) else list(node.body)
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, (ast.Yield, ast.YieldFrom, ast.Await)):
            return True
        if not isinstance(inner, (*FUNCTIONS, ast.ClassDef)):
            waiting += ast.iter_child_nodes(inner)
    return False


class Scopes:
    """What an instrumented tree calls."""

    def __init__(self, places: ProgramPlaces) -> None:
        self.places = places
        self.functions: dict[str, Callable[..., Any]] = {
            FUNCTION: self.enter_function,
            LAMBDA: self.run_lambda,
            LEAVE: self.leave,
            LOOP: self.enter_loop,
            PASSES: self.passes,
            COUNT: self.count,
            TEST: self.test,
        }

    def enter_function(self, name: str) -> None:
        scope = state.scope = Scope(state.scope, "function", name)
        scope.origin = self.places.here(3)  # where the function is called

    def run_lambda(self, name: str, body: Callable[[], Any]) -> Any:
        outer = state.scope
        scope = state.scope = Scope(outer, "function", name)
        scope.origin = self.places.here(3)
        try:
            return body()
        finally:
            state.scope = outer

    def leave(self) -> None:
        """Leave the innermost function or loop; what is inside of it has ended."""
        scope = state.scope
        if scope.kind == "pass":
            scope = scope.parent
        state.scope = scope.parent

    def enter_loop(self, header: int) -> None:
        state.scope = Scope(state.scope, "loop", header)

    def passes(self, *iterable: Any) -> Any:
        if iterable:
            return Passes(state.scope, iterable[0])
        self.begin_pass(state.scope)

    @staticmethod
    def count(name: str, value: Any) -> None:
        if type(value) is int:
            state.scope.counter = f"{name}={value}"

    def test(self) -> bool:
        """Return False, after leaving the pass of a `while` whose test comes next."""
        if state.scope.kind == "pass":
            state.scope = state.scope.parent
        return False

    @staticmethod
    def begin_pass(loop: Scope) -> None:
        state.scope = Scope(loop, "pass", loop.subject, loop.count)
        loop.count += 1


class Passes:
    """The items of a `for`; each is drawn in its own pass, as a loader's batch belongs to the step
    that uses it.
    """

    def __init__(self, loop: Scope, iterable: Any) -> None:
        self.loop = loop
        self.items = iter(iterable)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        Scopes.begin_pass(self.loop)
        try:
            return next(self.items)
        except BaseException:
            self.loop.count -= 1
            state.scope = self.loop
            raise
