"""Planted bugs in the style of real training code, and the judgement of an answer about one.

A program of `programs/` starts with comments that say what is expected:

    # cause: one sentence for the reader
    # line: text of a line that an answer may name as the cause; several are alternatives; `FILE: text` for another file
    # says: a regular expression that the answer must contain, whatever the case; each of them
    # misleads: a regular expression that the answer must not contain
    # ask: the name that `why` is asked about (default: none)
    # from: a public thread with this bug; programs without one are in the style of several
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

PROGRAMS = Path(__file__).parent / "programs"
ANSWER_LINES = 25  # what a reader looks at
SECONDS = 120


class Bug(NamedTuple):
    """One program with what an answer about it is measured by."""

    script: Path
    cause: str
    lines: list[tuple[str, int]]  # file name and number of each line that counts as the cause
    says: list[str]
    misleads: list[str]
    ask: str | None

    @property
    def name(self) -> str:
        return self.script.stem


def load(script: Path) -> Bug | None:
    """The bug of a script; None for a module that belongs to another script. ValueError if a line is not in it."""
    header: dict[str, list[str]] = {}
    for line in script.read_text(encoding="utf-8").splitlines():
        found = re.fullmatch(r"# (cause|line|says|misleads|ask|from): (.*)", line)
        if found is None:
            break
        header.setdefault(found[1], []).append(found[2])
    if not header:
        return None
    lines = [place for text in header["line"] for place in places(script, text)]
    return Bug(
        script, header["cause"][0], lines, header["says"], header.get("misleads", []), *header.get("ask", [None])
    )


def places(script: Path, text: str) -> list[tuple[str, int]]:
    """Where the line stands; the header's own lines do not count."""
    other = re.match(r"(\w+\.py): (.*)", text)
    path, wanted = (script.parent / other[1], other[2]) if other else (script, text)
    lines = path.read_text(encoding="utf-8").splitlines()
    found = [(path.name, number) for number, line in enumerate(lines, 1) if line.strip() == wanted]
    if not found:
        raise ValueError(f"{script.name}: no line {wanted!r} in {path.name}")
    return found


def load_all() -> list[Bug]:
    return [bug for script in sorted(PROGRAMS.glob("*.py")) if (bug := load(script)) is not None]


def ask(bug: Bug) -> str:
    """What `gradtrace why --engine torch` prints about the bug."""
    command = [
        sys.executable,
        "-m",
        "gradtrace",
        "why",
        "--engine",
        "torch",
        bug.script.name,
        *([bug.ask] if bug.ask else []),
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run(
        command, cwd=bug.script.parent, env=environment, capture_output=True, text=True, check=False, timeout=SECONDS
    )
    return done.stdout or done.stderr


def misses(bug: Bug, answer: str) -> list[str]:
    """What the answer lacks, or has and should not, in words. Empty: the answer is right."""
    text = " ".join(" ".join(answer.splitlines()[:ANSWER_LINES]).split())
    found = []
    if not any(names_line(text, bug, *place) for place in bug.lines):
        found.append("does not name " + " or ".join(f"{file}:{number}" for file, number in bug.lines))
    found += [f"does not say {words}" for words in bug.says if not contains(text, words)]
    return found + [f"misleads by {words}" for words in bug.misleads if contains(text, words)]


def names_line(text: str, bug: Bug, file: str, number: int) -> bool:
    """`line 7` or `train.py:7`; a line of another file must come with the file's name."""
    if re.search(rf"{re.escape(file)}(:|,? line ){number}\b|line {number} (of|in) \S*{re.escape(file)}", text):
        return True
    return file == bug.script.name and re.search(rf"\bline {number}\b(?! (of|in) \S+\.py)", text) is not None


def contains(text: str, words: str) -> bool:
    return re.search(words, text, re.IGNORECASE) is not None
