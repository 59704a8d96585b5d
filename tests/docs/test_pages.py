"""The documentation: every page is in the navigation, every command in it is run, no odd word is left."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
# words that readers stumbled over
DIALECT = re.compile(r"\b(anew|whoever|mends?|mended|(is|are) told|of one's own|is\s+no)\b", re.I)
QUOTED = "is no longer supported, and in a future"  # PyTorch's message about addcdiv
SUFFIXES = {".py", ".pyi", ".md", ".txt", ".html", ".css", ".js", ".toml", ".yml", ".yaml", ".1"}
# recorded output of PyTorch, and programs as their authors wrote them
FOREIGN_SUBJECTS = ("behaviour", "distributions", "neighbours", "notebooks", "notes", "seeds", "tutorials", "wild")
FOREIGN = (*(f"tests/recorded/{subject}/" for subject in FOREIGN_SUBJECTS), "gradtrace/ops/signatures.txt")


def texts():
    """Every text file of the project, its path from the root first."""
    parts = ("gradtrace", "tests", "docs", "examples", "benchmarks", ".github")
    files = [*ROOT.glob("*.*"), *ROOT.glob(".ci/run"), *(path for part in parts for path in (ROOT / part).rglob("*"))]
    for path in files:
        name = path.relative_to(ROOT).as_posix()
        if (path.suffix in SUFFIXES or name == ".ci/run") and not name.startswith(FOREIGN) and path != Path(__file__):
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
