"""The engine's import graph. Its floors are in pyproject.toml (lint-imports); within a floor cycles are small.

Imports inside functions and under TYPE_CHECKING count like any other, also those of the stub of Tensor's methods.
"""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENGINE = ROOT / "gradtrace" / "engine"
LARGEST = 4  # files that may import one another


def module_of(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imported_modules(tree, modules):
    """The modules that a file imports anywhere in it: of `from package import module`, the module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name in modules else node.module


def import_graph(sources):
    """For each module, those of the same sources that it imports. `sources` has the text of each module."""
    return {
        module: {
            name
            for name in imported_modules(ast.parse(text), sources)
            if name in sources and name != module
        }
        for module, text in sources.items()
    }


def cycles(graph):
    """The strongly connected components of more than one module (Tarjan)."""
    numbers, lowest, path, found = {}, {}, [], []

    def visit(module):
        numbers[module] = lowest[module] = len(numbers)
        path.append(module)
        for target in graph[module]:
            if target not in numbers:
                visit(target)
                lowest[module] = min(lowest[module], lowest[target])
            elif target in path:
                lowest[module] = min(lowest[module], numbers[target])
        if lowest[module] == numbers[module]:
            start = path.index(module)
            component = sorted(path[start:])
            del path[start:]
            if len(component) > 1:
                found.append(component)

    for module in graph:
        if module not in numbers:
            visit(module)
    return found


def engine_sources():
    files = [*ENGINE.rglob("*.py"), *ENGINE.rglob("*.pyi")]
    return {module_of(path): path.read_text(encoding="utf-8") for path in files}


def test_no_more_than_four_files_of_the_engine_import_one_another():
    graph = import_graph(engine_sources())
    assert len(graph) > 40 and "gradtrace.engine.data.node" in graph["gradtrace.engine.data.tensor"]
    assert [cycle for cycle in cycles(graph) if len(cycle) > LARGEST] == []


def test_the_files_of_the_engine_are_on_its_floors():
    floors = {path.parent.name for path in ENGINE.rglob("*.py") if path.parent != ENGINE}
    assert floors == {"data", "operators", "reverse", "calls"}
    assert [path.name for path in ENGINE.glob("*.py")] == ["__init__.py"]


@pytest.mark.parametrize(
    ("line", "is_cyclic"),
    [
        ("from p import b", True),
        ("from p.b import name", True),
        ("import p.b", True),
        ("def f():\n    from p.b import name", True),
        ("if TYPE_CHECKING:\n    from p import b", True),
        ("import sys", False),
    ],
)
def test_every_kind_of_import_is_seen(line, is_cyclic):
    graph = import_graph({"p.a": line, "p.b": "from p.c import name", "p.c": "import p.a"})
    assert cycles(graph) == ([["p.a", "p.b", "p.c"]] if is_cyclic else [])
