"""The complete list of places that make code of a text or a syntax tree. No other file names what can do so."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent / "gradtrace"
BUILTINS = {"compile", "eval", "exec", "__import__"}
MODULES = {"code", "codeop", "marshal", "pickle", "runpy"}
PLACES = {
    "engine/reverse/compile.py": "compile_function: trees made of generated names, run without built-ins",
    "program/run.py": "runs the user's program",
    "utils/serialization.py": "torch.load: an unpickler with a list of the classes and functions that it finds",
    "program/syntax.py": "parses a program, and compiles it to find its errors and the scopes of its names",
    "cli/prompt.py": "codeop says whether a line of the prompt is complete; the code is not run",
    "torch/child.py": "the user's script under --engine torch, in a process of its own",
    "cli/torch_child.py": "the user's program in real PyTorch (check --against torch), in a process of its own",
}


def able(tree: ast.AST) -> Iterator[str]:
    """The names in a file that make code, without those of its own functions."""
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) if name in BUILTINS - own:
                yield name
            case ast.Attribute(value=ast.Name(id="builtins"), attr=name) if name in BUILTINS:
                yield name
            case ast.Import(names=names):
                yield from (one.name for one in names if one.name in MODULES)
            case ast.ImportFrom(module=str(module), level=0, names=names):
                yield from (one.name for one in names if module in MODULES or module == "builtins")


def test_only_these_files_make_code() -> None:
    files = ROOT.rglob("*.py")
    able_files = {path for path in files if any(able(ast.parse(path.read_text(encoding="utf-8"))))}
    assert {path.relative_to(ROOT).as_posix() for path in able_files} == set(PLACES)
