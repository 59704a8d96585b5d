"""Compilers of def and lambda. The body is compiled once; defaults and cells are evaluated at each definition."""

from __future__ import annotations

from gradtrace.annotations import Any, Callable
from gradtrace.lang.arguments import Parameters
from gradtrace.lang.budget import Meter
from gradtrace.lang.expressions import compiles
from gradtrace.lang.generator_values import TOO_DEEP
from gradtrace.lang.places import in_scope
from gradtrace.lang.statements import compile_block, effective, may_jump, sequence
from gradtrace.lang.unit import UNBOUND, Code, Frame, Unit
from gradtrace.lang.values import ProgramFunction
from gradtrace.lang.words import Names
from gradtrace.program import syntax as ast


@compiles(ast.Lambda)
def compile_function(node: Any, unit: Unit) -> Callable[[Frame], ProgramFunction]:
    """Return the closure that creates the function."""
    inner = unit.child(node)
    scope, a = inner.scope, node.args
    parameters = Parameters(scope.qualname, a)
    name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
    doc = None if isinstance(node, ast.Lambda) else ast.get_docstring(node, clean=False)
    body, gives_value = compile_body(node, inner)
    if unit.machine.recording and scope.yields is None:
        body = in_scope("function", scope.qualname, body)
    defaults = default_codes(a, unit)
    taken = [(key, unit.scope.cell_key(key)) for key in sorted(scope.free)]
    own = sorted(scope.cells)
    meter = unit.meter

    def make(f: Frame) -> ProgramFunction:
        closure = {key: f[cell] for key, cell in taken}
        values = {key: code(f) for key, code in defaults}
        return ProgramFunction(
            name, scope.qualname, doc, make_call(parameters, values, closure, own, (body, gives_value), meter)
        )

    return make


def default_codes(a: ast.arguments, unit: Unit) -> list[tuple[str, Code]]:
    """Return the defaults in the order in which Python evaluates them."""
    positional = [p.arg for p in (*a.posonlyargs, *a.args)]
    codes = [(name, unit.compile(d)) for name, d in zip(positional[len(positional) - len(a.defaults) :], a.defaults)]
    return codes + [(p.arg, unit.compile(d)) for p, d in zip(a.kwonlyargs, a.kw_defaults) if d is not None]


def compile_body(node: Any, unit: Unit) -> tuple[Code, bool]:
    """Return the closure of the body, and whether it returns the function's value (or a signal, see `statements`)."""
    if unit.scope.yields is not None:
        from gradtrace.lang.generators import generator_body

        return generator_body(node, unit), True
    if isinstance(node, ast.Lambda):
        return unit.compile(node.body), True
    *head, last = node.body
    if isinstance(last, ast.Return) and last.value is not None and not may_jump(head):
        return sequence([compile_block(head, unit)] if effective(head) else [], unit.compile(last.value)), True
    return compile_block(node.body, unit), False


def make_call(
    parameters: Parameters,
    defaults: Names,
    closure: Names,
    cells: list[str],
    compiled: tuple[Code, bool],
    meter: Meter,
) -> Callable[[Any, Any], Any]:
    """Return the compiled function, which binds the arguments, counts the call and executes the body."""
    body, gives_value = compiled
    names, is_simple, bind = parameters.positional, parameters.is_plain, parameters.bind
    n, deepest = len(names), meter.deepest
    first, second = (*names, "", "")[:2]
    shares = bool(closure or cells)

    def call(args: tuple[Any, ...], kwargs: Names) -> Any:
        if kwargs or len(args) != n or not is_simple:
            frame = bind(args, kwargs, defaults)
        elif n == 1:
            frame = {first: args[0]}
        elif n == 2:
            frame = {first: args[0], second: args[1]}
        else:
            frame = dict(zip(names, args))
        if shares:
            frame.update(closure)
            for name in cells:
                frame[name] = [frame.get(name, UNBOUND)]
        meter.left -= 1
        if meter.left < 0:
            meter.grant()
        if meter.depth >= deepest:
            raise RecursionError(TOO_DEEP)
        meter.depth += 1
        try:
            result = body(frame)
            return result if gives_value or result is None else result[0]
        finally:
            meter.depth -= 1

    call.positional = names  # type: ignore[attr-defined]  # add_graph reads the names of a model's inputs here
    call.signature = lambda: parameters.signature(defaults)  # type: ignore[attr-defined]
    return call
