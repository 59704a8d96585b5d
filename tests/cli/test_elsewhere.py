"""What must work on every system: CI runs this file on Windows and macOS too, and here without what Windows lacks."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# The names that Python has on Linux and not on Windows, as far as the package could meet them. What Python's own
# subprocess needs on Linux stays.
WITHOUT = """
import os, select, signal, subprocess, sys, tempfile
import click, rich.console
for name in ("resource", "fcntl", "pwd", "grp", "termios", "tty", "pty"):
    sys.modules[name] = None
for name in (
    "fork", "forkpty", "pipe2", "chown", "fchown", "fchmod", "getuid", "geteuid", "getgid", "setsid", "mkfifo",
    "memfd_create", "pread", "pwrite", "sched_getaffinity", "uname", "sysconf", "getloadavg", "O_NOFOLLOW",
    "O_DIRECTORY", "O_CLOEXEC", "O_PATH",
):
    if hasattr(os, name):
        delattr(os, name)
for name in (
    "SIGALRM", "setitimer", "getitimer", "ITIMER_REAL", "SIGKILL", "SIGHUP", "SIGUSR1", "SIGPIPE", "SIGXCPU",
    "SIGQUIT", "pthread_sigmask", "alarm", "SIGCHLD", "SIGSTOP",
):
    if hasattr(signal, name):
        delattr(signal, name)
if hasattr(select, "poll"):
    del select.poll
os.add_dll_directory = lambda path: None
sys.platform = "win32"
from gradtrace.cli.main import main
sys.exit(main())
"""
LOOP = """import torch
torch.manual_seed(0)
model = torch.nn.Linear(3, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    loss = (model(torch.randn(4, 3)) ** 2).log().mean() * float("nan" if step == 2 else 1)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.fixture(params=["here", "without"])
def command(request, tmp_path):
    """command(*arguments) -> the process of a command line in an empty folder, once without what Windows lacks."""
    if request.param == "without" and not sys.platform.startswith("linux"):
        pytest.skip("the names are taken away on Linux alone")
    start = ["-m", "gradtrace"] if request.param == "here" else ["-c", WITHOUT]

    def run(*arguments, code=0, **options):
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
        done = subprocess.run(
            [sys.executable, *start, *arguments], cwd=tmp_path, env=environment, capture_output=True, timeout=300,
            encoding="utf-8", **options,
        )  # fmt: skip
        assert code in (done.returncode, None) and "Traceback" not in done.stderr, done.stderr
        return done

    (tmp_path / "loop.py").write_text(LOOP)
    return run


def test_values(command):
    assert (
        command("eval", "(x+w)*(w+1)", "--x", "2", "--w", "1", "--get", "w.grad").stdout == "5.0\n"
    )
    assert (
        command("eval", "(x*x).sum()", "--x", "@-", "--get", "x.grad", input="1 2\n").stdout.strip()
        == "[2.0, 4.0]"
    )


@pytest.mark.parametrize("name", ["loop.svg", "loop.png", "loop.html", "loop.gif", "loop.gt"])
def test_pictures(command, tmp_path, name):
    command("graph", "loop.py", "-o", name)
    assert (tmp_path / name).stat().st_size > 1000


def test_answers(command):
    assert command("why", "loop.py").stdout.startswith("loss is nan")
    assert command("trace", "loop.py", "--format", "jsonl").stdout
    assert command("check", "x*x", "--x", "3").stdout.endswith("no mistake found\n")
    command("run", "loop.py", "-o", "loop.gt")
    assert "nan" in command("stats", "loop.gt", code=1).stdout


def test_tables(command, tmp_path):
    (tmp_path / "table.csv").write_text("x,w\n2,1\n3,4\n")
    rows = command(
        "map", "z = (x+w)*(w+1)", "--data", "table.csv", "--format", "csv"
    ).stdout.splitlines()
    assert rows[0].startswith("x,w,z") and rows[1].startswith("2,1,6.0")


def test_files(command, tmp_path):
    (tmp_path / "e.txt").write_text("x: leaf = 3\ny = x*x\n")
    for name in ("e.txt", os.path.join(".", "e.txt"), str(tmp_path / "e.txt")):
        assert command("eval", name, "--get", "x.grad").stdout == "6.0\n"
    for name in (r".\none", r"..\none", r"C:\none", "D:/none"):
        assert f"gradtrace: no such file: '{name}'" in command("eval", name, code=2).stderr


def test_limits(command, tmp_path):
    (tmp_path / "endless.py").write_text("n = 0\nwhile True:\n    n = n + 1\n")
    said = command("run", "endless.py", "--max-seconds", "1", code=1).stderr
    assert "ran longer than 1 s" in said
    assert "memory" in command("eval", "ones(100000, 100000)", "--max-memory", "1e6", code=1).stderr


def test_what_a_machine_has(command, request):
    elsewhere = request.node.callspec.params["command"] == "without" or not sys.platform.startswith(
        "linux"
    )
    done = command("doctor", "--format", "json", code=None)
    found = json.loads(done.stdout)
    assert done.returncode == (0 if found["confined"] else 1) and not (
        elsewhere and found["confined"]
    )


def test_a_flight_log(command, tmp_path):
    code = (
        "import numpy as np\n"
        "from gradtrace.trace.flight_log import FlightWriter\n"
        "for first in (1, 4):\n"
        "    log = FlightWriter('run.gtlog', ['time', 'loss'], 8)\n"
        "    log.append(first, np.arange(first, first + 3.0)[:, None] * [1, 1])\n"
        "    log.close()\n"
    )
    (tmp_path / "log.py").write_text(code)
    subprocess.run(
        [sys.executable, "log.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
    )
    assert command("stats", "run.gtlog").stdout.splitlines()[-1].startswith("6 steps")


COMMAND = re.compile(r"^(?:\$ |\.venv/bin/)?gradtrace (.*?)(?: +#.*)?$", re.MULTILINE)
PROGRAMS = {
    "model.py": "examples/mlp.py",
    "train.py": "docs/programs/trains.py",
}  # README's names of files
COMMANDS = [
    line
    for line in COMMAND.findall((ROOT / "README.md").read_text("utf-8"))
    if "--engine torch" not in line
]


@pytest.mark.parametrize("line", COMMANDS)
def test_the_readmes_commands(command, tmp_path, line):
    words = shlex.split(line)
    for word in words:
        if word in PROGRAMS:
            (tmp_path / word).write_text(
                (ROOT / PROGRAMS[word]).read_text("utf-8"), encoding="utf-8"
            )
    command(*words)
    if "-o" in words:
        assert (tmp_path / words[words.index("-o") + 1]).stat().st_size > 100


# A training, a network, a custom Function, accumulated gradients and derivatives by rows.
SCRIPTS = [
    "seeded_training",
    "char_mlp_embedding",
    "legendre_function",
    "gradient_accumulation",
    "jacobian_by_rows",
]


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_print_what_pytorch_printed(command, name):
    script = ROOT / "tests" / "recorded" / "tutorials" / f"{name}.py"
    assert command("run", str(script)).stdout == script.with_suffix(".out").read_text("utf-8")
