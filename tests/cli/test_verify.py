"""`gradtrace verify`: notes whose cells are run and whose records are compared."""

import json
from pathlib import Path

import pytest

NOTES = Path(__file__).resolve().parents[1] / "recorded" / "notes"

MARKDOWN = """\
---
title: A note
---
# Title

```python
import torch
x = torch.tensor(2., requires_grad=True)
y = x ** 3
y.backward()
print(x.grad)
```

The result is `tensor({first}.)`.

```python
x.grad + 1
```

The output:

```
tensor({second}.)
```

- ```python
  loss.backward()
  w.grad
  >>>tensor([6.])
  ```
"""


@pytest.fixture
def cells(gt, here):
    """cells(name, text) -> exit code and the cells as plain data."""

    def check(name, text, *args):
        (here / name).write_text(text)
        result = gt("verify", name, "--format", "json", *args)
        assert result.stdout, result.stderr
        return result.exit_code, json.loads(result.stdout)["cells"]

    return check


def verdicts(found):
    return {cell["label"]: cell["verdict"] for cell in found}


EXPECTED = {
    "note_1_graph_and_dynamic_graph": {"In [5]": "same", "In [7]": "same", "In [8]": "same", "In [11]": "addresses"},
    "note_2_graph_and_tf1_static_cell": {
        "In [1]": "no record", "In [2]": "same", "In [3]": "same", "In [4]": "same", "In [5]": "addresses",
        "In [6]": "no record", "In [7]": "same",
    },
    "note_3_leaf_rules_and_autograd_api": {"block 1": "not run", "block 2": "not run"},
    "note_4_blog_graph_static_vs_dynamic": {"block 1": "same", "block 2": "same", "block 3": "addresses"},
    "note_5_function_hooks_tensorboard": {
        "In [1]": "random", "In [3]": "run twice", "In [4]": "no record", "In [5]": "same", "In [6]": "addresses",
        "In [10]": "same", "In [14]": "same", "In [15]": "same", "In [16]": "same", "In [17]": "same",
        "In [20]": "no record", "In [26]": "no record", "In [24]": "same",
    },
}  # fmt: skip


@pytest.mark.parametrize("name", EXPECTED)
def test_the_five_notes(gt, name):
    if name.startswith("note_5"):
        pytest.importorskip("tensorboardX")
    result = gt("verify", NOTES / f"{name}.txt", "--format", "json", "--allow-write", "data")
    found = json.loads(result.stdout)["cells"]
    assert {
        label: v for label, v in verdicts(found).items() if label in EXPECTED[name]
    } == EXPECTED[name]
    assert result.exit_code == (
        1 if name.startswith("note_3") else 0
    )  # which holds nothing to compare


def test_an_error_about_an_earlier_cell_has_no_place_of_this_one(cells):
    """The node that fails in cell 2 was made in cell 1, whose places are not those of this text."""
    made = "".join(f"a{i} = w * {i}\n" for i in range(40))
    text = (
        f"```python\nimport torch\nw = torch.ones(2, requires_grad=True)\n{made}y = (w * w).sum()\n"
    )
    code, found = cells("note.md", text + "y.backward()\n```\n\n```python\ny.backward()\n```\n")
    assert code == 1 and found[1]["verdict"] == "failed" and "a second time" in found[1]["detail"]


def test_a_cell_that_writes_needs_the_permission(process, here):
    document = json.loads(
        process("verify", NOTES / "note_5_function_hooks_tensorboard.txt", "--format=json").stdout
    )
    (cell,) = [cell for cell in document["cells"] if cell["label"] == "In [26]"]
    assert cell["verdict"] == "no record" and not (here / "data").exists()
    (here / "n.md").write_text("```python\nopen('data', 'w')\n```\n")
    done = process("verify", "n.md")
    assert done.returncode == 1 and "refused" in done.stdout and "--allow-write DIR" in done.stdout
    assert not (here / "data").exists()


TWICE = """\
In [1]:
import torch
w = torch.ones(1, requires_grad=True)
loss = (w * w).sum()

In [{number}]:
loss.backward()  # once is fine

RuntimeError: Trying to backward through the graph a second time, but the saved intermediate results \
have already been freed.

In [5]:
print(w.grad)

tensor([2.])
"""


