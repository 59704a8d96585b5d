"""Score the answers of `gradtrace why --engine torch` on the planted bugs.

python -m tests.torch.planted               # the score, and what each wrong answer lacks
python -m tests.torch.planted dead_relu -v  # some of them, with the answers
"""

from __future__ import annotations

import argparse
import sys

from tests.torch.planted.bugs import ask, load_all, misses


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.torch.planted", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs to ask about (default: all)")
    parser.add_argument("-v", "--verbose", action="store_true", help="print every answer")
    options = parser.parse_args()
    bugs = [bug for bug in load_all() if not options.names or bug.name in options.names]
    right = misleading = 0
    for bug in bugs:
        answer = ask(bug)
        lacks = misses(bug, answer)
        right += not lacks
        misleading += any(text.startswith("misleads") for text in lacks)
        print(f"{'right' if not lacks else 'wrong'}  {bug.name}: {bug.cause}", flush=True)
        for text in lacks:
            print(f"         {text}")
        if options.verbose:
            print("".join(f"    | {line}\n" for line in answer.splitlines()), end="")
    print(f"{right} of {len(bugs)} right, {misleading} misleading")
    return 0 if right == len(bugs) else 1


if __name__ == "__main__":
    sys.exit(main())
