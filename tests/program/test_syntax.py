"""The functions of `gradtrace.program.syntax` are those of `ast`."""

import ast
from pathlib import Path

import pytest

from gradtrace.program import syntax

PROGRAMS = sorted(Path(syntax.__file__).parent.glob("*.py"))
TEXTS = [
    '"""doc\n\n  of it"""\nx = "λ\\n" + (\n  y *\n  2)\n',
    "def f():\n    'doc'\n    return f'{λ:>3}'\n",
    "",
]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("text", [*TEXTS, *(path.read_text() for path in PROGRAMS)])
def test_the_same_trees(text):
    ours, theirs = syntax.parse(text, "name"), ast.parse(text, "name")
    assert ast.dump(ours, include_attributes=True) == ast.dump(theirs, include_attributes=True)
    assert [type(node) for node in syntax.walk(ours)] == [type(node) for node in ast.walk(ours)]
    for node in ast.walk(ours):
        assert list(syntax.iter_child_nodes(node)) == list(ast.iter_child_nodes(node))
        if hasattr(node, "lineno"):
            assert syntax.get_source_segment(text, node) == ast.get_source_segment(text, node)
            copied = syntax.copy_location(ast.Pass(), node)
            assert (copied.lineno, copied.end_col_offset) == (node.lineno, node.end_col_offset)
