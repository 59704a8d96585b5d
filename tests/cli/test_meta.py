"""No command shows values of a tensor on the device "meta", which has none."""

from __future__ import annotations

import csv
import json
from typing import Any

import pytest

PROGRAM = """import torch
with torch.device("meta"):
    net = torch.nn.Linear(3, 2)
    x = torch.randn(4, 3)
loss = net(x).pow(2).mean()
loss.backward()
"""
NO_VALUES = "a tensor on the device 'meta' has no values; make it on the CPU"


@pytest.fixture
def program(here: Any) -> str:
    (here / "meta.py").write_text(PROGRAM)
    return "meta.py"


def test_the_table_says_meta(program: str, answer: Any) -> None:
    rows = {line.split()[0]: line.split() for line in answer("eval", program).splitlines() if line.strip()}
    assert rows["net.weight"][1:4] == ["meta", "(2,", "3)"] and rows["net.weight"][-1] == "meta"
    assert rows["loss"][1:3] == ["meta", "()"]


def test_data_has_null_or_meta_for_what_is_not_known(program: str, answer: Any) -> None:
    found = json.loads(answer("eval", program, "--format", "json"))
    for facts in (found["gradients"]["net.weight"]["summary"], found["tensors"][0]["value"]["summary"]):
        known = {name: fact for name, fact in facts.items() if fact is not None}
        assert known == {"shape": [2, 3], "dtype": "float32", "device": "meta"}
        assert {"norm", "zeros", "nan"} < facts.keys()
    rows = list(csv.DictReader(answer("eval", program, "--format", "csv").splitlines()))
    assert {row["value"] for row in rows} == {"meta"} and {row["grad"] for row in rows} == {"meta", ""}
    assert answer("eval", program, "--sort", "value").splitlines()[2].startswith("net.weight")


@pytest.mark.parametrize("options", [(), ("--depth", "0"), ("--depth", "0", "--detail"), ("--color-by", "grad-norm")])
def test_a_picture_has_no_norm(options: tuple[str, ...], program: str, answer: Any, here: Any) -> None:
    answer("graph", program, *options, "-o", "x.dot")
    drawn = (here / "x.dot").read_text()
    assert "net" in drawn and "|grad|" not in drawn and "grad norm" not in drawn
    assert "grad is None" not in drawn  # the gradients are there, their sizes are not known


@pytest.mark.parametrize("command", ["jacobian", "hessian", "check", "paths", "plan", "compare"])
def test_derivatives_need_values(command: str, program: str, refusal: Any) -> None:
    assert refusal(command, program) == (1, f"gradtrace: {NO_VALUES}\n")


def test_a_value_that_is_not_there_is_not_printed(program: str, answer: Any, refusal: Any) -> None:
    assert refusal("eval", program, "--get", "loss") == (1, f"gradtrace: {NO_VALUES}\n")
    assert answer("eval", program, "--get", "net.weight.shape") == "(2, 3)\n"


@pytest.mark.parametrize("command", ["why", "stats", "trace"])
def test_no_number_stands_for_a_value(command: str, program: str, answer: Any) -> None:
    """Neither the zeros that the arrays hold, nor derivatives computed from them."""
    shown = answer(command, program)
    assert "all 0" not in shown and "0.25" not in shown and "is 0" not in shown
    if command == "why":
        assert "net.weight.grad is of shape (2, 3), from backward on line 6." in shown
    if command == "stats":
        assert "device meta" in shown


def test_a_record_in_a_file(program: str, answer: Any) -> None:
    answer("run", program, "-o", "meta.gt")
    assert answer("why", "meta.gt") == answer("why", program)
    assert answer("eval", "meta.gt") == answer("eval", program)
