"""`gradtrace plan`: what it prints, and what cannot be planned."""

import json


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
