"""Measure how the code of a package reads: python -m tools.measures [FOLDER ...]

Prints a Markdown table with a column for each folder. Docstrings and comments are not code. Functions of more than
eight parameters are those whose signature is gradtrace's own: what PyTorch prescribes is left out.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tools.count_code import WORDS, size_of
from tools.import_graph import cycles, import_graph

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
IMPORTS = (ast.Import, ast.ImportFrom)
MOST_PARAMETERS = 8
# Packages and functions whose signatures are those of PyTorch's documentation.
PRESCRIBED_PACKAGES = frozenset(("optim", "nn", "utils"))
PRESCRIBED_NAMES = frozenset(
    (
        "grad",
        "gradcheck",
        "gradgradcheck",
        "embedding_bag",
        "triplet_margin_loss",
        "torch_batch_norm",
        "torch_instance_norm",
    )
)


class Module(NamedTuple):
    name: str
    path: Path
    tree: ast.Module


def read_modules(folder: Path) -> list[Module]:
    modules = []
    for path in sorted(folder.rglob("*.py")):
        parts = [folder.name, *path.relative_to(folder).with_suffix("").parts]
        if parts[-1] == "__init__":
            parts.pop()
        modules.append(Module(".".join(parts), path, ast.parse(path.read_text(encoding="utf-8"))))
    return modules


def nodes(modules: list[Module]) -> Iterator[ast.AST]:
    for module in modules:
        yield from ast.walk(module.tree)


def tuple_assignments(modules: list[Module]) -> int:
    """Count `a, b = c, d` that is not an exchange (`a, b = b, a`)."""
    count = 0
    for node in nodes(modules):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
            targets = [ast.unparse(target) for target in getattr(node.targets[0], "elts", ())]
            values = [ast.unparse(value) for value in node.value.elts]
            count += bool(targets) and not set(targets) & set(values)
    return count


def nested_conditionals(modules: list[Module]) -> int:
    return sum(
        isinstance(part, ast.IfExp)
        for node in nodes(modules)
        if isinstance(node, ast.IfExp)
        for part in (node.test, node.body, node.orelse)
    )


def annotations(modules: list[Module]) -> Iterator[ast.expr]:
    for node in nodes(modules):
        if isinstance(node, (ast.arg, ast.AnnAssign)) and node.annotation is not None:
            yield node.annotation
        elif isinstance(node, FUNCTIONS) and node.returns is not None:
            yield node.returns


def share_of_any(modules: list[Module]) -> float:
    has_any = [
        any(isinstance(part, ast.Name) and part.id == "Any" for part in ast.walk(annotation))
        for annotation in annotations(modules)
    ]
    return sum(has_any) / max(len(has_any), 1)


def local_imports(modules: list[Module]) -> int:
    """Count the import statements inside functions, each once."""
    statements = {
        id(part)
        for node in nodes(modules)
        if isinstance(node, FUNCTIONS)
        for part in ast.walk(node)
        if isinstance(part, IMPORTS)
    }
    return len(statements)


def is_prescribed(module: Module, name: str) -> bool:
    package = module.name.split(".")[1:2]
    return bool(PRESCRIBED_PACKAGES.intersection(package)) or name in PRESCRIBED_NAMES


def long_signatures(modules: list[Module]) -> int:
    count = 0
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, FUNCTIONS) and not is_prescribed(module, node.name):
                arguments = node.args
                parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
                count += len(parameters) > MOST_PARAMETERS
    return count


def import_circles(modules: list[Module]) -> int:
    return len(cycles(import_graph({module.name: module.tree for module in modules})))


def percent(share: float) -> str:
    return f"{share:.1%}".replace("%", " %")


def measure(folder: Path) -> dict[str, str]:
    modules = read_modules(folder)
    sizes = [size_of(module.path) for module in modules]
    tokens = sum(size.tokens for size in sizes)
    lines = sum(size.lines for size in sizes)
    words = sum(
        isinstance(node, (ast.Name, ast.arg, ast.Attribute, ast.keyword)) for node in nodes(modules)
    )
    counts: dict[str, Callable[[list[Module]], int]] = {
        "tuple assignments of unlike things": tuple_assignments,
        "nested conditional expressions": nested_conditionals,
        "imports inside functions": local_imports,
        "circles of imports, all kinds": import_circles,
        "functions of more than 8 parameters, not PyTorch's": long_signatures,
    }
    return {
        "tokens": f"{tokens:,}",
        "files": f"{len(modules):,}",
        "code lines": f"{lines:,}",
        "tokens a line": f"{tokens / max(lines, 1):.1f}",
        WORDS["empty"]: percent(sum(size.empty for size in sizes) / max(words, 1)),
        "annotations with Any": percent(share_of_any(modules)),
        WORDS["long"]: f"{sum(size.long for size in sizes):,}",
        **{name: f"{count(modules):,}" for name, count in counts.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    default = Path(__file__).parents[1] / "gradtrace"
    parser.add_argument("folders", nargs="*", type=Path, default=[default])
    folders = parser.parse_args().folders
    columns = [measure(folder.resolve()) for folder in folders]
    print(f"| measure | {' | '.join(str(folder) for folder in folders)} |")
    print(f"| --- |{' ---: |' * len(folders)}")
    for name in columns[0]:
        print(f"| {name} | {' | '.join(column[name] for column in columns)} |")


if __name__ == "__main__":
    main()
