"""The documentation: every page is in the navigation, every command in it is run, no odd word is left."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
# words that readers stumbled over; "there is no", "is no longer" and "is no more than" are plain English
DIALECT = re.compile(
    r"\b(anew|whoever|mends?|mended|(is|are) told|of one's own)\b|(?<!there )(?<!There )\bis no (?!longer|more|less)",
    re.I,
)
READ = [
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *DOCS.rglob("*.md"),
    *(ROOT / "gradtrace").rglob("*.py"),
    *(ROOT / "examples").glob("*.*"),
]


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
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in READ
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if DIALECT.search(line)
    ]
    assert found == []
