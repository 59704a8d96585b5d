"""Each limit has an option and a variable, and its message names both."""

from __future__ import annotations

import pytest

from gradtrace.limits import LIMITS

# a program that goes beyond a small limit, and that limit
ENDING = [limit for limit in LIMITS if limit.field != "record_bytes"]  # which ends no program
BEYOND = {
    "source_bytes": ("y = x + 1 # " + "x" * 100, "50"),
    "memory_bytes": ("y = x\ns = 'a' * 10**10", "50"),
    "process_bytes": ("import torch\ny = x * torch.ones(1000, 1000, 1000)", "3000000000"),
    "output_bytes": ("y = x\nprint('a' * 10**7)", "50"),
    "seconds": ("y = x\nwhile True: pass", "0.01"),
}


@pytest.mark.parametrize("limit", ENDING, ids=lambda limit: limit.field)
@pytest.mark.parametrize("command", ["eval", "run", "graph"])
def test_options_and_variables(process, here, limit, command):
    """As processes: on a busy machine the clock may end the whole of one that is late."""
    text, value = BEYOND[limit.field]
    (here / "p.txt").write_text(text)
    for args, more in (
        ([limit.flag, value], {}),
        ([f"{limit.flag}={value}"], {}),
        ([], {limit.variable: value}),
    ):
        done = process(command, "p.txt", "--x", "1", *args, env=more)
        assert done.returncode == (2 if limit.field == "source_bytes" else 1)
        assert limit.flag in done.stderr and limit.variable in done.stderr


def test_help_lists_them(answer):
    text = answer("run", "--help-all")
    assert all(limit.flag in text for limit in LIMITS) and "16,000,000,000" in text


def test_an_invalid_value(refusal, here):
    (here / "p.txt").write_text("x*x")
    for value in ("-1", "many", ""):
        code, text = refusal("run", "p.txt", "--x", "1", "--max-memory", value)
        assert code == 2 and "--max-memory" in text


@pytest.mark.parametrize(
    "args",
    [
        ["eval", "x*2", "--x", "ones(10000, 10000)"],
        ["eval", "x*2", "--params", "p.json"],
        ["run", "d.txt"],
        ["jacobian", "x*2", "--x", "1", "--grad-tensors", "ones(10000, 10000)"],
    ],
)
def test_values_are_computed_within_the_limits(process, here, args):
    (here / "p.json").write_text('{"x": "ones(10000, 10000)"}')
    (here / "d.txt").write_text("x: data = ones(10000, 10000)\nx\n")
    done = process(*args, "--max-memory", "10000000")
    assert (done.returncode, done.stdout) == (1, "") and "--max-memory" in done.stderr, done


ENDLESS = {
    "recursion": (
        "def f(n):\n    return f(n + 1)\nf(0)",
        "RecursionError: maximum recursion depth exceeded",
    ),
    "printing": (
        "while True:\n    print('x' * 1000)",
        "wrote more than 100000 bytes; raise the limit with --max-output",
    ),
    "forks": (
        "import os\nwhile True:\n    os.fork()",
        "PermissionError: [Errno 1] Operation not permitted",
    ),
    "sleep": (
        "import time\ntime.sleep(1000)",
        "ran longer than 1 s; raise the limit with --max-seconds",
    ),
    "C code": (
        "sum(range(10**12))\nimport os",
        "ran longer than 1 s; raise the limit with --max-seconds",
    ),
    "100 GB": (
        "import os\nx = bytearray(100 * 10**9)",
        "more memory than its values may have; raise the limit with --max-",
    ),
    "small values": (
        "x = []\nwhile True:\n    x.append([1])",
        "more memory than its values may have; raise the limit",
    ),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_an_endless_program_ends_with_one_error(process, here, name):
    text, message = ENDLESS[name]
    seconds = "1" if "max-seconds" in message else "30"
    (here / "p.py").write_text(text)
    done = process(
        "run",
        "p.py",
        "--max-seconds",
        seconds,
        "--max-output",
        "100000",
        "--max-memory",
        "50000000",
    )
    assert done.returncode == 1 and "Traceback" not in done.stderr
    first, *source = done.stderr.splitlines()
    assert message in first and first.startswith(("p.py:", "gradtrace: "))
    assert not [line for line in source if line.startswith(("p.py:", "gradtrace: "))]
    assert name == "printing" or done.stdout == ""
