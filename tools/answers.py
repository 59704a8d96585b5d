"""Archive what gradtrace answers about every program of the repository, and compare two archives.

    python -m tools.answers write before.zip                      # on gradtrace's own engine
    python -m tools.answers write before.zip --engine torch --only planted healthy
    python -m tools.answers write old.zip --checkout ../older     # the answers of another checkout
    python -m tools.answers compare before.zip after.zip --examples 3

Each program is run and recorded once; `trace`, `why`, `stats` and `graph` are asked about its record, `diff` about the
pairs of records that the tests of `diff` compare. A run is deterministic, so two archives of the same code are equal,
but for addresses and times, which are masked. `compare` groups the differences by their kind: the command and the place
in its JSON document. Exit code 1 if there are differences.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from tests.compare.planted import PLANTED
from tests.compare.planted import programs as planted_pair
from tests.compare.rewrites import HEAD, REWRITES
from tests.fork_server import WARM_UP_ARRAYS, ForkServer
from tests.recorded.programs import HERE, SUBJECTS, in_file

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = {
    "planted": "tests/planted/programs",
    "healthy": "tests/healthy/programs",
    "precision": "tests/precision/programs",
    "examples": "examples",
    "models": "docs/models",
    "programs": "docs/programs",
}
RECORD = "record.gt"
QUESTIONS = {
    "trace": ["trace", RECORD, "--format", "json"],
    "why": ["why", RECORD, "--format", "json"],
    "stats": ["stats", RECORD, "--format", "json"],
    "graph": ["graph", RECORD, "-o", "graph.json"],
}
SECONDS = 120  # of one command
MASKS = ((r"0x[0-9a-f]+", "0xADDR"), (r"\b\d+\.\d+ ?(ms|s)\b", "TIME"))
SHOWN = 100  # characters of a value that `compare` prints


class Program(NamedTuple):
    """One program, or two that are compared."""

    name: str  # "planted/adam_twice"
    sources: tuple[str, ...]
    folder: Path | None = None  # with the files that it reads


def programs() -> Iterator[Program]:
    """Yield every program of the tests, the examples and the documentation."""
    for subject, folder in FOLDERS.items():
        for path in sorted((ROOT / folder).glob("*.py")) + sorted((ROOT / folder).glob("*.txt")):
            yield Program(
                f"{subject}/{path.stem}", (path.read_text(encoding="utf-8"),), path.parent
            )
    for subject in SUBJECTS:
        for path in sorted((HERE / subject).glob("*.py")):
            yield from (
                Program(f"recorded/{part.name}", (part.source,), path.parent)
                for part in in_file(path)
            )
    for name in PLANTED:
        yield Program(f"pairs/planted {name}", tuple(planted_pair(name)))
    for name, (head, first, second) in REWRITES.items():
        yield Program(f"pairs/rewritten {name}", (HEAD + head + first, HEAD + head + second))


def answers_of(
    program: Program, engine: str, server: ForkServer, environment: dict[str, str]
) -> dict[str, Any]:
    """Return each command's exit code, messages and document."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path in program.folder.iterdir() if program.folder else ():
            (folder / path.name).symlink_to(path)

        def answer(arguments: list[str], document: str = "") -> dict[str, Any]:
            done = server.run(arguments, cwd=folder, env=environment, timeout=SECONDS)
            path = folder / document
            text = path.read_text() if document and path.exists() else done.stdout
            return {
                "code": done.returncode,
                "messages": masked(done.stderr),
                "document": parsed(text),
            }

        for number, source in enumerate(program.sources, 1):
            (folder / f"program{number}.py").unlink(missing_ok=True)
            (folder / f"program{number}.py").write_text(source, encoding="utf-8")
        options = ["--engine", "torch"] if engine == "torch" else []
        if len(program.sources) == 2:
            return {
                "diff": answer(["diff", *options, "program1.py", "program2.py", "--format", "json"])
            }
        answers = {"run": answer(["run", *options, "program1.py", "-o", RECORD])}
        if (folder / RECORD).exists():
            for command, arguments in QUESTIONS.items():
                answers[command] = answer(arguments, arguments[-1] if "-o" in arguments else "")
        return answers


