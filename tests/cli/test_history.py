"""A trace tells what was: values as they were when they were made, in every command and format."""

import json
import subprocess
import sys

import pytest
from programs import MLP, VIEW

TWICE = "import torch\nw = torch.tensor([1., 2.])\na = (w * 2).sum()\nw += 10\nb = (w * 2).sum()\n"


@pytest.fixture
def view(here):
    (here / "view.py").write_text(VIEW)
    return "view.py"


@pytest.mark.parametrize("format", ["json", "jsonl", "csv", "tsv", "md", "latex"])
def test_a_view_in_every_format_of_a_table(answer, view, format):
    for line in answer("eval", view, "--format", format).splitlines():
        if line.startswith(("v,", "v\t", "| v ", "v &", '{"id": 1')):
            assert "1" in line and "100" not in line.replace("line", "")
    assert answer("eval", view, "--get", "v") == "1.0\n"
    assert answer("eval", view, "--get", "w") == "[100.0, 200.0]\n"


def test_a_view_in_every_command(answer, view):
    table = {line.split("  ")[0]: line.split() for line in answer("eval", view).splitlines()}
    assert (table["v"][1], table["loss"][1]) == ("1", "3") and "100]" not in " ".join(
        table["w (version 0)"]
    )
    steps = json.loads(answer("trace", view, "--format", "json"))["steps"]
    made = [out for step in steps for out in step.get("outputs", ())]
    assert {out["label"]: out["value"] for out in made} == {"v": 1, "loss": 3, "w": [100, 200]}
    nodes = json.loads(answer("stats", view, "--format", "json"))["nodes"]
    assert {n["label"]: n["value"]["largest"] for n in nodes} == {
        "w (version 0)": 2,
        "v": 1,
        "loss": 3,
        "w": 200,
    }
    assert "100" not in answer("why", view)
    assert "w.grad = [3, 0]" in answer("paths", view) and answer("paths", view).count("1 path") == 1


@pytest.mark.parametrize("suffix", ["dot", "svg", "html", "mmd", "json", "graphml", "txt"])
def test_a_view_in_every_picture(gt, here, view, suffix):
    assert gt("graph", view, "-o", f"g.{suffix}").exit_code == 0
    text = (here / f"g.{suffix}").read_text()
    assert "[100, 200]" not in text  # an update of a leaf is not drawn
    if suffix == "json":
        values = {
            n["label"]: n["value"] for n in json.loads(text)["nodes"] if n.get("value") is not None
        }
        assert values["v"] == 1 and values["w"] == [1, 2]
    assert gt("graph", view, "--depth", "all", "-o", f"g.{suffix}").exit_code == 0
    text = (here / f"g.{suffix}").read_text()
    assert "w (version 0)" in text.replace("&#160;", " ") and "[100, 200]" in text
    if suffix == "json":
        values = {
            n["label"]: n["value"] for n in json.loads(text)["nodes"] if n.get("value") is not None
        }
        assert values["v"] == 1 and values["w"] == [100, 200]


def test_two_results_of_one_expression_are_not_called_equal(answer, here):
    (here / "twice.py").write_text(TWICE)
    said = answer("stats", "twice.py")
    assert "no common subexpressions" in said
    rows = {line.split("  ")[0]: line.split() for line in said.splitlines()}
    assert (rows["a"][2], rows["b"][2]) == ("6", "46")


def test_only_a_summary_is_shown_beyond_the_budget(answer, gt, here):
    (here / "loop.py").write_text(
        "import torch\nw = torch.ones(60, 60, requires_grad=True)\nfor i in range(3):\n    loss = (w * 2).sum()\n"
        "    loss.backward()\n    with torch.no_grad():\n        w -= w.grad\n    w.grad = None\n"
    )
    options = ("--max-record", 1000)
    assert answer("eval", "loop.py", *options) == answer("eval", "loop.py")
    assert answer("trace", "loop.py", *options) == answer("trace", "loop.py")
    tensors = json.loads(answer("trace", "loop.py", "--format", "json", *options))["steps"]
    first = tensors[0]["outputs"][0]["value"]["summary"]
    assert (first["shape"], first["minimum"], first["maximum"], first["norm"]) == (
        [60, 60],
        2,
        2,
        120,
    )
    failed = gt("paths", "loop.py", *options)
    assert (
        failed.exit_code == 1
        and "were not kept, only a summary of them; raise the limit" in failed.stderr
    )


def test_what_cuts_a_parameter_off_is_told_of_its_first_version(answer, here):
    (here / "cut.py").write_text(
        "import torch\nw = torch.tensor(1., requires_grad=True)\nx = torch.tensor(2., requires_grad=True)\n"
        "for i in range(2):\n    loss = (w.detach() * x + x) ** 2\n    loss.backward()\n"
        "    with torch.no_grad():\n        w -= 0.1\n        x -= 0.1 * x.grad\n"
    )
    said = answer("why", "cut.py", "w")
    assert (
        "loss depends on it only through detach() on line 5" in said
        and "line 2  w = torch.tensor(1." in said
    )
    assert "x.grad" in answer("trace", "cut.py")


def used(*args):
    """The processor's seconds and the peak of memory in MB of a command in a process of its own."""
    code = (
        "import resource, subprocess, sys\n"
        "done = subprocess.run([sys.executable, '-m', 'gradtrace', *sys.argv[1:]], stdout=subprocess.DEVNULL)\n"
        "assert done.returncode == 0\n"
        "u = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(u.ru_utime + u.ru_stime, u.ru_maxrss / 1024)\n"
    )
    best = [
        subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True)
        for _ in range(3)
    ]
    found = [tuple(map(float, done.stdout.split())) for done in best]
    return min(seconds for seconds, _ in found), max(memory for _, memory in found)


@pytest.mark.slow
def test_the_cost_of_recording_a_loop(here):
    """The target is three times the bare run's time; a busy machine gets some more."""
    (here / "mlp.py").write_text(MLP)
    bare, _ = used("run", "mlp.py")
    commands = (
        ("run", "-o", "run.gt"),
        ("stats",),
        ("why",),
        ("graph", "--step", "500", "-o", "g.svg"),
    )
    for source in ("mlp.py", "run.gt"):
        for name, *args in commands if source == "mlp.py" else commands[1:]:
            seconds, memory = used(name, source, *args)
            assert memory < 300 and seconds < 5 * bare, (name, source, seconds, bare, memory)
