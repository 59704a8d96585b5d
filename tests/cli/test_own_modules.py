"""A program's own modules: --allow-import DIR."""

import json
import os

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
    (here / "lib" / "pkg" / "scale.py").write_text("FACTOR = 3.0\n\ndef scale(x):\n    return x * FACTOR\n")
    (here / "main.py").write_text(MAIN)
    return here / "lib"


def test_a_program_of_several_files(answer, project):
    assert answer("run", "main.py", "--allow-import", "lib") == "3.0 <module 'pkg.scale'> __main__\n"


@pytest.mark.parametrize("command", ["eval", "trace", "stats", "why", "paths", "graph"])
def test_every_analysis(gt, project, command):
    result = gt(command, "main.py", "--allow-import", "lib")
    assert result.exit_code == 0 and ("net.lin" if command == "graph" else "net.lin.weight") in result.stdout


def test_places_name_their_file(answer, project):
    steps = json.loads(answer("trace", "main.py", "--allow-import", "lib", "--format", "json"))["steps"]
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
    assert result.exit_code == 1 and f"{os.path.join('pkg', 'scale.py')}:4:12: RuntimeError" in result.stderr
    svg = (project.parent / "g.svg").read_text()
    assert "line 4 of pkg/scale.py" in svg and "x @ x" in svg
    (project / "pkg" / "scale.py").write_text("FACTOR = 3.0\ndef scale(x)\n")
    result = gt("run", "main.py", "--allow-import", "lib")
    assert result.exit_code == 2 and "scale.py:2" in result.stderr


def test_without_the_switch_nothing_is_read(gt, project):
    result = gt("run", "main.py")
    assert result.exit_code == 2 and "--allow-import DIR names the folder" in result.stderr


def test_only_files_in_the_folder(gt, project):
    (project.parent / "outside.py").write_text("print('read')\n")
    (project / "link.py").symlink_to(project.parent / "outside.py")
    for name in ("outside", "link"):
        (project.parent / "other.py").write_text(f"import torch\nimport {name}\n")
        result = gt("run", "other.py", "--allow-import", "lib")
        assert result.exit_code == 2 and f"the module '{name}' is not available in gradtrace scripts" in result.stderr
    assert "nowhere is not a folder" in gt("run", "main.py", "--allow-import", "nowhere").stderr


def test_modules_are_of_the_same_language(gt, project):
    (project / "mylayers.py").write_text("import socket\n")
    assert "the module 'socket' is not available" in gt("run", "main.py", "--allow-import", "lib").stderr
    (project / "mylayers.py").write_text("async def Block(n):\n    pass\n")
    assert "'async def' is not part of the language" in gt("run", "main.py", "--allow-import", "lib").stderr
    (project / "mylayers.py").write_text("Block = ().__class__\nprint(Block.__subclasses__)\n")
    assert gt("run", "main.py", "--allow-import", "lib").exit_code == 2


def test_a_listed_module_is_not_replaced_and_cycles_end(answer, project):
    (project / "math.py").write_text("pi = 3\n")
    (project / "one.py").write_text("import two\nA = 1\n")
    (project / "two.py").write_text("import one\nB = 2\ndef both():\n    return one.A + B\n")
    (project.parent / "main.py").write_text(
        "import math, one, two\nfrom two import both as b\nprint(math.pi > 3, b(), two.one.A)\n"
        "try:\n    one.A = 5\nexcept AttributeError as error:\n    print(error)\n"
        "try:\n    from one import C\nexcept ImportError as error:\n    print(error)\n"
    )
    said = answer("run", "main.py", "--allow-import", "lib").splitlines()
    assert said[0] == "True 3 1" and "read-only" in said[1] and said[2] == "cannot import name 'C' from 'one'"


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
    assert answer("run", "star.py", "--allow-import", "lib").startswith("(3.0, 'Linear') tensor(54.")
    assert "w.grad = all 18" in answer("paths", "star.py", "--allow-import", "lib")
    for name in ("OTHER", "_hidden"):  # not exported
        (starred / "hidden.py").write_text(STAR + f"{name}\n")
        result = gt("run", "hidden.py", "--allow-import", "lib")
        assert result.exit_code == 2 and f"name '{name}' is not defined" in result.stderr


def test_an_expression_has_no_option_for_a_name_of_an_own_module(answer, starred):
    (starred / "e.txt").write_text("from pkg.scale import *\nx * FACTOR + OTHER\n")
    assert (
        answer("eval", "e.txt", "--allow-import", "lib", "--x", "2", "--OTHER", "1", "--get", "root.value") == "7.0\n"
    )


def test_a_name_in_all_that_is_not_there(gt, starred):
    (starred / "star.py").write_text("import torch\nfrom broken import *\n")
    (starred / "lib" / "broken.py").write_text("__all__ = ['nope']\n")
    result = gt("run", "star.py", "--allow-import", "lib")
    assert result.exit_code == 2 and "'broken' does not offer 'nope'" in result.stderr
    (starred / "lib" / "broken.py").write_text("__all__ = [3]\n")
    result = gt("run", "star.py", "--allow-import", "lib")
    assert result.exit_code == 1 and "Item in broken.__all__ must be str, not int" in result.stderr


def test_modules_that_import_everything_of_each_other(answer, starred):
    (starred / "lib" / "a.py").write_text("A = 1.0\nfrom b import *\n")
    (starred / "lib" / "b.py").write_text("from a import *\nB = A + 1\n")
    (starred / "both.py").write_text("import torch\nfrom a import *\nprint(A, B)\n")
    assert answer("run", "both.py", "--allow-import", "lib") == "1.0 2.0\n"
