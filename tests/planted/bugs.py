"""Planted bugs in the style of real training code, and the judgement of the answers that `gradtrace why` gives.

A program of `programs/` starts with comments that say who is asked, and what is expected:

    # engine: gradtrace or torch; on both with two such lines
    # ask: the names that `why` is asked about (default: none, a question about the whole program)
    # cause: one sentence for the reader
    # line: text of a line that an answer may name as the cause; several are alternatives; `FILE: text` for another file
    # must: a regular expression that the answer must contain, whatever the case; each of them
    # never: a regular expression that the answer must not contain
    # right: old text ==> new text, with which nothing is wrong; `\\n` stands for a new line
    # needs: the packages besides PyTorch that the program imports; without them it is left out
    # from: a public thread with this bug; programs without one are in the style of several

The programs `lib_*` are bugs in models of libraries, or in models like theirs.

gradtrace's own engine is judged by its first answer, and nothing that it prints may mislead. With PyTorch's engine the
judgement is about the first lines that are printed.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

PROGRAMS = Path(__file__).parent / "programs"
ENGINES = ("gradtrace", "torch")
ANSWER_LINES = 25  # what a reader looks at
SECONDS = 120
HEADER = re.compile(r"# (engine|ask|cause|line|must|never|right|needs|from): (.*)")

Place = tuple[str, int]  # the name of a file and the number of a line


class Bug(NamedTuple):
    """One program with what an answer about it is measured by."""

    script: Path
    engines: list[str]
    ask: list[str]
    cause: str
    lines: list[Place]  # each line that counts as the cause
    must: list[str]
    never: list[str]
    needs: list[str]  # packages
    right: list[str]  # what to replace to make the program right, and by what

    @property
    def name(self) -> str:
        return self.script.stem

    @property
    def missing(self) -> list[str]:
        """The packages that it needs and that are not installed."""
        return [package for package in self.needs if importlib.util.find_spec(package) is None]


class Answer(NamedTuple):
    said: str  # where what must be said is looked for
    printed: str  # where nothing may mislead
    places: set[Place]  # of the lines that are causes, those that the answer names


def load(script: Path) -> Bug | None:
    """The bug of a script; None for a module of another script. ValueError if its header does not fit it."""
    header: dict[str, list[str]] = {}
    for line in script.read_text(encoding="utf-8").splitlines():
        found = HEADER.fullmatch(line)
        if found is None:
            break
        header.setdefault(found[1], []).append(found[2])
    if not header:
        return None
    engines, cause = header["engine"], header.get("cause", [""])[0]
    if not set(engines) <= set(ENGINES):
        raise ValueError(f"{script.name}: no engine {engines}")
    ask, needs = (" ".join(header.get(key, [])).split() for key in ("ask", "needs"))
    lines = [place for text in header["line"] for place in places(script, text)]
    return Bug(
        script,
        engines,
        ask,
        cause,
        lines,
        header.get("must", []),
        header.get("never", []),
        needs,
        right_of(header),
    )


def right_of(header: dict[str, list[str]]) -> list[str]:
    return [text.replace("\\n", "\n") for text in header.get("right", [""])[0].split(" ==> ")]


def corrected(bug: Bug) -> str:
    """Return the program's text without its bug."""
    old, new = bug.right
    lines = bug.script.read_text(encoding="utf-8").split("\n")
    body = "\n".join(line for line in lines if not HEADER.fullmatch(line))
    if old not in body:
        raise ValueError(f"{bug.name}: no text {old!r}")
    return body.replace(old, new)


def places(script: Path, text: str) -> list[Place]:
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


def why(bug: Bug, *options: str, script: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "gradtrace",
        "why",
        str(script or bug.script.name),
        *bug.ask,
        *options,
    ]
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    return subprocess.run(
        command,
        cwd=bug.script.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )


def answer_of(bug: Bug, engine: str) -> Answer:
    """What `gradtrace why` says about the bug."""
    if engine == "torch":
        done = why(bug, "--engine", "torch")
        return read_printed(bug, done.stdout or done.stderr)
    data = why(bug, "--format", "json")
    answers = json.loads(data.stdout)["answers"] if data.stdout else []
    if not answers:
        return Answer("", data.stderr, set())
    first = answers[0]
    evidence = first["evidence"]
    said = " ".join(
        [first["sentence"], *(f"{e['text']} {e['source']}" for e in evidence), *first["advice"]]
    )
    numbers = {int(number) for number in re.findall(r"\blines? (\d+)", said)} | {
        e["line"] for e in evidence
    }
    return Answer(
        said, why(bug).stdout, {(bug.script.name, number) for number in numbers} & set(bug.lines)
    )


def read_printed(bug: Bug, printed: str) -> Answer:
    """The answer in a printed text, of which a reader looks at the first lines."""
    text = " ".join(" ".join(printed.splitlines()[:ANSWER_LINES]).split())
    return Answer(text, text, {place for place in bug.lines if names_line(text, bug, *place)})


def misses(bug: Bug, answer: Answer) -> list[str]:
    """What the answer lacks, or has and should not, in words. Empty: the answer is right."""
    found = []
    if not answer.places:
        found.append(
            "does not name " + " or ".join(f"{file}:{number}" for file, number in bug.lines)
        )
    found += [f"does not say {words}" for words in bug.must if not contains(answer.said, words)]
    return found + [
        f"misleads by {words}" for words in bug.never if contains(answer.printed, words)
    ]


def names_line(text: str, bug: Bug, file: str, number: int) -> bool:
    """`line 7` or `train.py:7`; a line of another file must come with the file's name."""
    if re.search(
        rf"{re.escape(file)}(:|,? line ){number}\b|line {number} (of|in) \S*{re.escape(file)}", text
    ):
        return True
    return (
        file == bug.script.name
        and re.search(rf"\bline {number}\b(?! (of|in) \S+\.py)", text) is not None
    )


def contains(text: str, words: str) -> bool:
    return re.search(words, text, re.IGNORECASE) is not None
