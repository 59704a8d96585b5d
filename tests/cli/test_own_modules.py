"""A program's own modules: --allow-import DIR."""

import json
import os
import sys
from types import ModuleType

import pytest

LAYERS = """import torch
from torch import nn
from pkg.scale import scale

class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.lin = nn.Linear(n, n)

    def forward(self, x):
        h = self.lin(x)
        return scale(torch.relu(h))
"""
MAIN = """import torch
from mylayers import Block
import pkg.scale as s
import pkg
torch.manual_seed(0)
net = Block(3)
x = torch.ones(2, 3)
loss = net(x).sum() + s.FACTOR + pkg.FACTOR
loss.backward()
print(s.FACTOR, pkg.scale, __name__)
"""


@pytest.fixture
def project(here):
    (here / "lib" / "pkg").mkdir(parents=True)
    (here / "lib" / "mylayers.py").write_text(LAYERS)
    (here / "lib" / "pkg" / "__init__.py").write_text("from .scale import FACTOR\n")
    (here / "lib" / "pkg" / "scale.py").write_text(
        "FACTOR = 3.0\n\ndef scale(x):\n    return x * FACTOR\n"
    )
    (here / "main.py").write_text(MAIN)
    return here / "lib"


def test_a_program_of_several_files(answer, project):
    path = os.path.join("pkg", "scale.py")
    expected = f"3.0 <module 'pkg.scale' ({path})> __main__\n"
    assert answer("run", "main.py", "--allow-import", "lib") == expected


@pytest.mark.parametrize("command", ["eval", "trace", "stats", "why", "paths", "graph"])
def test_every_analysis(gt, project, command):
    result = gt(command, "main.py", "--allow-import", "lib")
    assert (
        result.exit_code == 0
        and ("net.lin" if command == "graph" else "net.lin.weight") in result.stdout
    )


def test_places_name_their_file(answer, project):
    steps = json.loads(answer("trace", "main.py", "--allow-import", "lib", "--format", "json"))[
        "steps"
    ]
    places = [(s["op"], s.get("file", ""), s["line"]) for s in steps if s["kind"] == "forward"]
    assert places[1:5] == [
        ("addmm", "mylayers.py", 11), ("relu", "mylayers.py", 12), ("mul", "pkg/scale.py", 4), ("sum", "", 8)
    ]  # fmt: skip
    table = answer("trace", "main.py", "--allow-import", "lib")
    assert "mylayers.py:12" in table and "torch.relu(h)" in table and "x * FACTOR" in table
    said = answer("why", "main.py", "net.lin.bias", "--allow-import", "lib")
    assert "h = self.lin(x)" in said and "in Block (mylayers.py:11)" in said


def test_a_failure_in_a_module_names_its_file(gt, project):
    (project / "pkg" / "scale.py").write_text("FACTOR = 3.0\n\ndef scale(x):\n    return x @ x\n")
    result = gt("graph", "main.py", "--allow-import", "lib", "-o", "g.svg")
    assert (
        result.exit_code == 1
        and f"{os.path.join('pkg', 'scale.py')}:4:12: RuntimeError" in result.stderr
    )
    svg = (project.parent / "g.svg").read_text()
    assert "pkg/scale.py:4" in svg and "x @ x" in svg
    (project / "pkg" / "scale.py").write_text("FACTOR = 3.0\ndef scale(x)\n")
    result = gt("run", "main.py", "--allow-import", "lib")
    assert result.exit_code == 2 and "scale.py:2" in result.stderr


def test_without_the_switch_nothing_is_read(gt, project):
    result = gt("run", "main.py")
    assert (
        result.exit_code == 1
        and "main.py:2:1: ModuleNotFoundError: No module named 'mylayers'" in result.stderr
    )
    assert "--allow-import DIR names the folder" in result.stderr


def test_only_files_in_the_folder(process, project):
    (project.parent / "outside.py").write_text("print('read')\n")
    (project / "link.py").symlink_to(project.parent / "outside.py")
    for name, error in (("outside", "ModuleNotFoundError"), ("link", "PermissionError")):
        (project.parent / "p.py").write_text(f"import torch\nimport {name}\n")
        done = process("run", "p.py", "--allow-import", "lib")
        assert (done.returncode, done.stdout) == (1, "") and f"p.py:2:1: {error}: " in done.stderr
    done = process("run", "main.py", "--allow-import", "nowhere")
    assert done.returncode == 2 and "nowhere is not a folder" in done.stderr


def test_the_kernel_confines_modules_too(process, project):
    (project / "mylayers.py").write_text("import os\nos.mkdir('new')\n")
    done = process("run", "main.py", "--allow-import", "lib")
    assert done.returncode == 1 and "mylayers.py:2:1: PermissionError: " in done.stderr
    assert not (project.parent / "new").exists() and not (project / "new").exists()


def test_files_that_cannot_be_executed(gt, project):
    (project / "mylayers.py").write_text("def Block(n:\n    pass\n")
    result = gt("run", "main.py", "--allow-import", "lib")
    assert result.exit_code == 2 and result.stderr.startswith("mylayers.py:1:10: syntax error: ")
    (project / "mylayers.py").write_text("import torch\n\n1 / 0\n")
    result = gt("run", "main.py", "--allow-import", "lib")
    assert result.exit_code == 1 and result.stderr.startswith(
        "mylayers.py:3:1: ZeroDivisionError: division by zero"
    )
    (project / "mylayers.py").write_text("from ... import Block\n")
    result = gt("run", "main.py", "--allow-import", "lib")
    assert result.exit_code == 1 and result.stderr.startswith("mylayers.py:1:1: ImportError: ")


