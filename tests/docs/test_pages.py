"""The documentation: every page is in the navigation, every command in it is run, no odd word is left.

Also the names of the package: those that say too little, or stand for two things, only become fewer.
"""

import ast
import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PACKAGE = ROOT / "gradtrace"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
# words that readers stumbled over
DIALECT = re.compile(r"\b(anew|whoever|mends?|mended|(is|are) told|of one's own|is\s+no)\b", re.I)
QUOTED = "is no longer supported, and in a future"  # PyTorch's message about addcdiv
SUFFIXES = {".py", ".pyi", ".md", ".txt", ".html", ".css", ".js", ".toml", ".yml", ".yaml", ".1"}
# recorded output of PyTorch, and programs as their authors wrote them
FOREIGN_SUBJECTS = (
    "behaviour",
    "distributions",
    "neighbours",
    "notebooks",
    "notes",
    "seeds",
    "tutorials",
    "wild",
)
FOREIGN = (
    *(f"tests/recorded/{subject}/" for subject in FOREIGN_SUBJECTS),
    "gradtrace/ops/signatures.txt",
)


def texts():
    """Every text file of the project, its path from the root first."""
    parts = ("gradtrace", "tests", "docs", "examples", "benchmarks", ".github")
    files = [
        *ROOT.glob("*.*"),
        *ROOT.glob(".ci/*"),
        *(path for part in parts for path in (ROOT / part).rglob("*")),
    ]
    for path in files:
        name = path.relative_to(ROOT).as_posix()
        is_text = path.suffix in SUFFIXES or name.startswith(".ci/")
        if is_text and not name.startswith(FOREIGN) and path != Path(__file__):
            yield name, path.read_text(encoding="utf-8", errors="replace")


def test_every_page_is_in_the_navigation():
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    named = set(re.findall(r"[\w/-]+\.md", text))
    assert named == set(PAGES)


@pytest.mark.parametrize("page", [page for page in PAGES if page.count("/")])
def test_every_command_with_its_output_is_run(page):
    """Blocks of a console stand between cog's marks, which CI runs again and compares."""
    text = (DOCS / page).read_text(encoding="utf-8")
    written = re.sub(r"<!-- \[\[\[cog.*?<!-- \[\[\[end\]\]\] -->", "", text, flags=re.DOTALL)
    assert "```console" not in written


def test_no_word_of_the_old_dialect():
    found = [
        f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {match.group()}"
        for name, text in texts()
        for match in DIALECT.finditer(text.replace(QUOTED, ""))
    ]
    assert found == []


# The highest count that passes: lower it when a name goes.
DOUBTFUL = {
    "classes of one name": 62,
    "files of one name in neighbouring folders": 53,
    "functions called run": 32,
    "functions called render": 20,
    "functions called text": 17,
    "functions called found": 0,
    "functions called one": 2,
}


def definitions():
    """How often each name is given to a class, and to a function or method."""
    nodes = [
        node
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    ]
    classes = Counter(node.name for node in nodes if isinstance(node, ast.ClassDef))
    functions = Counter(
        node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return classes, functions


def files_of_one_name():
    """The names of files that stand in two folders of which one holds the other, or a third holds both."""
    folders = defaultdict(set)
    for path in PACKAGE.rglob("*.py"):
        folders[path.name].add(path.parent)
    pairs = {
        name: [(a, b) for a in found for b in found if a != b] for name, found in folders.items()
    }
    near = {
        name for name in pairs if any(b in (a.parent, *a.parent.iterdir()) for a, b in pairs[name])
    }
    return sorted(near - {"__init__.py"})


@pytest.mark.slow
def test_names_that_say_too_little_only_become_fewer():
    classes, functions = definitions()
    doubles = sorted(name for name, count in classes.items() if count > 1)
    files = files_of_one_name()
    counts = {
        "classes of one name": len(doubles),
        "files of one name in neighbouring folders": len(files),
    }
    counts |= {
        f"functions called {name}": functions[name]
        for name in ("run", "render", "text", "found", "one")
    }
    assert {what: count for what, count in counts.items() if count > DOUBTFUL[what]} == {}, (
        doubles,
        files,
    )


def test_no_code_of_the_readme_is_wider_than_githubs_page():
    """A line of 97 characters fills the 830 pixels that GitHub gives to a page; a longer one has to be scrolled."""
    blocks = re.findall(
        r"^```.*?^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    assert blocks and not [
        line for block in blocks for line in block.splitlines() if len(line) > 97
    ]


@pytest.mark.parametrize("name", ["README.md", "docs/index.md"])
def test_three_doors_come_first(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    doors = [
        text.index(f"**{door}.**") for door in ("Learn", "Debug my training", "Script a formula")
    ]
    assert doors == sorted(doors) and doors[-1] < text.index("```")
    said = re.findall(r"`(?:gradtrace )?([a-z]+)[^`]*`", text[doors[0] :])
    assert list(dict.fromkeys(said))[:6] == ["eval", "graph", "page", "why", "diff", "verify"]
