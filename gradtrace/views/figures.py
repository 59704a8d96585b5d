"""The figures of a program, drawn by the real matplotlib after the program has ended.

    drawings = Drawings()                     # lang.run(..., drawings=drawings) fills it
    figures.draw(drawings, tell)              # writes the files into the folder of --allow-write

matplotlib runs in a separate process (`figure_worker.py`), which receives the calls as plain data and returns the bytes
of each file. The files are written here, and only through `lang/permission.py`.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec

from gradtrace.annotations import Any, Callable
from gradtrace.errors import GradtraceError
from gradtrace.lang import permission
from gradtrace.lang.figures import Drawings

WORKER = os.path.join(os.path.dirname(__file__), "figure_worker.py")
ENDINGS = ("savefig", "show")  # the calls that make files
LONGEST = 120.0  # seconds of drawing
MEMORY = 6_000_000_000  # bytes of the drawing process
MISSING = "matplotlib is not installed, so figures are not drawn: pip install 'gradtrace[plot]'"


def draw(drawings: Drawings, tell: Callable[[str], Any]) -> None:
    """Write the figures that the calls save or show; `tell` is called with a line for each figure and each error."""
    meter = drawings.meter
    if meter is None or not any(is_ending(call) for call in drawings.calls):
        return
    if not is_installed():
        tell(f"gradtrace: {MISSING}\n")
        return
    shown = 0
    for line in drawn_lines(drawings.calls, min(meter.budget.seconds, LONGEST), tell):
        if "error" in line:
            tell(f"gradtrace: figures: {printable(line['error'])}\n")
            continue
        name = line["file"]
        if name is None:
            shown += 1
            name = os.path.join(meter.budget.allow_write, f"figure_{shown}.png")
        try:
            with permission.create(permission.inside(name, meter), meter) as file:
                file.write(base64.b64decode(line["data"]))
                tell(f"gradtrace: figures: wrote {file.name}\n")
        except GradtraceError as error:
            tell(f"gradtrace: figures: {error.message}; {error.hint}\n")
            return


def is_ending(call: dict[str, Any]) -> bool:
    path: Any = call.get("path")
    return bool(path) and path[-1][1] in ENDINGS


def is_installed() -> bool:
    return find_spec("matplotlib") is not None


def drawn_lines(calls: list[dict[str, Any]], seconds: float, tell: Callable[[str], Any]) -> list[dict[str, Any]]:
    """Run the worker and return its answers; if it had to be killed, those that it had written."""
    job = json.dumps({"calls": calls, "seconds": seconds, "bytes": MEMORY})
    environment = {key: text for key, text in os.environ.items() if key != "MATPLOTLIBRC"}
    with tempfile.TemporaryDirectory() as folder:  # a matplotlibrc in the folder of the program is not read
        try:
            done = subprocess.run(
                [sys.executable, "-P", WORKER],
                input=job.encode("ascii"),
                capture_output=True,
                cwd=folder,
                env={**environment, "MPLBACKEND": "Agg", "OPENBLAS_NUM_THREADS": "1"},
                timeout=seconds + 10,
                check=False,
            )
            output, failed = done.stdout, done.returncode != 0
        except subprocess.TimeoutExpired as late:
            output, failed = late.stdout or b"", True
    if failed:
        tell("gradtrace: figures: matplotlib did not finish drawing them\n")
    return [line for line in map(parsed, output.splitlines()) if line is not None]


def parsed(line: bytes) -> dict[str, Any] | None:
    """Return one answer; None for an incomplete line."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) and ("error" in found or "file" in found) else None


def printable(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)
