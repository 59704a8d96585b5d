"""`gradtrace diff`: two programs, or one with two inputs."""

import json

import pytest

TRAINING = """import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
x = torch.tensor([0.3, -0.7])
opt = torch.optim.SGD([w], lr=RATE)
for step in range(4):
    loss = ((w * x).sin() - 1).pow(2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
LOOP = "y = x\nwhile y < 20:\n    y = y * 2\n"


@pytest.fixture
def document(gt):
    def read(*args, **extra):
        result = gt("diff", *args, "--format", "json", **extra)
        assert result.exit_code in (0, 1), result.stderr
        return result.exit_code, json.loads(result.stdout)

    return read


def table(result):
    """Return mark and tensor of each row of the table."""
    lines = result.stdout.splitlines()
    rule = next(n for n, line in enumerate(lines) if line.startswith("───"))
    return [(line[0], line[3:].split("  ")[0]) for line in lines[rule + 1 :]]


def test_two_programs(document, gt):
    code, found = document("(x+w)*(w+1)", "(x+w)*(w+2)", "--x", 2, "--w", 1)
    first = found["first"]
    assert (code, found["verdict"], found["others"]) == (1, "differ", [])
    assert (first["kind"], first["reason"], first["before"]) == ("forward", "1 in A, 2 in B", 0)
    assert first["relative"] == pytest.approx(1 / 3)
    place = {"file": "<expression>", "line": 1, "module": "", "op": "add 1", "made": None}
    assert first["a"] == place
    assert first["b"]["op"] == "add 2"
    result = gt("diff", "(x+w)*(w+1)", "(x+w)*(w+2)", "--x", 2, "--w", 1)
    assert result.stdout.startswith("differ: forward: w+1\n  A  <expression>:1  add 1\n")
    assert table(result) == [
        ("~", "x"),
        ("~", "w"),
        ("~", "x+w"),
        ("~", "w+1"),
        ("~", "(x+w)*(w+1)"),
    ]


def test_one_program_with_two_inputs(document, gt):
    code, found = document("(x+w)*(w+1)", "--x", 2, "--w", 1, "--set-b", "x=3")
    assert code == 1
    assert (found["first"]["kind"], found["operations"]) == ("input", [3, 3])
    assert gt("diff", "(x+w)*(w+1)", "--x", 2, "--w", 1, "--set-b", "x=3").stdout.startswith(
        "differ: an input: x\n"
    )


def test_graphs_that_depend_on_values(document, gt):
    _, found = document("-", "--x", 3, "--set-b", "x=6", input=LOOP)
    assert found["operations"] == [7, 5]
    assert ("-", "y * 2 #1") in table(gt("diff", "-", "--x", 3, "--set-b", "x=6", input=LOOP))


def test_no_difference(document, gt):
    assert document("x*x", "x*x", "--x", 3)[0] == 0
    assert gt("diff", "x*x", "x*x", "--x", 3).stdout == (
        "equal: 3 values, gradients and updates included, to the bit (1 operation in A, 1 in B)\n"
    )
    assert document("x*x", "x * x", "--x", 3)[1]["bit_equal"]


def test_other_ways_to_compute_the_same(document, gt):
    code, found = document("(x+w)*(w+1)", "x*w + x + w*w + w", "--x", 2.1, "--w", 1.3)
    assert (code, found["verdict"], found["bit_equal"], found["first"]) == (0, "equal", False, None)
    assert 0 < found["largest"]["relative"] < 1e-15
    result = gt("diff", "(x+w)*(w+1)", "x*w + x + w*w + w", "--x", 2.1, "--w", 1.3)
    assert result.stdout.startswith("equal within tolerance: the largest relative difference is ")
    assert document("(x+w)*(w+1)", "x*w + x + w*w + w", "--x", 2.1, "--w", 1.3, "--exact")[0] == 1


def test_the_tolerance_can_be_given(document):
    args = ("x*w", "x*w*1.001", "--x", 2, "--w", 1)
    assert document(*args)[0] == 1
    assert document(*args, "--rtol", 0.01)[0] == 0
    assert document(*args, "--atol", 0.01)[0] == 0
    assert document(*args, "--rtol", 1e-5)[0] == 1


def test_programs_with_other_variables(document):
    code, found = document("x*w", "x*v", "--x", 2, "--w", 3, "--set-b", "v=3")
    assert (code, found["verdict"]) == (0, "equal")


def test_shapes_and_long_programs(document, gt):
    _, found = document("x.sum()", "--x", "1,2", "--set-b", "x=1,2,3")
    assert (found["first"]["kind"], found["first"]["relative"]) == ("shape", "Infinity")
    assert found["first"]["reason"] == "(2,) in A, (3,) in B"
    one = "y = x\n" + "y = y + 1\n" * 40 + "y = y * 2\n" + "y = y + 1\n" * 40
    _, found = document("-e", one, one.replace("y * 2", "y * 3"), "--x", 1)
    assert (found["first"]["a"]["line"], found["first"]["b"]["line"]) == (42, 42)
    assert found["first"]["reason"] == "2 in A, 3 in B"


def test_steps(document, gt, here):
    text = TRAINING.replace("RATE", "0.1")
    (here / "a.py").write_text(text)
    (here / "b.py").write_text(text.replace("loss = ", "loss = (2 if step == 2 else 1) * "))
    code, found = document("./a.py", "./b.py")
    assert (code, found["first"]["step"], found["first"]["b"]["line"]) == (1, 3, 6)
    assert document("./a.py", "./b.py", "--step", "2")[0] == 0
    assert document("./a.py", "./b.py", "--step", "3")[0] == 1
    gt("run", "./a.py", "-o", "a.gt")
    assert document("./a.gt", "./a.py")[1]["bit_equal"]
    gt("run", "./b.py", "-o", "b.gt")
    result = gt("diff", "./a.gt", "./b.gt", "./a.gt")
    assert result.exit_code == 1
    assert result.stdout.startswith("differ: ./b.gt of 3 from ./a.gt\n")
    assert document("./a.gt", "./a.gt", "./a.gt")[1]["verdict"] == "equal"


def test_drawings(gt, here):
    assert gt("diff", "-", "--x", 3, "--set-b", "x=6", "-o", "d.dot", input=LOOP).exit_code == 1
    text = (here / "d.dot").read_text()
    assert text.startswith("digraph diff {") and "#ffd6d6" in text and "3 → 6" in text
    gt("diff", "x*x", "--x", 3, "--set-b", "x=6", "-o", "d.svg")
    assert "</svg>" in (here / "d.svg").read_text()


def test_what_is_refused(refusal):
    for args, words in [
        (("x*x", "--x", 3), "there is nothing to compare with"),
        (("x*x", "x+x", "x-x", "--x", 3), "unexpected extra argument 'x-x'"),
        (("x*x", "x+x", "--x", 3, "--exact", "--rtol", 0.1), "--exact leaves no tolerance"),
        (("x*x", "x+x", "--x", 3, "--rtol", -1), "--rtol"),
        (("x*x", "x*v", "--x", 3), "no value for v"),
        (("x*x", "--x", 3, "--set-b", "x=1", "-o", "d.txt"), "end it in .html, .svg"),
    ]:
        code, error = refusal("diff", *args)
        assert code == 2 and words in error


def test_as_a_process(process):
    done = process("diff", "x*x", "x**2", "--x", 3)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("equal: ")


def test_a_factor_that_only_one_has_is_the_only_difference(gt):
    shown = gt("diff", "sin(x)*w", "sin(x)*w*0.25", "--x", "3", "--w", "2").stdout
    assert shown.splitlines()[0] == "differ: an operation that only B has: sin(x)*w*0.25"
    assert "then, of independent origin" not in shown


STEPS = """import torch
torch.manual_seed(0)
w = torch.randn(3, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
for i in range(3):
    opt.zero_grad()
    loss = (w * w).sum()
    loss.backward()
    opt.step()
"""


def test_a_run_that_never_updates_is_not_equal(gt, here):
    (here / "a.py").write_text(STEPS)
    (here / "b.py").write_text(STEPS.replace("    opt.step()", "    pass"))
    shown = gt("diff", "a.py", "b.py")
    assert shown.exit_code == 1 and shown.stdout.startswith("differ: "), shown.stdout
    assert "only A updates it in this step" in shown.stdout


@pytest.mark.parametrize("other", ["sqrt(x) + 2", "log(x) + 2", "log(x) * 2"])
def test_numbers_that_are_nan(gt, other):
    shown = gt("diff", "log(x) * 2", other, "--x", "-1")
    assert shown.stdout.startswith("equal: " if other == "log(x) * 2" else "differ: "), shown.stdout
