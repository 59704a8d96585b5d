"""The processes that draw for a confined child: their limits are the parent's, and none outlives the command."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from processes import descendants, is_running

from gradtrace.errors import RenderError
from gradtrace.sandbox import confine, kernel
from gradtrace.views import animation, image

pytestmark = pytest.mark.skipif(
    not kernel.offered().stands, reason="this kernel has no Landlock or no seccomp"
)
ROOT = Path(__file__).resolve().parents[2]
MANY = (
    "digraph {\n" + "".join(f"\tn{i} -> n{(i * 7919 + 13) % 6000}\n" for i in range(12_000)) + "}"
)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGHUP])
def test_no_process_outlives_the_command(number, tmp_path):
    (tmp_path / "p.txt").write_text("y = x\nfor i in range(3000):\n    y = sin(y) + x * y\n")
    command = [
        sys.executable,
        "-m",
        "gradtrace",
        "graph",
        "p.txt",
        "--x",
        "1",
        "--detail",
        "-o",
        "g.svg",
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL
    ) as process:
        deadline = time.monotonic() + 30
        below = []
        while (
            len(below) < 2 and time.monotonic() < deadline
        ):  # the confined child, and what draws for it
            time.sleep(0.02)
            below = descendants(process.pid)
        assert len(below) >= 2, "nothing is drawn apart"
        time.sleep(0.3)
        process.send_signal(number)
        process.wait(30)
    deadline = time.monotonic() + 5
    while any(map(is_running, below)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(map(is_running, below))


def test_a_picture_that_needs_more_memory_is_an_error():
    with pytest.raises(RenderError):
        image.drawn_apart(MANY.encode(), "svg", 0, 60.0, confine.Limits(memory=30_000_000))


def test_a_picture_that_needs_more_time_is_an_error():
    start = time.monotonic()
    with pytest.raises(RenderError):
        image.drawn_apart(MANY.encode(), "svg", 0, 60.0, confine.Limits(cpu_seconds=1))
    assert time.monotonic() - start < 20


@pytest.mark.skipif(animation.shutil.which("ffmpeg") is None, reason="no ffmpeg here")
def test_a_film_that_needs_a_larger_file_is_an_error():
    with pytest.raises(RenderError):
        animation.encoded(
            os.urandom(3 * 640 * 480) * 3, 640, 480, 60.0, confine.Limits(file_size=10_000)
        )
