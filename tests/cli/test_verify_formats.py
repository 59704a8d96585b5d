"""`gradtrace verify` on ordinary notes: each format with the right numbers and with wrong ones; ordinary notebooks."""

import json
from pathlib import Path

import pytest

NOTEBOOKS = Path(__file__).resolve().parents[1] / "recorded" / "notebooks"
CODE = """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
(w * w).sum().backward()
print(w.grad * 2)
"""
BELOW = "```python\n" + CODE + "```\n\n"
CELL = {
    "cell_type": "code",
    "execution_count": 1,
    "metadata": {},
    "source": CODE.splitlines(keepends=True),
}
# name -> (file, text with {} for the record)
FORMATS = {
    "a bare fence": ("n.md", BELOW + "```\n{}\n```\n"),
    "text": ("n.md", BELOW + "Then\n\n```text\n{}\n```\n"),
    "output": ("n.md", BELOW + "```output\n{}\n```\n"),
    "console": ("n.md", BELOW + "```console\n{}\n```\n"),
    "indented, as by nbconvert": ("n.md", BELOW + "\n    {}\n    \n\n\nWhat follows.\n"),
    "tildes in a list": ("n.md", "- ~~~python\n  " + CODE.replace("\n", "\n  ") + "~~~\n\n  ~~~\n  {}\n  ~~~\n"),
    "doctest": (
        "n.md",
        "```python\n>>> import torch\n>>> w = torch.tensor([1.0, 2.0],\n...     requires_grad=True)\n"
        ">>> (w * w).sum().backward()\n>>> w.grad * 2\n{}\n```\n",
    ),
    "doctest marked pycon": ("n.md", "```pycon\n>>> import torch\n>>> torch.tensor([4., 8.])\n{}\n\n```\n"),
    "notebook text": ("n.txt", "In [None]:\n" + CODE + "\n{}\n\nIf the result is a scalar, we can just call it.\n"),
    "a notebook": (
        "n.ipynb",
        json.dumps({"cells": [{**CELL, "outputs": [{"output_type": "stream", "name": "stdout", "text": "RECORD"}]}]})
        .replace("{", "{{").replace("}", "}}").replace("RECORD", "{}\\n"),
    ),
}  # fmt: skip
RIGHT = ("tensor([4., 8.])", "tensor([ 4.,  8.])", "tensor([4.0, 8.0])")
WRONG = (
    "tensor([4., 9.])",
    "tensor([4., 8.1])",
    "tensor([4., -8.])",
    "tensor([4.])",
    "sensor([4., 8.])",
)


@pytest.fixture
def verify(gt, here):
    """verify(name, text) -> exit code, document."""

    def check(name, text, *args):
        (here / name).write_text(text)
        done = gt("verify", name, "--format", "json", *args)
        assert done.stdout, done.stderr
        return done.exit_code, json.loads(done.stdout)

    return check


@pytest.mark.parametrize("form", FORMATS)
def test_each_format_with_the_right_numbers_and_with_wrong_ones(verify, form):
    name, text = FORMATS[form]
    for record in RIGHT:
        code, found = verify(name, text.format(record))
        assert (code, found["passed"], found["compared"] > 0) == (0, True, True), (record, found)
        assert found["cells"][-1]["recorded"].strip() == record
    for record in WRONG:
        code, found = verify(name, text.format(record))
        assert (code, found["passed"]) == (1, False)
        if form != "notebook text" or record.startswith(
            "tensor"
        ):  # there another word is code, which fails
            assert found["counts"]["differs"] == 1, (record, found)


@pytest.mark.parametrize("form", FORMATS)
def test_update_writes_the_right_numbers_into_each_format(verify, here, form):
    name, text = FORMATS[form]
    verify(name, text.format(WRONG[0]), "--update")
    code, found = verify(name, (here / name).read_text())
    assert (code, found["passed"]) == (0, True)
    if name != "n.ipynb":
        assert (here / name).read_text() == text.format(RIGHT[0])