@pytest.mark.parametrize("name", ["torch", "numpy", "math", "json", "gradtrace", "tensorflow"])
def test_modules_of_libraries_are_not_replaced(answer, project, name):
    (project / f"{name}.py").write_text("raise SystemExit('replaced')\n")
    (project.parent / "main.py").write_text(
        "import math, json, torch\nimport numpy as np\nprint(math.pi > 3, json.dumps(1), np.eye(1), torch.ones(1))\n"
    )
    assert answer("run", "main.py", "--allow-import", "lib") == "True 1 [[1.]] tensor([1.])\n"


def test_modules_that_import_each_other(answer, project):
    (project / "first.py").write_text("import second\nA = 1\n")
    (project / "second.py").write_text("import first\nB = 2\ndef both():\n    return first.A + B\n")
    (project.parent / "main.py").write_text(
        "import first, second\nfrom second import both as b\nprint(b(), second.first.A)\n"
        "first.A = 5\nprint(b())\n"
        "try:\n    from first import C\nexcept ImportError as error:\n    print(error)\n"
    )
    lines = answer("run", "main.py", "--allow-import", "lib").splitlines()
    assert lines == ["3 1", "7", "cannot import name 'C' from 'first' (first.py)"]


def test_a_missing_name_of_a_module(gt, project):
    (project.parent / "main.py").write_text("from mylayers import Blok\n")
    result = gt("run", "main.py", "--allow-import", "lib")
    assert result.exit_code == 1
    assert result.stderr.startswith(
        "main.py:1:1: ImportError: cannot import name 'Blok' from 'mylayers'"
    )


def test_modules_leave_with_the_run(answer, project, monkeypatch):
    """Each run imports its modules again, and a module of the same name in this process stays."""
    kept = ModuleType("mylayers")
    monkeypatch.setitem(sys.modules, "mylayers", kept)
    before = list(sys.path), list(sys.meta_path), sys.modules.get("torch")
    for factor in (3.0, 4.0):
        (project / "pkg" / "scale.py").write_text(
            f"FACTOR = {factor}\n\ndef scale(x):\n    return x * FACTOR\n"
        )
        assert answer("run", "main.py", "--allow-import", "lib").startswith(f"{factor} ")
    assert sys.modules["mylayers"] is kept and not {"pkg", "pkg.scale"} & set(sys.modules)
    assert (sys.path, sys.meta_path, sys.modules.get("torch")) == before


def test_the_budget_counts_all_files(gt, project):
    (project / "mylayers.py").write_text("#" * 3000 + "\n" + LAYERS)
    result = gt("run", "main.py", "--allow-import", "lib", "--max-source", 2000)
    assert result.exit_code == 2 and "larger than 2000 bytes" in result.stderr


STAR = """import torch
from layers import *
w = torch.ones(3, requires_grad=True)
loss = (twice(block(w)) * FACTOR).sum()
def f():
    return FACTOR, nn.Linear.__name__
print(f(), loss)
"""


@pytest.fixture
def starred(here):
    (here / "lib" / "pkg").mkdir(parents=True)
    (here / "lib" / "layers.py").write_text(
        "import torch\nfrom torch import nn\nfrom pkg import *\n_hidden = 1\n\ndef block(x):\n    return x * FACTOR\n"
    )
    (here / "lib" / "pkg" / "__init__.py").write_text("from .scale import *\n")
    (here / "lib" / "pkg" / "scale.py").write_text(
        "__all__ = ['FACTOR', 'twice']\nFACTOR = 3.0\nOTHER = 4.0\n\ndef twice(x):\n    return x * 2\n"
    )
    return here


def test_everything_of_an_own_module(answer, gt, starred):
    (starred / "star.py").write_text(STAR)
    assert answer("run", "star.py", "--allow-import", "lib").startswith(
        "(3.0, 'Linear') tensor(54."
    )
    assert "w.grad = all 18" in answer("paths", "star.py", "--allow-import", "lib")
    for name in ("OTHER", "_hidden"):  # not exported
        (starred / "hidden.py").write_text(STAR + f"{name}\n")
        result = gt("run", "hidden.py", "--allow-import", "lib")
        assert result.exit_code == 1 and f"NameError: name '{name}' is not defined" in result.stderr


def test_an_expression_has_no_option_for_a_name_of_an_own_module(answer, starred):
    (starred / "e.txt").write_text("from pkg.scale import *\nx * FACTOR + OTHER\n")
    assert (
        answer(
            "eval",
            "e.txt",
            "--allow-import",
            "lib",
            "--x",
            "2",
            "--OTHER",
            "1",
            "--get",
            "root.value",
        )
        == "7.0\n"
    )


def test_a_name_in_all_that_is_not_there(gt, starred):
    (starred / "star.py").write_text("import torch\nfrom broken import *\n")
    (starred / "lib" / "broken.py").write_text("__all__ = ['nope']\n")
    result = gt("run", "star.py", "--allow-import", "lib")
    assert (
        result.exit_code == 1
        and "star.py:2:1: AttributeError: module 'broken' has no attribute 'nope'" in result.stderr
    )
    (starred / "lib" / "broken.py").write_text("__all__ = [3]\n")
    result = gt("run", "star.py", "--allow-import", "lib")
    assert result.exit_code == 1 and "Item in broken.__all__ must be str, not int" in result.stderr


def test_modules_that_import_everything_of_each_other(answer, starred):
    (starred / "lib" / "a.py").write_text("A = 1.0\nfrom b import *\n")
    (starred / "lib" / "b.py").write_text("from a import *\nB = A + 1\n")
    (starred / "both.py").write_text("import torch\nfrom a import *\nprint(A, B)\n")
    assert answer("run", "both.py", "--allow-import", "lib") == "1.0 2.0\n"
