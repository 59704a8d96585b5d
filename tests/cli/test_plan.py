"""`gradtrace plan`: what it prints, and what cannot be planned."""

import json

import pytest


def test_the_notes_example(answer):
    text = answer("plan", "(x+w)*(w+1)")
    assert "6 steps recorded, 4 after the passes" in text
    assert "v4 = mul(v2, v3)" in text and "dy/dw -> v5" in text


def test_runs_are_counted(answer):
    assert "built 1 time, run 50 times" in answer("plan", "(x+w)*(w+1)", "--runs", 50)


def test_json(answer):
    found = json.loads(answer("plan", "(x*w).sum()", "--x", "1,2,3", "--format", "json"))
    assert found["schema"] == "gradtrace/plan"
    assert [step["op"] for step in found["steps"]][:2] == ["mul", "sum"]
    assert [o["label"] for o in found["outputs"]] == ["y", "dy/dx", "dy/dw"]


def test_names_and_lines_of_a_file(answer, here):
    (here / "f.txt").write_text("a = x + w\nb = w + 1\ny = a * b\n")
    text = answer("plan", "f.txt")
    assert "a = add(x, w)" in text and "y = mul(a, b)" in text and "dy/dx -> b" in text


def test_drawn_with_inputs_at_the_bottom(answer, here):
    answer("plan", "(x+w)*(w+1)", "-o", "p.dot")
    dot = (here / "p.dot").read_text()
    assert "rankdir=BT" in dot and "rank=source" in dot


def test_python_control_flow_is_refused_with_its_line(refusal, here):
    (here / "f.txt").write_text("y = x * w\nif y > 1:\n    y = y + 1\ny * 2\n")
    code, told = refusal("plan", "f.txt")
    assert code == 2
    assert told.startswith("f.txt:2:") and "has while_loop" in told


def test_random_numbers_are_refused(refusal):
    assert "random" in refusal("plan", "x * randn(3)")[1]


TF = """import tensorflow as tf
x = tf.placeholder(tf.float32, [2, 2], name="x")
y = tf.square(x) * 3.0
with tf.Session() as s:
    value = s.run({"y": y}, {x: [[1, 2], [3, 4]]})
    print(value["y"].sum(), s.run(tf.gradients(y, [x])[0], {x: [[1, 2], [3, 4]]})[0])
"""


def test_a_session_in_a_script(answer, here):
    (here / "s.py").write_text(TF)
    assert answer("run", "s.py") == "90.0 [ 6. 12.]\n"


def test_the_static_graph_of_a_script(answer, here):
    (here / "s.py").write_text(TF)
    text = answer("plan", "s.py")
    names = [line.split()[0] for line in text.splitlines()]
    assert names[:5] == ["operation", "x", "Square", "mul/y", "mul"]
    assert all(name.startswith("gradients/") for name in names[5:])
    assert "float32 (2, 2)" in text
    assert "rank=source" in answer("plan", "s.py", "--format", "dot")
    assert json.loads(answer("plan", "s.py", "--format", "json"))["operations"][1]["inputs"] == [
        "x:0"
    ]


SCRIPT = """import torch
x = torch.tensor(2.0, requires_grad=True)
w = torch.tensor(1.0, requires_grad=True)
a = x + w
b = w + 1
y = a * b
y.backward()
"""


def test_the_leaves_of_a_script_are_inputs(answer, here):
    (here / "notes.py").write_text(SCRIPT)
    text = answer("plan", "notes.py", "--runs", 10)
    assert text.startswith("6 steps recorded, 4 after the passes")
    rows = [line.split() for line in text.splitlines()]
    assert ["x", "input", "float32", "()"] in rows and ["w", "input", "float32", "()"] in rows
    assert [row[1:7] for row in rows if row[:1] == ["3"]] == [
        ["y", "=", "mul(a,", "b)", "forward", "6"]
    ]
    assert ["dy/dx", "->", "b", "output", "float32", "()"] in rows
    assert "run 10 times" in text
    (here / "twice.py").write_text(SCRIPT + "z = (x.grad * x).sum()\n")  # x.grad is w + 1
    outputs = json.loads(answer("plan", "twice.py", "--format", "json"))["outputs"]
    assert [output["label"] for output in outputs] == ["z", "dz/dx", "dz/dw"]


@pytest.mark.parametrize(
    "lines",
    [
        "if x > 0:\n    y = x * x\n",
        "print(x.item())\ny = x * x\n",
        "with torch.no_grad():\n    x *= 2\ny = x * x\n",
        "x.data.fill_(5.0)\ny = x * x\n",
    ],
)
def test_a_leaf_whose_value_the_script_uses_stays_a_constant(answer, here, lines):
    """Another value could take another way through the script, which the plan does not have."""
    (here / "p.py").write_text(f"import torch\nx = torch.tensor(2.0, requires_grad=True)\n{lines}")
    document = json.loads(answer("plan", "p.py", "--format", "json"))
    assert (document["inputs"], document["steps"]) == ([], [])


GRADIENTS = """\
import torch
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        print("backward", g, torch.is_grad_enabled())
        return 2 * g * x
w = torch.ones(2, requires_grad=True)
h = w * 3
h.retain_grad()
h.register_hook(lambda g: print("hook", g))
w.register_post_accumulate_grad_hook(lambda t: print("post", t.grad))
y = (Square.apply(h) * h.exp()).sum()
y.backward(retain_graph=True)
print(w.grad, h.grad)
y.backward()
print(w.grad)
(g,) = torch.autograd.grad((w ** 3).sum(), w)
print(g)
(g,) = torch.autograd.grad((w ** 3).sum(), w, create_graph=True)
print(g)
z = (w * w.grad).sum()
"""


def test_a_script_prints_its_gradients_as_without_a_plan(process, here):
    (here / "p.py").write_text(GRADIENTS)
    printed = process("run", "p.py").stdout
    assert "hook tensor(" in printed and "False" in printed and printed.count("grad_fn") == 1
    assert process("plan", "p.py").stderr == printed
