"""Syntax errors that Python reports after parsing: return outside a function, duplicate parameters, ...

The messages are Python's. As in Python, only the first error in the order of the text is reported.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Iterator, NamedTuple
from gradtrace.lang.scope import NameScope, Scopes, captured_name, parameters_of, position
from gradtrace.lang.words import words
from gradtrace.program import syntax as ast

LOOPS = (ast.For, ast.While)
STARS = {(ast.Tuple, "elts"), (ast.List, "elts"), (ast.Set, "elts"), (ast.Call, "args"), (ast.ClassDef, "bases")}
FUTURE = words("""absolute_import annotations division generator_stop generators nested_scopes print_function
    unicode_literals with_statement""")


class Fault(NamedTuple):
    """A message and the node to mark."""

    message: str
    node: Any


def first_fault(tree: ast.Module, scopes: Scopes) -> Fault | None:
    """Return the first of these errors in a program, in the order of its text; None if there is none."""
    faults = [*statement_faults(tree), *name_faults(scopes)]
    return min(faults, key=lambda fault: position(fault.node), default=None)


def statement_faults(tree: ast.Module) -> Iterator[Fault]:
    todo: list[tuple[Any, bool, bool]] = [(node, False, False) for node in tree.body]
    first = leading_statements(tree)
    while todo:
        node, in_function, in_loop = todo.pop()
        fault = fault_of(node, in_function, in_loop, first)
        if fault is not None:
            yield Fault(fault, node)
        for handler in getattr(node, "handlers", ())[:-1]:
            if handler.type is None:
                yield Fault("default 'except:' must be last", handler)
        yield from misplaced_stars(node)
        yield from match_faults(node)
        todo.extend(children(node, in_function, in_loop))


def children(node: Any, in_function: bool, in_loop: bool) -> Iterator[tuple[Any, bool, bool]]:
    kind = type(node)
    for field, value in ast.iter_fields(node):
        items = value if isinstance(value, list) else [value]
        body = field == "body"
        inner = (in_function, in_loop)
        if body and kind in (ast.FunctionDef, ast.Lambda):
            inner = (True, False)
        elif body and kind is ast.ClassDef:
            inner = (False, False)
        elif body and kind in LOOPS:
            inner = (in_function, True)
        for item in items:
            if isinstance(item, ast.AST):
                yield item, *inner


def fault_of(node: Any, in_function: bool, in_loop: bool, first: set[ast.AST]) -> str | None:
    kind = type(node)
    if kind is ast.Return and not in_function:
        return "'return' outside function"
    if kind is ast.Break and not in_loop:
        return "'break' outside loop"
    if kind is ast.Continue and not in_loop:
        return "'continue' not properly in loop"
    if kind is ast.Call or kind is ast.ClassDef:
        return repeated_keyword(node)
    if kind in (ast.Tuple, ast.List) and isinstance(node.ctx, ast.Store):
        many = sum(isinstance(e, ast.Starred) for e in node.elts) > 1
        return "multiple starred expressions in assignment" if many else None
    if kind is ast.ImportFrom:
        return import_fault(node, in_function, node in first)
    return None


def match_faults(node: Any) -> Iterator[Fault]:
    """Yield the faults of a `match` statement, its cases and its patterns."""
    kind = type(node)
    if kind is ast.Match:
        for case in node.cases[:-1]:
            if case.guard is None:
                yield from catch_all_faults(case.pattern)
        for case in node.cases:
            yield from pattern_faults(case.pattern, set())
    elif kind is ast.MatchSequence and sum(isinstance(p, ast.MatchStar) for p in node.patterns) > 1:
        yield Fault("multiple starred names in sequence pattern", node)
    elif kind is ast.MatchClass:
        twice = first_repeated(node.kwd_attrs)
        if twice is not None:
            message = f"attribute name repeated in class pattern: {node.kwd_attrs[twice]}"
            yield Fault(message, node.kwd_patterns[twice])


def catch_all_faults(pattern: Any) -> Iterator[Fault]:
    """Yield a fault for a pattern that matches everything, where others follow it."""
    if isinstance(pattern, ast.MatchAs) and pattern.pattern is None:
        what = "wildcard" if pattern.name is None else f"name capture '{pattern.name}'"
        yield Fault(f"{what} makes remaining patterns unreachable", pattern)


def pattern_faults(pattern: Any, bound: set[str]) -> Iterator[Fault]:
    """Yield a fault for each name bound twice, or not in all alternatives; add the bound names to `bound`."""
    names: set[str] = set()
    if isinstance(pattern, ast.MatchOr):
        for part in pattern.patterns[:-1]:
            yield from catch_all_faults(part)
        found: list[set[str]] = [set() for _ in pattern.patterns]
        for part, own in zip(pattern.patterns, found):
            yield from pattern_faults(part, own)
        if any(own != found[0] for own in found):
            yield Fault("alternative patterns bind different names", pattern)
        names = found[0]
    else:
        for child in ast.iter_child_nodes(pattern):
            yield from pattern_faults(child, bound)
        name = captured_name(pattern)
        names = set() if name is None else {name}
    for name in sorted(names):
        if name in bound:
            yield Fault(f"multiple assignments to name '{name}' in pattern", pattern)
        bound.add(name)


def misplaced_stars(node: Any) -> Iterator[Fault]:
    """Yield each `*x` outside a display, an unpacking or a call."""
    for field, value in ast.iter_fields(node):
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, ast.Starred) and (type(node), field) not in STARS:
                stored = isinstance(item.ctx, ast.Store)
                yield Fault(
                    "starred assignment target must be in a list or tuple"
                    if stored
                    else "can't use starred expression here",
                    item,
                )


def repeated_keyword(node: Any) -> str | None:
    names = [k.arg for k in node.keywords if k.arg is not None]
    twice = first_repeated(names)
    return None if twice is None else f"keyword argument repeated: {names[twice]}"


def first_repeated(names: list[str]) -> int | None:
    """Return the index of the first name that is also earlier in the list."""
    seen: set[str] = set()
    for i, name in enumerate(names):
        if name in seen:
            return i
        seen.add(name)
    return None


def import_fault(node: ast.ImportFrom, in_function: bool, leading: bool) -> str | None:
    if in_function and any(a.name == "*" for a in node.names):
        return "import * only allowed at module level"
    if node.module != "__future__":
        return None
    unknown = next((a.name for a in node.names if a.name not in FUTURE), None)
    if unknown is not None:
        return f"future feature {unknown} is not defined"
    return None if leading else "from __future__ imports must occur at the beginning of the file"


def leading_statements(tree: ast.Module) -> set[ast.AST]:
    """Return the docstring and the `from __future__` imports at the start of the program."""
    leading: set[ast.AST] = set()
    for i, node in enumerate(tree.body):
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        docstring = i == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not future and not docstring:
            break
        leading.add(node)
    return leading


INSIDE = {
    ast.ListComp: "list comprehension",
    ast.SetComp: "set comprehension",
    ast.DictComp: "dict comprehension",
    ast.GeneratorExp: "generator expression",
}


def name_faults(scopes: Scopes) -> Iterator[Fault]:
    for node, scope in scopes.items():
        if scope.yields is not None and scope.kind != "function":
            inside = INSIDE.get(type(node))
            yield Fault(f"'yield' {'outside function' if inside is None else f'inside {inside}'}", scope.yields)
        parameters = parameters_of(node)
        twice = first_repeated([p.arg for p in parameters])
        if twice is not None:
            yield Fault(f"duplicate argument '{parameters[twice].arg}' in function definition", parameters[twice])
        names = {p.arg for p in parameters}
        for declared, word in ((scope.globals, "global"), (scope.nonlocals, "nonlocal")):
            for name, place in declared.items():
                fault = declaration_fault(scope, name, word, names, place)
                if fault is not None and not isinstance(place, ast.NamedExpr):
                    yield Fault(fault, place)


def declaration_fault(scope: NameScope, name: str, word: str, parameters: set[str], place: Any) -> str | None:
    if name in parameters:
        return f"name '{name}' is parameter and {word}"
    if word == "nonlocal" and scope.kind == "module":
        return "nonlocal declaration not allowed at module level"
    if name in scope.globals and name in scope.nonlocals:
        return f"name '{name}' is nonlocal and global"
    if word == "nonlocal" and name not in scope.free:
        return f"no binding for nonlocal '{name}' found"
    earlier = scope.used.get(name)
    if earlier is not None and position(earlier) < position(place):
        return f"name '{name}' is used prior to {word} declaration"
    assigned = scope.assigned.get(name)
    if assigned is not None and position(assigned) < position(place):
        return f"name '{name}' is assigned to before {word} declaration"
    return None
