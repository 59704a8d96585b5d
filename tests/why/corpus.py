"""Planted bugs in the style of training code from public threads, and how answers about them are judged.

Each file in `programs` begins with comments that say what a reader needs from `gradtrace why`:

    # ask: w           the name to ask about; empty for a question about the whole program
    # cause: text      a part of the line that is the cause; with several, one of them
    # must: a|b        a pattern that the first answer must contain; each of several
    # never: a|b       a pattern that would mislead, anywhere in the output

`python -m tests.why.corpus` prints the verdict on each program and the score.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

PROGRAMS = Path(__file__).parent / "programs"


class Planted(NamedTuple):
    """A program with a bug: `causes` are the numbers of the lines that are its cause."""

    path: Path
    ask: tuple[str, ...]
    causes: tuple[int, ...]
    must: tuple[str, ...]
    never: tuple[str, ...]


def planted(path: Path) -> Planted:
    """Read a program and its expectations. ValueError if a cause is not in its text."""
    lines = path.read_text().split("\n")
    found: dict[str, list[str]] = {"ask": [], "cause": [], "must": [], "never": []}
    body = []
    for number, line in enumerate(lines, 1):
        head = re.match(r"# (ask|cause|must|never): ?(.*)", line)
        if head is not None:
            found[head.group(1)].append(head.group(2))
        else:
            body.append((number, line))
    causes = [number for cause in found["cause"] for number, line in body if cause in line]
    if not causes:
        raise ValueError(f"{path.name}: none of its causes is in its text")
    return Planted(
        path, tuple(" ".join(found["ask"]).split()), tuple(causes), tuple(found["must"]), tuple(found["never"])
    )


def verdict(bug: Planted, first: dict[str, Any], text: str) -> str:
    """ "right", "misleads", or what the first answer lacks: "no line", "no word PATTERN"."""
    for pattern in bug.never:
        if re.search(pattern, text, re.I):
            return f"misleads: {pattern}"
    said = " ".join([first["sentence"], *(f"{e['text']} {e['source']}" for e in first["evidence"]), *first["advice"]])
    named = {int(n) for n in re.findall(r"\blines? (\d+)", said)} | {e["line"] for e in first["evidence"]}
    if not named & set(bug.causes):
        return "no line"
    for pattern in bug.must:
        if not re.search(pattern, said, re.I):
            return f"no word {pattern}"
    return "right"


def judge(path: Path) -> tuple[str, str]:
    """The verdict on the answer about one program, with what `gradtrace why` printed."""
    bug = planted(path)
    command = [sys.executable, "-m", "gradtrace", "why", str(path), *bug.ask]
    data = subprocess.run([*command, "--format", "json"], capture_output=True, text=True)
    text = subprocess.run(command, capture_output=True, text=True).stdout
    answers = json.loads(data.stdout)["answers"] if data.stdout else []
    return (verdict(bug, answers[0], text), text) if answers else ("no answer", data.stderr)


def main() -> None:
    names = sys.argv[1:]
    paths = [path for path in sorted(PROGRAMS.glob("*.py")) if not names or path.stem in names]
    counts = {"right": 0, "misleads": 0, "not the cause": 0}
    for path in paths:
        said, text = judge(path)
        kind = said if said == "right" else "misleads" if said.startswith("misleads") else "not the cause"
        counts[kind] += 1
        print(f"{path.stem:32} {said}")
        if names:
            print(text)
    print(", ".join(f"{count} {kind}" for kind, count in counts.items()), "of", len(paths))


if __name__ == "__main__":
    main()
