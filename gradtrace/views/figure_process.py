"""The process that draws a program's figures: bytes in, bytes out.

The worker reads its job from stdin and answers on a pipe of its own, so what matplotlib prints is never an answer:
stdout and stderr are the null device. It inherits no other descriptor, and only the variables in ENVIRONMENT.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import tempfile
import time

from gradtrace.annotations import NamedTuple
from gradtrace.sandbox import channel, confine
from gradtrace.sandbox.confine import Limits

WORKER = ("-m", "gradtrace.views.figure_worker")
# Where Python and matplotlib find their libraries, and matplotlib its settings and its list of fonts.
ENVIRONMENT = ("HOME", "LD_LIBRARY_PATH", "MPLCONFIGDIR", "PYTHONPATH", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")
FINISHED = b"\1"
PIECE = 1 << 16  # bytes of one read


class Answer(NamedTuple):
    """What the worker wrote on its channel, and whether it ended without an error and in time."""

    content: bytes
    finished: bool


def draw_calls(job: bytes, seconds: float, most: int, limits: Limits | None = None) -> Answer:
    """Run the worker on a job and return its answer; after `seconds` or more than `most` bytes it is killed.

    A confined process has its broker run it. With `limits` the worker cannot exceed them, and ends with this process.
    """
    if channel.is_open():
        found = channel.ask_with("figures", job, seconds=seconds, most=most)
        return Answer(found[1:], found[:1] == FINISHED)
    environment = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [package, environment.get("PYTHONPATH")]))
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as given:
        given.write(job)
        given.seek(0)
        reading, writing = os.pipe()
        try:
            process = subprocess.Popen(
                [sys.executable, "-P", *WORKER, str(writing)],
                stdin=given,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=folder,  # a matplotlibrc in the folder of the program is not read
                env={**environment, "MPLBACKEND": "Agg", "OPENBLAS_NUM_THREADS": "1"},
                pass_fds=(writing,),
                preexec_fn=None if limits is None else confine.starting(limits),
            )
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        try:
            content = read_pipe(reading, time.monotonic() + seconds, most)
        finally:
            os.close(reading)
            finished = end_process(process)
        return Answer(content, finished)


def read_pipe(pipe: int, deadline: float, most: int) -> bytes:
    """Return what is written on a pipe until it is closed, the deadline has passed or there are more than `most`."""
    content = bytearray()
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    while len(content) <= most:
        left = deadline - time.monotonic()
        if left <= 0 or not poll.poll(1000 * left):
            break
        piece = os.read(pipe, PIECE)
        if not piece:
            break
        content += piece
    return bytes(content)


def end_process(process: subprocess.Popen[bytes]) -> bool:
    """Wait a moment for the worker, which has closed its channel, or kill it; return whether it ended well."""
    try:
        return process.wait(timeout=1) == 0
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return False
