"""Run a plain Python program as a confined child, with a broker: `python plain_python.py FILE [GRANTS]`.

The program is executed by Python itself, in a process that has given up its rights as every command's child does.
GRANTS is a JSON object with the fields of `Grants` that differ from those of a command without options.
"""

import json
import signal
import sys
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np  # noqa: F401  as the package, which is loaded before the fork

from gradtrace.cli import broker, guard, main
from gradtrace.cli.grants import Grants
from gradtrace.limits import Budget


def run(path, differences):
    grants = Grants.within(Budget(seconds=20.0))._replace(
        read=(path,), temporary=True, **differences
    )
    broker.confine(grants, sys.argv[1:])
    text = Path(path).read_text("utf-8")
    try:
        exec(compile(text, path, "exec"), {"__name__": "__main__"})
    except Exception:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    broker.enable()
    for number in main.ENDING:
        signal.signal(number, main.end_by)
    given = json.loads(sys.argv[2]) if len(sys.argv) > 2 else {}
    try:
        code = guard.ended(lambda: run(sys.argv[1], given), [])
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    main.leave(code)
