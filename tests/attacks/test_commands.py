"""The plain Python attacks in each command that runs a program: none does what it tries."""

import json
import os
import platform
import signal
import subprocess
import sys
import time

import pytest
from canaries import ENVIRONMENT, ROOT, SECRET, Yard
from commands import COMMANDS, MORE, PICTURES, PROGRAM, drawing, write_sources
from processes import descendants, is_running
from python_attacks import (
    ATTACKS,
    FATAL,
    FORGED,
    FORGING,
    SWEEP,
    answered_calls,
    known_calls,
    outcomes,
    program_of,
    surprises,
)

from gradtrace.sandbox import kernel

pytestmark = [
    pytest.mark.skipif(
        not kernel.offered().stands, reason="this kernel has no Landlock or no seccomp"
    ),
    pytest.mark.skipif(
        platform.machine() != "x86_64", reason="the numbers of system calls are those of x86-64"
    ),
]
WAYS = {**COMMANDS, **MORE, **{f"graph as {suffix}": drawing(suffix) for suffix in PICTURES}}
QUICK = ("run", "why", "graph as svg", "map")
SLOW = [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in WAYS]
MADE = ("g.npz", *(f"g.{suffix}" for suffix in PICTURES))
PARTS = ("fingerprint.json", "manifest.json", "part-000000000000-000000000005.csv")


@pytest.fixture
def yard(tmp_path, door):
    return Yard(tmp_path, door, None)


def write_all(yard, before):
    """Write the files of all commands, which make the attacks first."""
    folder = yard.folder
    write_sources(folder, before)
    cell = {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "source": before,
        "outputs": [],
    }
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}
    (folder / "n.ipynb").write_text(json.dumps(notebook))
    (folder / "c.md").write_text("```console\n$ gradtrace run p.py\n1\n```\n")
    (folder / "i.py").write_text(f"import attacking\n{PROGRAM}")
    (folder / "modules").mkdir()
    (folder / "modules" / "attacking.py").write_text(before)


def run(yard, args, before):
    """Run a command on the files; what the canaries say is asserted, and of the files that it makes too."""
    may_make = (*MADE, *(f"parts/{name}" for name in PARTS), "parts")
    text = f"exec({before!r})\n" if args[0] == "repl" else f"{before}\n{PROGRAM}"
    done = yard.run(*args, text=text, may_make=may_make, inner=())
    for name in may_make[:-1]:
        content = (yard.folder / name).read_bytes() if (yard.folder / name).exists() else b""
        assert SECRET.encode() not in content and ENVIRONMENT.encode() not in content, (
            "a canary was written"
        )
    return done


@pytest.mark.parametrize("name", SLOW)
def test_no_attack_succeeds(name, yard, door, record_property):
    args = WAYS[name]
    before = program_of(ATTACKS, door.port, str(yard.folder / "p.py")) + SWEEP
    write_all(yard, before)
    if "r.gt" in args:
        run(yard, ("run", "f.py", "-o", "g.gt"), before)
        (yard.folder / "g.gt").rename(yard.folder / "r.gt")
    done = run(yard, args, before)
    made = outcomes(done.stderr + done.stdout)
    record_property("attacks", len(made))
    assert dict(made).keys() == ATTACKS.keys(), done
    assert surprises(made) == set()
    answered = answered_calls(done.stderr + done.stdout)
    assert answered and answered <= known_calls()


FORGED_IN = ("run", "graph as svg", "folder of parts", "verify", "repl", "check")
FORGERIES = [
    pytest.param(way, name, marks=() if (way, name) == ("run", "path") else pytest.mark.slow)
    for way in FORGED_IN
    for name in FORGED
]


@pytest.mark.parametrize(("way", "name"), FORGERIES)
def test_a_forged_message_does_nothing(way, name, yard):
    before = f"{FORGING}\n{FORGED[name]}\ntime.sleep(60)\n"
    write_all(yard, before)
    done = run(yard, (*WAYS[way], "--max-seconds", "3"), before)
    assert done.returncode == 1, done
    assert (
        "did not keep to its protocol" in done.stderr
        or "ran longer than" in done.stdout + done.stderr
    ), done


