"""Draw docstrings and messages by lot, to be read by someone who did not write them.

    python tests/docs/draw_texts.py --seed 20261122 --docstrings 30 --messages 30

A docstring is one of a public module, class or function of gradtrace. A message is a text of gradtrace's own errors,
hints, answers and helps, with {} in place of its values; Python's exceptions are left out, since they repeat the words
of Python and PyTorch.
"""

import argparse
import ast
import builtins
import random
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = {
    name
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, BaseException)
}
OWN = (
    "analysis",
    "batch",
    "cli",
    "documents",
    "lang",
    "static",
    "torch",
    "trace",
    "views",
    "errors.py",
    "limits.py",
)
DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def trees() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted((ROOT / "gradtrace").rglob("*.py")):
        yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """(line, name, docstring) of the module and of what is public in it."""
    if text := ast.get_docstring(tree):
        yield 1, "module", text
    for node in ast.walk(tree):
        if (
            isinstance(node, DEFINITIONS)
            and not node.name.startswith("_")
            and (text := ast.get_docstring(node))
        ):
            yield node.lineno, node.name, text


def messages(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """(line, what it is for, text): texts of several words, without docstrings and texts for Python's exceptions."""
    skipped = {id(node.body[0].value) for node in ast.walk(tree) if is_documented(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in PYTHON:
            skipped.update(id(inner) for inner in ast.walk(node))
        if isinstance(node, ast.JoinedStr):
            skipped.update(id(inner) for inner in ast.walk(node) if inner is not node)
    for node in ast.walk(tree):
        if (
            id(node) not in skipped
            and len(text := written(node)) > 12
            and len(re.findall(r"[A-Za-z]{2,}", text)) > 3
        ):
            yield node.lineno, "text", text


def is_documented(node: ast.AST) -> bool:
    return isinstance(node, (ast.Module, *DEFINITIONS)) and ast.get_docstring(node) is not None


def written(node: ast.AST) -> str:
    """The text of a literal; "" if it is none."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            part.value if isinstance(part, ast.Constant) else "{}" for part in node.values
        )
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--docstrings", type=int, default=30)
    parser.add_argument("--messages", type=int, default=30)
    chosen = parser.parse_args()
    lot = random.Random(chosen.seed)
    for find, count in ((docstrings, chosen.docstrings), (messages, chosen.messages)):
        known = [
            (path, *found)
            for path, tree in trees()
            if find is docstrings or path.split("/")[1] in OWN
            for found in find(tree)
        ]
        print(f"=== {count} of {len(known)} {find.__name__}\n")
        for path, line, name, text in lot.sample(known, count):
            print(f"{path}:{line} {name}\n    " + text.replace("\n", "\n    ") + "\n")


if __name__ == "__main__":
    main()
