"""What a program prints stays out of the answers, and a failing program has its picture and its trace."""

import json
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from programs import FAILS, IN_A_LOOP, IN_BACKWARD

PLAIN = "import torch\nx = torch.tensor([2.0, 3.0], requires_grad=True)\n{}y = (x * x).sum()\ny.backward()\n{}"
PRINTS = ("print('hello', x)\n", "print('y is', y.item())\n")


@pytest.mark.parametrize("command", ["why", "eval", "stats", "trace"])
@pytest.mark.parametrize("format", ["table", "json", "csv", "md"])
def test_prints_do_not_mix_into_answers(gt, here, command, format):
    (here / "plain.py").write_text(PLAIN.format("", ""))
    (here / "prints.py").write_text(PLAIN.format("pass\n", "pass\n"))
    silent = gt(command, "prints.py", "--format", format)
    (here / "prints.py").write_text(PLAIN.format(*PRINTS))
    said = gt(command, "prints.py", "--format", format)
    assert "hello tensor" in said.stderr and "y is 13.0" in said.stderr
    first, second = (
        text.stdout.replace("pass", "").replace("print", "") for text in (silent, said)
    )
    if format == "json":
        first, second = (json.dumps({**json.loads(t.stdout), "source": 0}) for t in (silent, said))
    assert first == second


def test_a_heading_where_both_streams_are_a_terminal(here):
    pytest.importorskip("pty")
    import os
    import pty

    (here / "prints.py").write_text(PLAIN.format(*PRINTS))
    leader, follower = pty.openpty()
    argv = [sys.executable, "-m", "gradtrace", "why", "prints.py", "x", "--color", "never"]
    done = subprocess.Popen(argv, stdout=follower, stderr=follower, stdin=subprocess.DEVNULL)
    os.close(follower)
    said = b""
    while True:
        try:
            part = os.read(leader, 4096)
        except OSError:
            break
        if not part:
            break
        said += part
    done.wait()
    os.close(leader)
    text = said.decode().replace("\r", "")
    assert (
        text.startswith("printed by the program:\nhello tensor([2., 3.]")
        and "x.grad is [4, 6]" in text
    )


# ---- failures


@pytest.fixture
def fails(here):
    (here / "fail.py").write_text(FAILS)
    return "fail.py"


def test_a_picture_up_to_the_failure(gt, here, fails):
    result = gt("graph", fails, "-o", "f.svg")
    assert result.exit_code == 1 and result.stdout == ""
    assert (
        "fail.py:7:5: RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x3 and 4x5)"
        in result.stderr
    )
    svg = (here / "f.svg").read_text()
    ElementTree.fromstring(svg)
    assert (
        "h @ w" in svg
        and "line 7" in svg
        and "RuntimeError: mat1 and mat2" in svg
        and "#b00020" in svg
    )
    assert svg.count("#b00020") > 2 and "torch.relu(x)" in svg


@pytest.mark.parametrize("suffix", ["png", "pdf", "dot", "html", "mmd", "json", "graphml", "txt"])
def test_every_kind_of_picture(gt, here, fails, suffix):
    assert gt("graph", fails, "-o", f"f.{suffix}").exit_code == 1
    content = (here / f"f.{suffix}").read_bytes()
    assert content and (suffix in ("png", "pdf") or b"h @ w" in content.replace(b"&#160;", b" "))


def test_the_operands_of_what_failed(gt, here, fails):
    gt("graph", fails, "-o", "f.json")
    found = json.loads((here / "f.json").read_text())
    failed = next(n for n in found["nodes"] if n.get("role") == "failed")
    assert (failed["label"], failed["line"]) == ("h @ w", 7)
    named = {n["id"]: n["label"] for n in found["nodes"]}
    oval = next(e["source"] for e in found["edges"] if e["target"] == failed["id"])
    assert [named[e["source"]] for e in found["edges"] if e["target"] == oval] == ["h", "w"]


def test_a_trace_up_to_the_failure(gt, fails):
    result = gt("trace", fails)
    assert result.exit_code == 1
    assert "failed, line 7: h @ w (of h, w)\nRuntimeError: mat1 and mat2" in result.stdout
    assert "torch.relu(x)" in result.stdout and "h @ w" in result.stderr
    steps = json.loads(gt("trace", fails, "--format", "json").stdout)["steps"]
    assert [s["kind"] for s in steps] == ["forward", "forward", "failed"]
    assert steps[-1]["inputs"] == ["h", "w"] and steps[-1]["exception"] == "RuntimeError"
    assert (
        gt("trace", fails, "--format", "csv")
        .stdout.splitlines()[-1]
        .startswith("3,failed,7,h @ w,")
    )


def test_a_failure_in_backward_marks_the_operation(gt, here):
    (here / "fail.py").write_text(IN_BACKWARD)
    result = gt("graph", "fail.py", "-o", "f.svg")
    assert result.exit_code == 1
    assert "its backward failed: RuntimeError" in (here / "f.svg").read_text()
    assert "failed, line 7: the backward of a.exp(), line 4" in gt("trace", "fail.py").stdout


def test_a_failure_in_a_loop_is_drawn_with_its_step(gt, here):
    (here / "fail.py").write_text(IN_A_LOOP)
    assert gt("graph", "fail.py", "-o", "f.json").exit_code == 1
    found = [
        n["label"]
        for n in json.loads((here / "f.json").read_text())["nodes"]
        if n["kind"] == "tensor"
    ]
    assert "w @ torch.ones(3)" in found and found.count("loss") <= 1


def test_what_fails_before_any_tensor_is_only_an_error(gt, here):
    (here / "fail.py").write_text("import torch\nraise ValueError('no')\n")
    result = gt("graph", "fail.py", "-o", "f.svg")
    assert (
        result.exit_code == 1
        and "ValueError: no" in result.stderr
        and not (here / "f.svg").exists()
    )