def test_a_record_of_a_second_run(cells, gt, here):
    """Where a number is missing the cell was run before; where none is, the record is of other code."""
    code, found = cells("n.txt", TWICE.format(number=3))
    assert (code, verdicts(found)) == (
        0,
        {"In [1]": "no record", "In [3]": "run twice", "In [5]": "same"},
    )
    assert found[1]["detail"].startswith("In [2] is missing: the cell was run twice")
    assert "a second time (or directly access" in found[1]["printed"]
    code, found = cells("n.txt", TWICE.format(number=2))
    assert (code, verdicts(found)["In [2]"]) == (1, "differs")
    assert (
        found[1]["detail"] == "the record is RuntimeError, but the code as it stands raises nothing"
    )


def test_an_error_in_what_an_earlier_cell_made(cells):
    """The error has no place in this cell's text; that must not be a fault."""
    earlier = "def f(x):\n    a = x + 1\n    b = a * 2\n    c = b - a\n    return [1][c]\n"
    graph = "import torch\nw = torch.ones(2, requires_grad=True)\ny = ((w * w).exp() * w).sum()\n"
    code, found = cells(
        "n.txt",
        f"In [1]:\n{earlier}{graph}\nIn [2]:\ny.backward()\n\nIn [3]:\ny.backward()\n\nIn [4]:\nf(3)\n",
    )
    assert code == 1 and [c["verdict"] for c in found] == [
        "no record",
        "no record",
        "failed",
        "failed",
    ]
    assert "a second time" in found[2]["detail"] and "IndexError" in found[3]["detail"]


def test_strictly(gt, here):
    (here / "n.txt").write_text(
        "In [1]:\nimport torch\nprint(torch.ones(1, requires_grad=True) * 2)\n\ntensor([2.], grad_fn=<MulBackward>)\n"
    )
    done = gt("verify", "n.txt")
    assert done.exit_code == 0
    assert (
        "nothing differs but what today's PyTorch writes otherwise (1; --strict counts it)"
        in done.stdout
    )
    assert gt("verify", "n.txt", "--strict").exit_code == 1


def test_markdown(cells):
    code, found = cells("note.md", MARKDOWN.format(first=12, second=13))
    assert (code, verdicts(found)) == (
        0,
        {"block 1": "same", "block 2": "same", "block 3": "not run"},
    )
    code, found = cells("note.md", MARKDOWN.format(first=11, second=13))
    assert (code, verdicts(found)["block 1"]) == (1, "differs")
    assert found[0]["detail"] == "line 1: recorded 'tensor(11.)', now 'tensor(12.)'"


def test_update_rewrites_what_differs_and_nothing_else(gt, here):
    (here / "note.md").write_text(MARKDOWN.format(first=11, second=99))
    assert gt("verify", "note.md", "--update").exit_code == 0
    assert (here / "note.md").read_text() == MARKDOWN.format(first=12, second=13)
    before = NOTES / "note_1_graph_and_dynamic_graph.txt"
    (here / "one.txt").write_text(
        before.read_text().replace("tensor([5.])\n\n\n---", "tensor([6.])\n\n\n---")
    )
    gt("verify", "one.txt", "--update")
    changed = [
        (a, b)
        for a, b in zip(
            before.read_text().split("\n"), (here / "one.txt").read_text().split("\n"), strict=True
        )
        if a != b
    ]
    assert not changed  # the addresses of the record are left alone


def test_update_says_what_it_rewrote_and_writes_no_error(gt, here):
    cells = ["import torch\nprint(torch.ones(2))", "undefined + 1", "print(1)", "'3'"]
    records = ["tensor([9.])", "3", "1", "4"]
    text = "".join(
        f"```python\n{code}\n```\n\n```\n{record}\n```\n\n"
        for code, record in zip(cells, records, strict=True)
    )
    (here / "n.md").write_text(text)
    done = gt("verify", "n.md", "--update")
    assert done.stderr.endswith("records of n.md that were rewritten: block 1, block 4\n")
    assert done.exit_code == 1  # block 2 still fails
    assert (here / "n.md").read_text() == text.replace("[9.]", "[1., 1.]").replace(
        "\n4\n", "\n'3'\n"
    )
    done = gt("verify", "n.md", "--update")
    assert done.stderr.endswith("rewritten: none\n")
    output = {"output_type": "stream", "name": "stdout", "text": "3\n"}
    cell = {"cell_type": "code", "source": "undefined + 1", "outputs": [output]}
    document = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    (here / "n.ipynb").write_text(document)
    assert gt("verify", "n.ipynb", "--update").exit_code == 1
    assert (here / "n.ipynb").read_text() == document


