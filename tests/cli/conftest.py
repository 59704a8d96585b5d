"""The command line, called in this process (`gt`, fast) or as a process of its own (`process`: streams, signals)."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from gradtrace.cli.group import cli

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(Path(__file__).parent))  # the scripts of test_why


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty current directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def gt(here, monkeypatch):
    """gt("eval", "x*x", "--x", "2", input="") -> result with exit_code, stdout, stderr."""
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def invoke(*args, **extra):
        result = CliRunner().invoke(cli, list(map(str, args)), prog_name="gradtrace", **extra)
        assert "Traceback" not in result.stderr or "--debug" in args
        return result

    return invoke


@pytest.fixture
def answer(gt):
    """The same for what must succeed: its stdout."""

    def invoke(*args, **extra):
        result = gt(*args, **extra)
        assert result.exit_code == 0, result.stderr
        return result.stdout

    return invoke


@pytest.fixture
def refusal(gt):
    """The same for what must fail: (exit code, stderr); nothing is on stdout."""

    def invoke(*args, **extra):
        result = gt(*args, **extra)
        assert result.exit_code != 0
        assert result.stdout == ""
        return result.exit_code, result.stderr

    return invoke


def environment(**extra):
    kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return {**kept, "PYTHONPATH": paths, "PYTHONIOENCODING": "utf-8", **extra}


@pytest.fixture
def clean():
    """clean(NAME="value") -> the environment of a process: this package, no settings about colour."""
    return environment


@pytest.fixture
def process(here):
    """process("eval", ...) -> subprocess.CompletedProcess of `python -m gradtrace eval ...`, text streams."""

    def run(*args, env=None, **extra):
        command = [sys.executable, "-m", "gradtrace", *map(str, args)]
        settings = {
            "capture_output": True,
            "text": True,
            "timeout": 60,
            "encoding": "utf-8",
            **extra,
        }
        return subprocess.run(command, env=environment(**(env or {})), **settings)

    return run


@pytest.fixture
def start(here):
    """start("eval", ..., stdout=...) -> subprocess.Popen."""

    def begin(*args, env=None, **streams):
        command = [sys.executable, "-m", "gradtrace", *map(str, args)]
        return subprocess.Popen(command, env=environment(**(env or {})), **streams)

    return begin


@pytest.fixture
def at_terminal(here):
    """at_terminal("repl", ..., until=">>> ") -> the Terminal that the command runs on, once it has shown that text."""
    pytest.importorskip("pty")
    from pseudo_terminal import Terminal

    started = []

    def begin(*args, until):
        started.append(Terminal(*args, env=environment(TERM="dumb", COLUMNS="100")))
        started[-1].until(until)
        return started[-1]

    yield begin
    for one in started:
        try:
            os.kill(one.pid, signal.SIGKILL)
            os.waitpid(one.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
