"""Compilers of comprehensions and generator expressions. All but the first iterable is evaluated in a new frame."""

from __future__ import annotations

from gradtrace.annotations import Any, Callable, Iterator
from gradtrace.engine.data.state import state
from gradtrace.lang.budget import Meter
from gradtrace.lang.expressions import compile_expression, compiles
from gradtrace.lang.hash_cost import charge_key
from gradtrace.lang.iteration import depth_of, limit_depth
from gradtrace.lang.targets import compile_store
from gradtrace.lang.unit import UNBOUND, Code, Frame, Store, Unit
from gradtrace.program import syntax as ast

Emit = Callable[[Frame], None]


class Loop:
    """One `for target in items if tests`; the items of the first loop are evaluated in the outer frame."""

    def __init__(self, node: ast.comprehension, first: bool, outer: Unit, unit: Unit) -> None:
        self.items = compile_expression(node.iter, outer if first else unit)
        self.target = node.target
        self.store: Store = compile_store(node.target, unit)
        self.tests = [compile_expression(test, unit) for test in node.ifs]
        self.origin = unit.origin(node.iter)

    def iterate(self, f: Frame) -> Iterator[Any]:
        """Return the iterator over the items, with `state.origin` set to the loop's place for errors."""
        items = self.items(f)
        state.origin = self.origin
        return iter(items)

    def passes(self, f: Frame) -> bool:
        return all(test(f) for test in self.tests)


def new_frame(unit: Unit, outer: Unit) -> Callable[[Frame], Frame]:
    """Return a function that creates a comprehension's frame, with new and captured cells, from the outer one."""
    taken = [(name, outer.scope.cell_key(name)) for name in sorted(unit.scope.free)]
    own = sorted(unit.scope.cells)
    if not taken and not own:
        return lambda f: {}
    return lambda f: {**{name: f[key] for name, key in taken}, **{name: [UNBOUND] for name in own}}


def loops_of(node: Any, unit: Unit) -> tuple[Unit, list[Loop], Callable[[Frame], Frame]]:
    inner = unit.child(node)
    return inner, [Loop(g, i == 0, unit, inner) for i, g in enumerate(node.generators)], new_frame(inner, unit)


def nested(loops: list[Loop], meter: Meter, frame: Frame, emit: Emit, items: Iterator[Any], depth: int = 0) -> None:
    """Run the loops from `depth` on and call `emit` for each element."""
    loop = loops[depth]
    store, last = loop.store, depth + 1 == len(loops)
    for item in items:
        meter.left -= 1
        if meter.left < 0:
            meter.grant()
        store(frame, item)
        if loop.tests and not loop.passes(frame):
            continue
        if last:
            emit(frame)
        else:
            nested(loops, meter, frame, emit, loops[depth + 1].iterate(frame), depth + 1)


@compiles(ast.ListComp)
def compile_list_comprehension(node: ast.ListComp, unit: Unit) -> Code:
    inner, loops, make = loops_of(node, unit)
    element, meter, first = compile_expression(node.elt, inner), unit.meter, loops[0]
    name = (
        inner.frame_variable(ast.Name(target.id, ast.Load())) if isinstance(target := first.target, ast.Name) else None
    )
    if len(loops) == 1 and name is not None and not first.tests:

        def simple(f: Frame) -> list[Any]:
            items, frame, results = first.iterate(f), make(f), []
            for frame[name] in items:
                meter.left -= 1
                if meter.left < 0:
                    meter.grant()
                results.append(element(frame))
            return results

        return simple

    def evaluate(f: Frame) -> list[Any]:
        results: list[Any] = []
        nested(loops, meter, make(f), lambda frame: results.append(element(frame)), first.iterate(f))
        return results

    return evaluate


@compiles(ast.SetComp)
def compile_set_comprehension(node: ast.SetComp, unit: Unit) -> Code:
    inner, loops, make = loops_of(node, unit)
    element, meter = compile_expression(node.elt, inner), unit.meter

    def evaluate(f: Frame) -> set[Any]:
        result: set[Any] = set()

        def emit(frame: Frame) -> None:
            item = element(frame)
            if isinstance(item, tuple):
                charge_key(item, meter)
            result.add(item)

        nested(loops, meter, make(f), emit, loops[0].iterate(f))
        return result

    return evaluate


@compiles(ast.DictComp)
def compile_dict_comprehension(node: ast.DictComp, unit: Unit) -> Code:
    inner, loops, make = loops_of(node, unit)
    key, value, meter = compile_expression(node.key, inner), compile_expression(node.value, inner), unit.meter

    def evaluate(f: Frame) -> dict[Any, Any]:
        results: dict[Any, Any] = {}

        def emit(frame: Frame) -> None:
            k = key(frame)
            if isinstance(k, tuple):
                charge_key(k, meter)
            results[k] = value(frame)

        nested(loops, meter, make(f), emit, loops[0].iterate(f))
        return results

    return evaluate


@compiles(ast.GeneratorExp)
def compile_generator_expression(node: ast.GeneratorExp, unit: Unit) -> Code:
    inner, loops, make = loops_of(node, unit)
    element, meter = compile_expression(node.elt, inner), unit.meter

    def generate(frame: Frame, items: Iterator[Any], depth: int) -> Iterator[Any]:
        loop = loops[depth]
        for item in items:
            meter.left -= 1
            if meter.left < 0:
                meter.grant()
            loop.store(frame, item)
            if loop.tests and not loop.passes(frame):
                continue
            if depth + 1 == len(loops):
                yield element(frame)
            else:
                yield from generate(frame, loops[depth + 1].iterate(frame), depth + 1)

    name = inner.scope.qualname

    def evaluate(f: Frame) -> Any:
        over = loops[0].items(f)
        state.origin = loops[0].origin
        generator: Any = generate(make(f), iter(over), 0)
        generator.__name__, generator.__qualname__ = "<genexpr>", name
        return limit_depth(generator, depth_of(over))

    return evaluate
