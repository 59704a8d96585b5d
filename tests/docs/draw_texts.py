"""Draw docstrings and messages by lot, to be read by someone who did not write them.

    python tests/docs/draw_texts.py --seed 20261122 --docstrings 30 --messages 30

A docstring is one of a public module, class or function of gradtrace; a message is a text that an exception, a hint or
an option's help is made of, with {} in place of its values.
"""

import argparse
import ast
import random
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def trees() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted((ROOT / "gradtrace").rglob("*.py")):
        yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """(line, name, docstring) of the module and of what is public in it."""
    if text := ast.get_docstring(tree):
        yield 1, "module", text
    for node in ast.walk(tree):
        if isinstance(node, DEFINITIONS) and not node.name.startswith("_") and (text := ast.get_docstring(node)):
            yield node.lineno, node.name, text


def messages(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """(line, what it is for, text): arguments of raised exceptions and of errors, and help= of options."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        if name.endswith(("Error", "refusal")):
            parts = [text for given in node.args if (text := written(given))]
            if parts and len(" ".join(parts).split()) > 2:
                yield node.lineno, name, "; ".join(parts)
        for keyword in node.keywords:
            if keyword.arg == "help" and (text := written(keyword.value)):
                yield node.lineno, "help", text


def written(node: ast.expr) -> str:
    """The text of a literal; "" if it is none."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--docstrings", type=int, default=30)
    parser.add_argument("--messages", type=int, default=30)
    chosen = parser.parse_args()
    lot = random.Random(chosen.seed)
    for find, count in ((docstrings, chosen.docstrings), (messages, chosen.messages)):
        known = [(path, *found) for path, tree in trees() for found in find(tree)]
        print(f"=== {count} of {len(known)} {find.__name__}\n")
        for path, line, name, text in lot.sample(known, count):
            print(f"{path}:{line} {name}\n    " + text.replace("\n", "\n    ") + "\n")


if __name__ == "__main__":
    main()
