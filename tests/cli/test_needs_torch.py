"""A program that needs PyTorch itself: the error ends with the command line that runs it there."""

import json
import shlex

import pytest

TIMM = "import timm\n"


@pytest.fixture
def last(process, here):
    """last(text, args) -> the report of a program, in lines."""

    def run(text, *args, name="vit.py", code=2):
        (here / name).write_text(text)
        done = process(*args)
        assert done.returncode == code, done
        return done.stderr.rstrip("\n").split("\n")

    return run


def commands(lines):
    return lines[-1].rpartition(": ")[2]


@pytest.mark.parametrize(
    "text",
    [
        TIMM, "import torchvision.models as m\n", "from transformers import AutoModel\n", "import einops\n",
        "import torch\ntorch.ops.aten\n", "import torch.fx\n", "from torch import fx\n",
        "from torch.export import export\n",
        "import torch\ntorch.fft.fft(torch.ones(2))\n", "import torch._dynamo\n",
    ],
)  # fmt: skip
def test_the_last_line_is_what_to_type(text, last):
    lines = last(text, "why", "vit.py")
    assert commands(lines) == "gradtrace why --engine torch vit.py"
    assert "nearest" not in lines[0] and "did you mean" not in lines[0] and len(lines[0]) < 200


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (
            ("why", "vit.py", "w", "--format", "json"),
            "gradtrace why --engine torch vit.py w --format json",
        ),
        (("graph", "vit.py", "-o", "g.svg"), "gradtrace graph --engine torch vit.py -o g.svg"),
        (("run", "vit.py", "--", "--lr", "1"), "gradtrace run --engine torch vit.py -- --lr 1"),
        (("stats", "--max-seconds", "9", "vit.py"), "gradtrace stats --engine torch vit.py"),
        (("map", "vit.py", "--grid", "x=0:1:3"), "gradtrace eval --engine torch vit.py"),
        (("check", "vit.py"), "gradtrace why --engine torch vit.py"),
        (("why", "a vit.py"), "gradtrace why --engine torch 'a vit.py'"),
    ],
)
def test_it_is_the_users_own_command_line(args, line, last):
    lines = last(TIMM, *args, name="a vit.py" if "a vit.py" in args else "vit.py")
    assert commands(lines) == line
    assert ("does not run PyTorch" in lines[-1]) is (args[0] in ("map", "check"))


def test_a_line_with_options_is_taken_by_the_engine(last, process, here):
    pytest.importorskip("torch")
    text = "import torch\nw = torch.ones(2, requires_grad=True)\ny = torch.fft.fft(w).abs().sum()\ny.backward()\n"
    line = commands(last(text, "why", "vit.py", "w", "--format", "json"))
    done = process(*shlex.split(line)[1:])
    assert done.returncode == 0 and json.loads(done.stdout)


def test_what_is_not_in_a_file_is_to_be_saved(process):
    for args, text in (
        (("run", "-"), TIMM),
        (("eval", "-e", "torch.ops.aten.sin(x)", "--x", "1"), None),
        (("repl",), TIMM),
    ):
        said = process(*args, input=text).stderr.rstrip("\n").split("\n")[-1]
        assert "save it to a file that imports torch" in said and said.endswith(
            "--engine torch FILE.py"
        ), said


def test_data_has_the_same_hint(last):
    (line,) = last(TIMM, "why", "vit.py", "--errors", "json")
    assert json.loads(line)["hint"].endswith("gradtrace why --engine torch vit.py --errors json")


def test_a_mistyped_name_gets_the_name_that_is_near(last):
    assert last("import torch\ntorch.reluu(1)\n", "why", "vit.py")[0].endswith(
        "did you mean 'relu'?"
    )
    assert "did you mean 'torch.optim'?" in last("import torch.optin\n", "why", "vit.py")[0]


def test_another_package_is_not_said_to_need_pytorch(last):
    assert not any(
        "PyTorch" in line for line in last("import nothing_there\n", "run", "vit.py", code=1)
    )
