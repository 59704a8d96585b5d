"""The language decides by class objects: no decision uses the names that a class gives itself."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

from gradtrace.lang import allowed, attribute_errors, attributes, builtins, exceptions
from gradtrace.lang.known_classes import ByClass, class_at, is_defined_in

LANG = Path(allowed.__file__).parent
HOMES = {"__module__", "__qualname__"}
NAMES = {*HOMES, "__name__"}
# Files that read where a class says that it is from, and why this decides nothing about the class.
READING = {
    "expressions.py": "the name of a called object in an error message",
    "generator_values.py": "the text of a generator",
    "known_classes.py": "the name says where to look; the class found there is compared",
    "namespaces.py": "public names of the library's own modules, which no program can change",
    "records.py": "the text of a dataclass, and the names of its methods",
    "tracebacks.py": "the text of an exception",
    "values.py": "the text of functions and of placeholders; a wrapper gets the name of the function that it wraps",
}
# Files that compare a name.
COMPARING = {"namespaces.py", "values.py"}
TABLES = {
    "OF_CLASS": allowed.OF_CLASS,
    "OF_INSTANCES": allowed.OF_INSTANCES,
    "OF_DERIVED": allowed.OF_DERIVED,
    "CONSTRUCTED": allowed.CONSTRUCTED,
    "LEGACY": attributes.LEGACY,
    "KNOWN": exceptions.KNOWN,
    "MODULES": attribute_errors.MODULES,
    "NUMPY": builtins.NUMPY,
}


def compared_names(tree: ast.AST) -> list[int]:
    """Return the lines that compare, test or look up the name of a class."""
    lines = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            asked = node.func.attr in ("startswith", "endswith", "get", "partition", "removeprefix")
            parts = [node.func.value, *node.args] if asked else []
        elif isinstance(node, ast.Subscript):
            parts = [node.slice]
        else:
            continue
        within = (inner for part in parts for inner in ast.walk(part))
        if any(isinstance(inner, ast.Attribute) and inner.attr in NAMES for inner in within):
            lines.append(node.lineno)
    return lines


def homes_read(tree: ast.AST) -> list[int]:
    """Return the lines that read the module or qualified name of an object."""
    lines = []
    for node in ast.walk(tree):
        read = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and node.attr in HOMES
        asked = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr"
        if read or (asked and any(isinstance(arg, ast.Constant) and arg.value in HOMES for arg in node.args)):
            lines.append(node.lineno)
    return lines


@pytest.mark.parametrize("path", sorted(LANG.glob("*.py")), ids=lambda path: path.name)
def test_no_decision_uses_the_name_of_a_class(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    compared, read = compared_names(tree), homes_read(tree)
    assert bool(compared) == (path.name in COMPARING), compared
    assert bool(read) == (path.name in READING), read


def test_such_a_comparison_is_found() -> None:
    for text in ("kind.__module__ == 'numpy'", "kind.__name__ in X", "X[kind.__qualname__]", "X.get(kind.__name__)"):
        assert compared_names(ast.parse(text)) == [1]
    assert compared_names(ast.parse("f'{kind.__name__}' + kind.__qualname__")) == []
    assert homes_read(ast.parse("getattr(kind, '__module__', None) or kind.__qualname__")) == [1, 1]


@pytest.mark.parametrize("name", TABLES)
def test_every_place_has_a_class(name: str) -> None:
    table = TABLES[name]
    for place in list(table.waiting):
        import_module(place.partition(":")[0])
    table.resolve()
    assert not table.waiting


def test_a_class_is_found_by_itself() -> None:
    table = ByClass({"collections:OrderedDict": 1})
    real = class_at("collections:OrderedDict")
    fake = type("OrderedDict", (), {"__module__": "collections", "__qualname__": "OrderedDict"})
    assert real is not None
    assert (table.get(real), table.get(fake)) == (1, None)


def test_a_class_of_a_package_is_in_its_module() -> None:
    from gradtrace.nn.modules.linear import Linear

    fake = type("Linear", (), {"__module__": "gradtrace.nn.modules.linear"})
    assert is_defined_in(Linear, ("gradtrace.nn.",)) and not is_defined_in(fake, ("gradtrace.nn.",))
    assert not is_defined_in(Linear, ("gradtrace.optim.",))