def test_as_processes(process, here):
    name, text = FORMATS["a bare fence"]
    for record, code in ((RIGHT[1], 0), (WRONG[0], 1)):
        (here / name).write_text(text.format(record))
        done = process("verify", name)
        assert done.returncode == code
    assert "line 1: recorded 'tensor([4., 9.])', now 'tensor([4., 8.])'" in done.stdout


NOTHING = {
    "no record": "```python\nx = 1\nprint(x)\n```\n",
    "no python": "```sh\ngradtrace ops\n```\n\n```text\nadd\n```\n",
    "a heading between": "```python\nprint(1)\n```\n\n## Else\n\n```\n2\n```\n",
    "a shell session": "```python\nprint(1)\n```\n\n```console\n$ pip install torch\n```\n",
    "a directive": "```python\nprint(1)\n```\n\n```{code-cell}\n2\n```\n",
    "only magics": "```python\n%pip install torch\n```\n\n```\nok\n```\n",
}


@pytest.mark.parametrize("what", NOTHING)
def test_a_note_in_which_nothing_was_compared(process, here, what):
    (here / "n.md").write_text(NOTHING[what])
    done = process("verify", "n.md")
    assert done.returncode == 1
    assert "nothing was compared: no cell that ran has a record of what it prints" in done.stdout
    assert json.loads(process("verify", "n.md", "--format", "json").stdout)["compared"] == 0


@pytest.mark.parametrize(
    ("record", "printed", "is_same"),
    [
        ("[4., 8.]", "[ 4.,  8.]", True),
        ("[ 4.  8.]", "[4. 8.]", True),
        ("x = 4.0", "x = 4.", True),
        ("1e-3", "0.001", True),
        ("0.6931", "0.6932", False),
        ("4", "5", False),
        ("float32", "float64", False),
        ("a b", "a  b", False),
        ("Loss: 1", "loss: 1", False),
        ("x1 = 2", "x2 = 2", False),
        ("1.10.0", "1.1.0", False),
        ("[[1, 2],\n [3, 4]]", "[[1, 2], [3, 4]]", True),
        ("[1, 2", "[1,  2", False),
        ("", "1", False),
    ],
)
def test_numbers_as_numbers_and_texts_as_texts(verify, record, printed, is_same):
    code, found = verify(
        "n.md",
        f"```python\nprint({printed!r})\n```\n```\n{record}\n```\n```python\n1\n```\n```\n1\n```\n",
    )
    assert (code == 0) == is_same, found


def test_doctest_rules(verify):
    text = """\
```python
>>> import torch
>>> x = torch.ones(2)
>>> x = x + 1
>>> for i in range(2):
...     print(i)
0
1
>>> print("a\\n\\nb")
a
<BLANKLINE>
b
>>> 1 / 0
Traceback (most recent call last):
  ...
ZeroDivisionError: division by zero
>>> undefined_thing  # doctest: +SKIP
1
>>> print(list(range(20)))  # doctest: +ELLIPSIS
[0, 1, ..., 19]
>>> print(list(range(20)))
[0, 1, ..., 19]
>>> print(7)
```
"""
    code, found = verify("n.md", text)
    assert code == 1
    verdicts = [cell["verdict"] for cell in found["cells"]]
    assert verdicts == ["same"] * 6 + ["not run", "same", "differs", "differs"]
    assert [cell["line"] for cell in found["cells"]] == [2, 3, 4, 5, 9, 13, 17, 19, 21, 23]


def test_magic_and_shell_lines_are_left_out_by_name(verify):
    code = "%matplotlib inline\n!pip install x\nfor i in range(2):\n    %time print(i)\n    !ls\n"
    text = f"```python\n{code}```\n\n```\n0\n1\n```\n"
    code, found = verify("n.md", text)
    assert (code, found["cells"][0]["verdict"]) == (0, "same")
    assert found["cells"][0]["detail"] == "left out: %matplotlib, !pip, !ls"


# What is said of each cell; "random" until random numbers are PyTorch's.
SAID = {
    "tensors": "same same same same same same same",
    "autograd_tutorial": "not-run no-record addresses same same same",
    "linear_regression": "not-run no-record same no-record same same",
    "training_loop": "no-record same no-record same same",
    "colab": "not-run not-run not-run not-run same no-record not-run",
    "no_grad": "no-record no-record same same same",
    "custom_function": "no-record no-record same same same",
    "jacobian": "no-record same same same",
    "random_outputs": "same random same same",
    "data_and_plots": "refused same failed same",
}