def test_a_notebook(cells, gt, here):
    def cell(source, *outputs, kind="code", count=1):
        return {
            "cell_type": kind,
            "source": source,
            "outputs": list(outputs),
            "execution_count": count,
        }

    stream = {"output_type": "stream", "name": "stdout", "text": ["tensor(4.)\n"]}
    result = {"output_type": "execute_result", "data": {"text/plain": ["tensor([5.])"]}}
    error = {
        "output_type": "error",
        "ename": "RuntimeError",
        "evalue": "element 0 of variables does not require grad and does not have a grad_fn",
        "traceback": [],
    }
    document = {
        "cells": [
            cell("# Title", kind="markdown"),
            cell(
                [
                    "import torch\n",
                    "def f(x):\n",
                    "    return x * k\n",
                    "k = 2\n",
                    "print(f(torch.tensor(2.)))",
                ],
                stream,
            ),
            cell("k = 5\nf(torch.ones(1))", result, count=2),
            cell("torch.ones(1).backward()", error, count=3),
            cell("print(k)", {"output_type": "stream", "name": "stdout", "text": "6\n"}, count=4),
        ],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    code, found = cells("n.ipynb", json.dumps(document))
    assert verdicts(found) == {
        "In [1]": "same",
        "In [2]": "same",
        "In [3]": "version",
        "In [4]": "differs",
    }
    assert code == 1
    gt("verify", "n.ipynb", "--update")
    code, found = cells("n.ipynb", (here / "n.ipynb").read_text())
    assert code == 0 and list(verdicts(found).values()) == ["same", "same", "version", "same"]


def test_what_older_versions_wrote_is_told_apart(cells):
    code, found = cells(
        "n.txt",
        "In [1]:\nimport torch\nx = torch.ones(1, requires_grad=True)\nprint(x * 2)\n\n"
        "tensor([2.], grad_fn=<MulBackward>)\n",
    )
    assert (code, found[0]["verdict"]) == (0, "version")
    assert found[0]["detail"] == "an older PyTorch: grad_fn names had no number"


OLDER = {
    "MeanBackward1": ("print((x * 2).mean())", "tensor(2., grad_fn=<MeanBackward1>)"),
    "rows": ("print(x * 2)", "Variable containing:\n 2\n 2\n[torch.FloatTensor of size 2]"),
    "in place": ("x += 1", "RuntimeError: a leaf Variable that requires grad has been used in an in-place operation."),
    "shapes": (
        "torch.ones(2, 3) @ torch.ones(2, 3)",
        "RuntimeError: size mismatch, m1: [2 x 3], m2: [2 x 3] at /pytorch/TH/THTensorMath.cpp:197",
    ),
    "buffers": (
        "y = (x * x).sum(); y.backward(); y.backward()",
        "RuntimeError: Trying to backward through the graph a second time, but the buffers have already been freed.",
    ),
    "integers": (
        "torch.tensor([1], requires_grad=True)",
        "RuntimeError: Only Tensors of floating point dtype can require gradients",
    ),
    "numpy": (
        "x.numpy()",
        "RuntimeError: Can't call numpy() on Variable that requires grad. Use var.detach().numpy() instead.",
    ),
    "bool": ("bool(x)", "RuntimeError: bool value of Tensor with more than one value is ambiguous"),
    "variables": (
        "torch.ones(1).backward()",
        "RuntimeError: element 0 of variables does not require grad and does not have a grad_fn",
    ),
    "target": (
        "torch.nn.functional.nll_loss(torch.zeros(1, 2), torch.tensor([5]))",
        "RuntimeError: Assertion `cur_target >= 0 && cur_target < n_classes' failed.  at ../aten",
    ),
    "cat": (
        "torch.cat([torch.ones(1, 2), torch.ones(1, 3)])",
        "RuntimeError: invalid argument 0: Sizes of tensors must match except in dimension 0. Got 2 and 3 at /opt",
    ),
    "a pair": (
        "print(torch.max(x * 2, 0))",
        "(tensor(2., grad_fn=<MaxBackward0>), tensor(0))",
    ),
    "a pair without numbers": (
        "print(torch.max(x * 2, 0))",
        "(tensor(2., grad_fn=<MaxBackward>), tensor(0))",
    ),
    "sizes": ("print(torch.ones(2, 3).shape)", "(2L, 3L)"),
    "a size": ("print(torch.ones(3).shape)", "(3L,)"),
    "named sizes": ("print(torch.ones(2, 3).shape)", "torch.Size([2L, 3L])"),
    "singular": (
        "torch.linalg.inv(torch.ones(2, 2))",
        "RuntimeError: inverse_cpu: U(2,2) is zero, singular U.",
    ),
    "singular, with a traceback": (
        "torch.linalg.inv(torch.ones(2, 2))",
        "---------------------------------------------------------------------------\n"
        "RuntimeError                              Traceback (most recent call last)\n"
        "RuntimeError: inverse_cpu: U(2,2) is zero, singular U.",
    ),
    "the first sentence": (
        "y = (x * x).sum(); y.backward(); y.backward()",
        "RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors after "
        "they have already been freed).",
    ),
}  # fmt: skip
WRONG = {
    "part of a sentence": ("x.backward()", "RuntimeError: grad can be implicitly created"),
    "an assertion without its message": ("assert False, 'w.grad is wrong'", "AssertionError"),
    "part of the program's error": ("raise ValueError('my value 3')", "ValueError: my"),
    "part of the program's RuntimeError": (
        "raise RuntimeError('Wrong. Twice')",
        "RuntimeError: Wrong.",
    ),
    "part of a printed error": ("print('RuntimeError: Wrong. Twice')", "RuntimeError: Wrong."),
    "another function": ("print((x * 2).mean())", "tensor(2., grad_fn=<SumBackward1>)"),
    "other rows": ("print(x * 2)", "Variable containing:\n 2\n 3\n[torch.FloatTensor of size 2]"),
    "another pair": (
        "print(torch.max(x * 2, 0))",
        "(tensor(2., grad_fn=<MaxBackward0>), tensor(1))",
    ),
    "other sizes": ("print(torch.ones(2, 3).shape)", "(2L, 4L)"),
    "a plain tuple of sizes": ("print(torch.ones(2, 3).shape)", "(2, 3)"),
    "another singular element": (
        "torch.linalg.inv(torch.ones(2, 2))",
        "RuntimeError: inverse_cpu: U(1,1) is zero, singular U.",
    ),
    "another error": ("x += 1", "RuntimeError: mat1 and mat2 shapes cannot be multiplied"),
}


@pytest.mark.parametrize("name", [*OLDER, *WRONG])
def test_a_record_of_an_older_version_and_a_wrong_one(cells, name):
    code, record = {**OLDER, **WRONG}[name]
    start = "```python\nimport torch\nx = torch.ones(2, requires_grad=True)\n```\n\n"
    _, found = cells("n.md", f"{start}```python\n{code}\n```\n\n```\n{record}\n```\n")
    assert found[1]["verdict"] in (("version",) if name in OLDER else ("differs", "failed"))
    assert ("older PyTorch" in found[1]["detail"]) == (name in OLDER)


def test_one_namespace_and_what_fails_in_it(cells):
    text = """\
In [3]:
import torch
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2
torch.manual_seed(0)

In [1]:
x = torch.randn(3, requires_grad=True)
y = Double.apply(x).sum()
y.backward()
print(x.grad)

tensor([2., 2., 2.])

In [2]:
undefined + 1

In [4]:
print(x.shape)

torch.Size([3])
"""
    code, found = cells("n.txt", text)
    assert [c["verdict"] for c in found] == ["no record", "same", "failed", "same"]
    assert code == 1 and "undefined" in found[2]["detail"]


def test_what_is_no_note(refusal, here):
    (here / "x.md").write_text("# nothing\n")
    code, error = refusal("verify", "x.md")
    assert code == 2 and "x.md holds no cells" in error
    (here / "x.ipynb").write_text("{")
    code, error = refusal("verify", "x.ipynb")
    assert code == 2 and "x.ipynb is not a notebook" in error
    assert refusal("verify", "none.md")[0] == 2


def test_as_a_process(process):
    done = process("verify", NOTES / "note_4_blog_graph_static_vs_dynamic.txt")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("2 same, 1 addresses\n")


def test_objects_as_ipython_writes_them(cells):
    text = """\
In [1]:
import torch
torch.manual_seed(0)

<torch._C.Generator at 0x7914cc1510f0>

In [2]:
x = torch.ones(1, requires_grad=True)
y = x * 2
y.grad_fn.next_functions

((<AccumulateGrad at 0x7f1c5c0b6f50>, 0), (None, 0))

In [3]:
x.grad_fn, y.exp().grad_fn

(None, <MulBackward0 at 0x15948443460>)
"""
    _, found = cells("n.txt", text)
    assert [c["verdict"] for c in found] == ["addresses", "addresses", "differs"]


DISPLAYS = {
    "a class": ("torch.nn.Linear", "torch.nn.modules.linear.Linear"),
    "classes": ("[torch.Tensor, int]", "[torch.Tensor, int]"),
    "a generator": ("torch.manual_seed(0)", "<torch._C.Generator at 0x7914cc1510f0>"),
    "a function": ("f", "<function __main__.f(a)>"),
    "a lambda": ("lambda a: a", "<function __main__.<lambda>(a)>"),
    "torch's function": ("torch.add", "<function torch._VariableFunctionsClass.add>"),
    "a method": ("x.sum", "<function Tensor.sum>"),
    "PyTorch's own method": ("x.retain_grad", "<built-in method retain_grad of Tensor object at 0x7f5450>"),
    "PyTorch's method, printed": ("print(x.sum, 1)", "<built-in method sum of Tensor object at 0x7f5450> 1"),
    "a built-in": ("len", "<function len(obj, /)>"),
    "a module": ("torch.nn", "<module 'torch.nn' from '/usr/lib/torch/nn/__init__.py'>"),
    "a tuple": ("(x, x * 2)", "(tensor([1.], requires_grad=True),\n tensor([2.], grad_fn=<MulBackward0>))"),
    "a class after printed text": ("print(1, end=' ')\nprint('a')\nint", "1 a\nint"),
    "a dict": ("{'a': x, 'n': 3}", "{'a': tensor([1.], requires_grad=True),\n 'n': 3}"),
}  # fmt: skip
NOT_DISPLAYS = {
    "printed text": ("print(\"<class 'int'>\")", "int"),
    "printed text before a result": ("print(\"<class 'int'>\")\nint", "int\nint"),
    "lines that were printed": ("print('a,\\n   b')", "a, b"),
    "another class": ("torch.nn.Linear", "torch.nn.modules.linear.Bilinear"),
    "another function": ("f", "<function __main__.g(a)>"),
    "another method": ("x.sum", "<function Tensor.mean>"),
    "another method, printed": ("print(x.sum)", "<built-in method mean of Tensor object at 0x7f5450>"),
    "another module": ("torch.nn", "<module 'torch.optim' from '/usr/lib/torch/optim/__init__.py'>"),
    "another tuple": ("(x, x * 2)", "(tensor([1.], requires_grad=True),\n tensor([3.], grad_fn=<MulBackward0>))"),
}  # fmt: skip


@pytest.mark.parametrize("name", [*DISPLAYS, *NOT_DISPLAYS])
def test_what_ipython_displays_otherwise_than_repr(cells, name):
    code, record = {**DISPLAYS, **NOT_DISPLAYS}[name]
    first = "import torch\ndef f(a):\n    return a\nx = torch.ones(1, requires_grad=True)"
    text = f"```python\n{first}\n```\n\n```python\n{code}\n```\n\n```\n{record}\n```\n"
    _, found = cells("n.md", text)
    assert (found[1]["verdict"] in ("same", "addresses")) == (name in DISPLAYS)


def test_what_nbconvert_wrote(cells):
    text = """\
```python
import torch
x = torch.ones((2,2), requires_grad=True)
```


```python
print(x.shape)
x**2
```

    torch.Size([2, 2])





    tensor([[1., 1.],
            [1., 1.]], grad_fn=<PowBackward0>)

"""
    _, found = cells("n.md", text)
    assert [c["verdict"] for c in found] == ["no record", "same"]
