"""Each limit has an option and a variable, and its message names both."""

from __future__ import annotations

import pytest

from gradtrace.limits import LIMITS

# a program that goes beyond a small limit, and that limit
ENDING = [limit for limit in LIMITS if limit.field != "record_bytes"]  # which ends no program
BEYOND = {
    "source_bytes": ("y = x + 1 # " + "x" * 100, "50"),
    "steps": ("y = x\nwhile True:\n    y = y + 1", "50"),
    "call_depth": ("def f(n):\n    return f(n)\ny = f(x)", "50"),
    "memory_bytes": ("y = x\ns = 'a' * 1000", "50"),
    "flops": ("import torch\na = torch.ones(99, 99)\ny = x * (a @ a)", "50"),
    "process_bytes": ("import torch\ny = x * torch.ones(1000, 1000, 1000)", "3000000000"),
    "output_bytes": ("y = x\nprint('a' * 1000)", "50"),
    "seconds": ("y = x\nwhile True: pass", "0.01"),
}


@pytest.mark.parametrize("limit", ENDING, ids=lambda limit: limit.field)
@pytest.mark.parametrize("command", ["eval", "run", "graph"])
def test_options_and_variables(process, here, limit, command):
    """As processes: on a busy machine the clock may end the whole of one that is late."""
    text, value = BEYOND[limit.field]
    (here / "p.txt").write_text(text)
    for args, more in (([limit.flag, value], {}), ([f"{limit.flag}={value}"], {}), ([], {limit.variable: value})):
        done = process(command, "p.txt", "--x", "1", *args, env=more)
        assert done.returncode == (2 if limit.field == "source_bytes" else 1)
        assert limit.flag in done.stderr and limit.variable in done.stderr


def test_help_lists_them(answer):
    said = answer("run", "--help")
    assert all(limit.flag in said for limit in LIMITS) and "1,000,000,000" in said


def test_a_value_that_is_none(refusal, here):
    (here / "p.txt").write_text("x*x")
    for value in ("-1", "many", ""):
        code, said = refusal("run", "p.txt", "--x", "1", "--max-steps", value)
        assert code == 2 and "--max-steps" in said


@pytest.mark.parametrize(
    "args",
    [
        ["eval", "x*2", "--x", "[i for i in range(10**12)]"],
        ["eval", "x*2", "--params", "p.json"],
        ["run", "d.txt"],
        ["jacobian", "x*2", "--x", "1", "--grad-tensors", "[i for i in range(10**12)]"],
    ],
)
def test_values_are_computed_within_the_limits(refusal, here, args):
    (here / "p.json").write_text('{"x": "[i for i in range(10**12)]"}')
    (here / "d.txt").write_text("x: data = [i for i in range(10**12)]\nx\n")
    code, said = refusal(*args, "--max-steps", "10000")
    assert code == 1 and "--max-steps" in said