QUICK = ("custom_function", "data_and_plots")


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in SAID]
)
def test_it_says_of_each_cell_of_a_notebook_what_it_did(process, here, name):
    done = process("verify", NOTEBOOKS / f"{name}.ipynb", "--format", "json")
    found = [cell["verdict"].replace(" ", "-") for cell in json.loads(done.stdout)["cells"]]
    wanted = SAID[name].split()
    assert [
        w if (f, w) == ("same", "random") else f for f, w in zip(found, wanted, strict=True)
    ] == wanted
    assert done.returncode == ("refused" in wanted)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SAID if name != "random_outputs"])
def test_a_wrong_number_in_a_notebook_is_found(process, here, name):
    document = json.loads((NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8"))
    said = SAID[name].split()
    code = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    cell = [cell for cell, verdict in zip(code, said, strict=True) if verdict == "same"][-1]
    output = cell["outputs"][0]
    if output["output_type"] == "error":
        output["ename"] = "KeyError"
    else:
        lines = output["text"] if "text" in output else output["data"]["text/plain"]
        last = next(
            i
            for i in reversed(range(len(lines)))
            if any(char.isdigit() or char == "T" for char in lines[i])
        )
        changed = lines[last].translate(str.maketrans("0123456789T", "1234567890t"))
        lines[last] = changed
    (here / "n.ipynb").write_text(json.dumps(document))
    done = process("verify", "n.ipynb", "--format", "json")
    assert done.returncode == 1
    counts = json.loads(done.stdout)["counts"]
    assert counts.get("differs", 0) + counts.get("failed", 0) == 1 + said.count("failed")


DRAWN = """\
import gradtrace
x = gradtrace.tensor(2.0, requires_grad=True)
w = gradtrace.tensor(1.0, requires_grad=True)
y = (x + w) * (w + 1)
y.backward()
gradtrace.draw(y)
"""
TREE = """\
y   6   MulBackward0
├─ add #1   3   AddBackward0
│  ├─ x   2   leaf   grad 2
│  └─ w   1   leaf   grad 5
└─ add #2   2   AddBackward0
   ← w   (above)
"""


@pytest.mark.parametrize(("wrong", "verdict"), [("grad 5", "same"), ("grad 6", "differs")])
def test_a_notebook_that_draws_is_compared_by_its_text(verify, wrong, verdict):
    shown = {"image/svg+xml": "<svg/>", "text/plain": TREE.rstrip().replace("grad 5", wrong)}
    outputs = [
        {"output_type": "execute_result", "data": shown, "metadata": {}, "execution_count": 1}
    ]
    cell = {**CELL, "source": DRAWN, "outputs": outputs}
    code, document = verify("n.ipynb", json.dumps({"cells": [cell]}))
    (checked,) = document["cells"]
    assert (checked["verdict"], code) == (verdict, int(verdict != "same")), checked


def test_a_note_cannot_write_a_picture(process, here):
    (here / "n.md").write_text(f'```python\n{DRAWN}gradtrace.draw(y).save("g.svg")\n```\n')
    done = process("verify", "n.md", "--format", "json")
    assert done.returncode == 1 and json.loads(done.stdout)["cells"][0]["verdict"] == "failed"
    assert not (here / "g.svg").exists()


def test_the_library_may_have_another_name(verify):
    note = "```python\nimport gradtrace as torch\nx = torch.tensor(2., requires_grad=True)\ntorch.draw(x * 3)\n```\n"
    _, document = verify("n.md", f"{note}\n```\n{{}}\n```\n")
    assert document["cells"][0]["verdict"] == "differs" and "x" in document["cells"][0]["printed"]


def test_a_cell_that_records_pytorch_is_not_run(verify):
    code, document = verify(
        "n.md",
        "```python\nimport gradtrace.torch as gt\n```\n\n```python\n1 + 1\n```\n\n```\n2\n```\n",
    )
    assert code == 0 and [one["verdict"] for one in document["cells"]] == ["not run", "same"]
