"""`tensorboard.notebook` for programs: finds running TensorBoards by the files that they leave.

The files are those of `tensorboard/manager.py`. A confined program cannot look for them itself, and
starts none.
"""

from __future__ import annotations

import builtins
import os
import sys
import time

from gradtrace.annotations import Any
from gradtrace.sandbox import channel
from gradtrace.views.cells import visible

LONGEST_INFORMATION = 1 << 20  # bytes read of the file that a TensorBoard leaves

__all__ = ["display", "list", "start"]

STARTED = (
    "a program starts no TensorBoard; look at it with: tensorboard {}\n"
    "or, without it, at a page of the graph: gradtrace graph FILE -o graph.html\n"
)


def list() -> None:
    """Print the TensorBoards that run on this machine."""
    processes = channel.ask("tensorboards")["running"] if channel.is_open() else running()
    if not processes:
        print("No known TensorBoard instances running.")
        return
    print("Known TensorBoard instances:")
    for process in processes:
        where = f"port {process['port']}: logdir {visible(process['logdir'])}"
        print(f"  - {where} (started {ago(process['start_time'])} ago; pid {process['pid']})")


def start(args_string: str = "") -> None:
    """Print on stderr how to view the files, since a program cannot start TensorBoard."""
    sys.stderr.write(STARTED.format(args_string))


def display(port: int | None = None, height: int | None = None) -> None:
    """Print on stderr how to view the files."""
    start()


def running() -> builtins.list[dict[str, Any]]:
    """Return the information files of running TensorBoards; unreadable ones are skipped."""
    import json
    import tempfile

    folder = os.path.join(tempfile.gettempdir(), ".tensorboard-info")
    servers = []
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        path = os.path.join(folder, name)
        try:
            if not os.path.isfile(path):  # anybody may put a pipe there, which would never answer
                continue
            with open(path, encoding="utf-8") as file:
                server = json.loads(file.read(LONGEST_INFORMATION))
            whole = all(
                type(server[key]) is int and abs(server[key]) < 1 << 53
                for key in ("port", "pid", "start_time")
            )
            if whole and isinstance(server["logdir"], str):
                servers.append(server)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue
    return servers


def ago(start: int) -> str:
    seconds = max(0, int(time.time()) - start)
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