def masked(text: str) -> str:
    for pattern, replacement in MASKS:
        text = re.sub(pattern, replacement, text)
    return text


def parsed(text: str) -> Any:
    """Return a JSON document, or the lines of other text."""
    text = masked(text)
    try:
        return json.loads(text)
    except ValueError:
        return text.splitlines()


def write(archive: Path, engine: str, checkout: Path, only: list[str], jobs: int) -> None:
    """Write the answers about each program into a zip of JSON documents, with the hash of each."""
    selected = [
        program for program in programs() if not only or any(word in program.name for word in only)
    ]
    environment = {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "COLUMNS": "80",
        "OMP_NUM_THREADS": "1",
    }
    environment["PYTHONPATH"] = str(checkout)
    servers = [ForkServer(WARM_UP_ARRAYS, path=checkout) for _ in range(jobs)]

    def share(number: int) -> dict[str, dict[str, Any]]:
        own = selected[number::jobs]
        return {
            program.name: answers_of(program, engine, servers[number], environment)
            for program in own
        }

    with ThreadPoolExecutor(jobs) as pool:
        results = {
            name: answers for part in pool.map(share, range(jobs)) for name, answers in part.items()
        }
    for server in servers:
        server.close()
    hashes = {}
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for name in sorted(results):
            text = json.dumps(results[name], indent=1)
            hashes[name] = sha256(text.encode()).hexdigest()
            file.writestr(f"{name}.json", text)
        file.writestr("hashes.json", json.dumps(hashes, indent=1))
    print(f"{len(results)} programs, {sum(map(len, results.values()))} answers")


class Difference(NamedTuple):
    program: str
    before: Any
    after: Any


def compare(before: Path, after: Path, examples: int) -> int:
    """Print the kinds of differences, the most frequent first; return how many there are."""
    kinds: dict[str, list[Difference]] = defaultdict(list)
    with zipfile.ZipFile(before) as old, zipfile.ZipFile(after) as new:
        hashes, new_hashes = (json.loads(file.read("hashes.json")) for file in (old, new))
        for name in sorted({*hashes, *new_hashes}):
            if hashes.get(name) == new_hashes.get(name):
                continue
            for place, first, second in differences("", document(old, name), document(new, name)):
                kinds[place].append(Difference(name, first, second))
    for place, rows in sorted(kinds.items(), key=lambda item: -len(item[1])):
        print(f"{place}: {len(rows)} in {len({row.program for row in rows})} programs")
        for row in rows[:examples]:
            print(
                f"    {row.program}: {json.dumps(row.before)[:SHOWN]} -> {json.dumps(row.after)[:SHOWN]}"
            )
    print(
        f"{sum(map(len, kinds.values()))} differences of {len(kinds)} kinds, in {len(hashes)} programs"
    )
    return len(kinds)


def document(archive: zipfile.ZipFile, name: str) -> Any:
    path = f"{name}.json"
    return json.loads(archive.read(path)) if path in archive.namelist() else None


def differences(place: str, before: Any, after: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield each place where two documents differ, with the two values; an item of a list is named `[]`."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in {**before, **after}:
            yield from differences(f"{place}.{key}".lstrip("."), before.get(key), after.get(key))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for first, second in zip(before, after, strict=True):
            yield from differences(f"{place}[]", first, second)
    elif before != after:
        yield place, before, after


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    writing = commands.add_parser("write", help="archive the answers")
    writing.add_argument("archive", type=Path)
    writing.add_argument("--engine", choices=("gradtrace", "torch"), default="gradtrace")
    writing.add_argument(
        "--checkout", type=Path, default=ROOT, help="the checkout that answers (default: this one)"
    )
    writing.add_argument(
        "--only", nargs="+", default=[], metavar="TEXT", help="programs with TEXT in their names"
    )
    writing.add_argument("--jobs", type=int, default=2, help="programs at a time (default 2)")
    comparing = commands.add_parser("compare", help="compare two archives")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument(
        "--examples", type=int, default=2, help="programs shown for each kind (default 2)"
    )
    options = parser.parse_args()
    if options.command == "compare":
        return 1 if compare(options.before, options.after, options.examples) else 0
    write(options.archive, options.engine, options.checkout.resolve(), options.only, options.jobs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
