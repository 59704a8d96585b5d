"""The engine's import graph. Its floors are in pyproject.toml (lint-imports); within a floor cycles are small.

Imports inside functions and under TYPE_CHECKING count like any other, also those of the stub of Tensor's methods.
"""

import ast
from pathlib import Path

import pytest

from tools.import_graph import cycles, import_graph

ROOT = Path(__file__).parents[2]
ENGINE = ROOT / "gradtrace" / "engine"
LARGEST = 4  # files that may import one another


def module_of(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def engine_trees():
    files = [*ENGINE.rglob("*.py"), *ENGINE.rglob("*.pyi")]
    return {module_of(path): ast.parse(path.read_text(encoding="utf-8")) for path in files}


def test_no_more_than_four_files_of_the_engine_import_one_another():
    graph = import_graph(engine_trees())
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
    texts = {"p.a": line, "p.b": "from p.c import name", "p.c": "import p.a"}
    graph = import_graph({module: ast.parse(text) for module, text in texts.items()})
    assert cycles(graph) == ([["p.a", "p.b", "p.c"]] if is_cyclic else [])
