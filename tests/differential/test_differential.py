"""A short run of the differential test; `python -m tests.differential` is the long one, which `.ci/run` calls."""

from __future__ import annotations

import random

import pytest

import gradtrace

from . import explained, programs, statements, worlds

torch = pytest.importorskip(
    "torch", reason="the differential test needs PyTorch: pip install torch==2.13.0"
)


def test_random_programs_agree() -> None:
    torch.set_num_threads(1)
    unexplained = []
    for seed in range(20_000, 20_100):
        found, _ = programs.run(seed, gradtrace, torch)
        if found is not None and not explained.reason(found.what, "\n".join(found.statements)):
            unexplained.append(found)
    assert len(unexplained) <= 1, unexplained


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("v = torch.tensor(1.0)", "v = torch.tensor(2.0)"),
        ("v = torch.tensor(1.0)", "v = torch.tensor(1.0, dtype=torch.float64)"),
        ("v = torch.tensor(1.0, requires_grad=True)", "v = torch.tensor(1.0)"),
        ("v = torch.ones(2, requires_grad=True) * 2", "v = torch.ones(2, requires_grad=True) + 1"),
        ("v = torch.ones(2).add_(1)", "v = torch.ones(2) + 1"),
        (
            "v = torch.ones(2, requires_grad=True); v.sum().backward()",
            "v = torch.ones(2, requires_grad=True)",
        ),
        ("v = torch.ones(2)", "w = torch.ones(2)"),
    ],
)
def test_a_difference_is_seen(theirs: str, ours: str) -> None:
    a, b = worlds.ProgramWorld(gradtrace), worlds.World(torch)
    assert (a.run(ours), b.run(theirs)) == ("", "")
    assert worlds.compare(a, b)[0]


def test_an_error_is_a_difference() -> None:
    a, b = worlds.ProgramWorld(gradtrace), worlds.World(torch)
    assert a.run("torch.ones(2) + torch.ones(3)") == b.run("torch.ones(2) + torch.ones(3)") != ""
    assert a.run("torch.ones(2) + 1") == ""


def test_statements_follow_from_the_seed() -> None:
    first, second = (statements.create(statements.Scene(random.Random(7))) for _ in range(2))
    assert first == second
