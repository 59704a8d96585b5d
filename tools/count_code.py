"""Count the code of each package: python tools/count_code.py [FOLDER] [--budget FILE]

Prints lines of code (without docstrings, comments and blank lines), tokens (names, numbers,
operators and strings, also without docstrings), files, empty names (those that say nothing, such as
`found`) and lines over 100 characters, as a Markdown table. Tokens do not depend on how a formatter
breaks lines. With a budget (`tools/budget.toml`) the exit code is 1 if a package has more of these
than it may have.
"""

from __future__ import annotations

import argparse
import ast
import sys
import tokenize
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

EMPTY = frozenset(("one", "found", "known", "given", "made", "other", "each", "what"))
LONGEST = 100  # characters of a line
BRACKETS = frozenset((")", "]", "}"))
COUNTED = (tokenize.NAME, tokenize.NUMBER, tokenize.OP, tokenize.STRING)
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Size(NamedTuple):
    lines: int = 0
    tokens: int = 0
    files: int = 0
    empty: int = 0
    long: int = 0

    def plus(self, other: Size) -> Size:
        return Size(*(a + b for a, b in zip(self, other, strict=True)))


def docstring_lines(tree: ast.AST) -> set[int]:
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            lines.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return lines


def size_of(path: Path) -> Size:
    documented = docstring_lines(ast.parse(path.read_text(encoding="utf-8")))
    lines: set[int] = set()
    tokens = empty = 0
    last = ""
    with tokenize.open(path) as file:
        for token in tokenize.generate_tokens(file.readline):
            if token.type in COUNTED and token.start[0] not in documented:
                # The comma that a formatter writes after the last of several lines is none of the code.
                tokens += not (last == "," and token.string in BRACKETS)
                empty += token.type == tokenize.NAME and token.string in EMPTY
                lines.update(range(token.start[0], token.end[0] + 1))
                last = token.string
    long = sum(len(line) > LONGEST for line in path.read_text(encoding="utf-8").splitlines())
    return Size(len(lines), tokens, 1, empty, long)


def sizes(folder: Path) -> dict[str, Size]:
    """The size of each package directly in a folder; the folder's own files are ".", the sum is "all"."""
    found: dict[str, Size] = defaultdict(Size)
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).parts
        for name in (parts[0] if len(parts) > 1 else ".", "all"):
            found[name] = found[name].plus(size_of(path))
    return found


WORDS = {
    "tokens": "tokens",
    "files": "files",
    "empty": "names that say nothing",
    "long": f"lines over {LONGEST} characters",
}


def excesses(counted: dict[str, Size], budget: Path) -> list[str]:
    """Return a line for each package that has more than its budget, or none at all."""
    allowed = tomllib.loads(budget.read_text(encoding="utf-8"))
    lines = []
    for name, size in sorted(counted.items()):
        limits = allowed.get(name, {})
        for kind, words in WORDS.items():
            number = getattr(size, kind)
            limit = limits.get(kind, 0)
            if number > limit:
                lines.append(f"{name} has {number} {words}, its budget in {budget} is {limit}")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "folder", nargs="?", type=Path, default=Path(__file__).parents[1] / "gradtrace"
    )
    parser.add_argument("--budget", type=Path)
    arguments = parser.parse_args()
    counted = sizes(arguments.folder)
    print("| package | lines | tokens | files | empty names | long lines |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name, size in sorted(counted.items(), key=lambda item: -item[1].tokens):
        print(f"| {name} | {' | '.join(map(str, size))} |")
    found = excesses(counted, arguments.budget) if arguments.budget else []
    print("".join(f"\n{line}" for line in found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
