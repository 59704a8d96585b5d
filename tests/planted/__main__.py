"""Score the answers of `gradtrace why` on the planted bugs.

python -m tests.planted                   # the score of each engine, and what each wrong answer lacks
python -m tests.planted dead_relu -v      # some of them, with the answers
python -m tests.planted 'lib_*'           # those in models of libraries, or like theirs
python -m tests.planted --engine torch    # what is asked of one engine
"""

from __future__ import annotations

import argparse
import sys
from fnmatch import fnmatch

from tests.planted.bugs import ENGINES, Bug, answer_of, load_all, misses


def score(bugs: list[Bug], engine: str, verbose: bool) -> bool:
    """Print the verdict on each answer, and the score. Returns whether all are right."""
    asked = right = misleading = 0
    for bug in bugs:
        if bug.missing:
            print(f"left out  {bug.name}: needs {', '.join(bug.missing)}")
            continue
        asked += 1
        answer = answer_of(bug, engine)
        lacks = misses(bug, answer)
        right += not lacks
        misleading += any(text.startswith("misleads") for text in lacks)
        print(
            f"{'right' if not lacks else 'wrong'}  {bug.name}{bug.cause and ': '}{bug.cause}",
            flush=True,
        )
        for text in lacks:
            print(f"         {text}")
        if verbose:
            print("".join(f"    | {line}\n" for line in answer.printed.splitlines()), end="")
    print(f"{engine}: {right} of {asked} right, {misleading} misleading")
    return right == asked


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.planted", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="programs to ask about, or patterns (default: all)"
    )
    parser.add_argument("--engine", choices=ENGINES, help="ask this one only")
    parser.add_argument("-v", "--verbose", action="store_true", help="print every answer")
    options = parser.parse_args()
    chosen = [
        bug for bug in load_all() if any(fnmatch(bug.name, name) for name in options.names or ["*"])
    ]
    results = []
    for engine in [options.engine] if options.engine else ENGINES:
        results.append(
            score([bug for bug in chosen if engine in bug.engines], engine, options.verbose)
        )
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