# What each program that does not end by itself must be told, on stderr or in the table of `verify`.
ENDLESS = {
    "search in C": (FATAL["search in C"][0], "ran longer than 2 s"),
    "numpy": (
        "import numpy as np\nx = np.eye(2000)\nfor i in range(10**6): x = x @ x",
        "ran longer than 2 s",
    ),
    "sleep": (FATAL["sleep"][0], "ran longer than 2 s"),
    "100 GB": (FATAL["100 GB"][0], "more memory than"),
    "100 GB piece by piece": (FATAL["100 GB piece by piece"][0], "more memory than"),
    "recursion": (FATAL["recursion"][0], "RecursionError"),
    "recursion without a limit": (FATAL["recursion without a limit"][0], ""),
    "endless print": (FATAL["endless print"][0], ""),
    "fork": ("import os\nos.fork()", "Operation not permitted"),
}
ENDED = [
    pytest.param(way, name, marks=() if (way, name) == ("check", "numpy") else pytest.mark.slow)
    for way in (*COMMANDS, "graph")
    for name in ENDLESS
]


@pytest.mark.parametrize(("way", "name"), ENDED)
def test_a_program_that_does_not_end_is_ended_with_one_line(way, name, yard):
    text, said = ENDLESS[name]
    write_all(yard, f"{text}\n")
    limits = ("--max-seconds", "2", "--max-memory", "100000000", "--max-output", "10000")
    start = time.monotonic()
    args = ("why", "p.py") if way == "why" else WAYS[way]
    done = run(yard, (*args, *limits), f"{text}\n")
    assert time.monotonic() - start < 15
    assert done.returncode == 1, done
    told = " ".join((done.stdout if way in ("verify", "why") else "").split()) + done.stderr
    assert said in told, done
    assert any(
        end in told for end in ("ran longer than", "more memory than", "wrote more than", "Error")
    ), done
    assert done.stderr.count("ran longer than") < 2, done
    assert (
        "process wrote" not in done.stderr
        or "\ngradtrace: the program's process wrote" in f"\n{done.stderr}"
    )


SLEEPING = "import os, time\nos.write(2, b'on\\n')\ntime.sleep(60)\n"
DEAF = "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\n"
PROGRAMS = {
    **{way: SLEEPING for way in WAYS if not way.endswith("of a record")},
    **{f"{way}, deaf": DEAF + SLEEPING for way in ("run", "repl", "verify")},
}
SIGNALLED = [
    pytest.param(
        name, number, marks=() if (name, number) == ("run", signal.SIGTERM) else pytest.mark.slow
    )
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
    for name in PROGRAMS
]


@pytest.mark.parametrize(("name", "number"), SIGNALLED)
def test_a_signal_leaves_no_process_and_no_folder(name, number, yard, tmp_path):
    text, way = PROGRAMS[name], name.removesuffix(", deaf")
    args = WAYS[way]
    write_all(yard, text)
    (tmp_path / "temporary").mkdir()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path / "temporary")}
    command = [sys.executable, "-m", "gradtrace", *args]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=yard.folder, env=environment, text=True, **pipes) as process:
        try:
            process.stdin.write(f"exec({text!r})\n" if way == "repl" else text)
            process.stdin.flush()
            if way != "repl":
                process.stdin.close()
            if way == "console of a document":  # what its command prints is compared, and not shown
                time.sleep(2)
            else:
                assert process.stderr.readline() == "on\n"
            below = descendants(process.pid)
            process.send_signal(number)
            process.stdin.close()
            code = process.wait(30)
            if (
                way == "repl" and number == signal.SIGINT
            ):  # Ctrl-C may end the entry, and the end of stdin the prompt
                assert code in (0, 128 + number)
            else:
                assert code == (-number if number == signal.SIGKILL else 128 + number)
        finally:
            process.kill()
    deadline = time.monotonic() + 5
    while any(map(is_running, below)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert below and not any(map(is_running, below))
    if number != signal.SIGKILL:  # the next command removes its folder
        assert list((tmp_path / "temporary").iterdir()) == []
