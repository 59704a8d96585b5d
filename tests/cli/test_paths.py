"""`gradtrace paths`: the chain rule path by path, in numbers, in groups, and in names."""

import json
import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

NOTE = ("(x+w)*(w+1)", "--x", 2, "--w", 1)


@pytest.fixture
def results(answer):
    def read(*args, **extra):
        return json.loads(answer("paths", *args, "--format", "json", **extra))["results"]

    return read


def test_the_notes_example(answer):
    assert (
        answer("paths", *NOTE)
        == """\
(x+w)*(w+1) to x: 1 path
path                   local derivatives  product
─────────────────────────────────────────────────
(x+w)*(w+1) → x+w → x  2 · 1                    2
x.grad = 2*1 = 2

(x+w)*(w+1) to w: 2 paths
path                   local derivatives  product
─────────────────────────────────────────────────
(x+w)*(w+1) → x+w → w  2 · 1                    2
(x+w)*(w+1) → w+1 → w  3 · 1                    3
w.grad = 2*1 + 3*1 = 5
"""
    )


def test_the_notes_derivation(answer):
    assert (
        answer("paths", *NOTE, "--to", "w", "--symbolic", "text")
        == """\
a = w + x
b = w + 1
y = a*b

dy/dw = dy/da da/dw + dy/db db/dw
      = b*1 + a*1
      = (w + 1) + (w + x)
      = 2w + x + 1
      = 2*1 + 2 + 1
      = 5    at x = 2, w = 1
"""
    )


def test_the_notes_derivation_as_latex(answer):
    text = answer("paths", *NOTE, "--to", "w", "--symbolic", "latex")
    assert (
        r"\frac{\partial y}{\partial w} &= \frac{\partial y}{\partial a} \frac{\partial a}{\partial w} + "
        in text
    )
    assert r"&= 2 w + x + 1 \\" in text
    assert r"&= 2 \cdot 1 + 2 + 1 \\" in text
    assert text.count(r"\begin{align*}") == text.count(r"\end{align*}") == 2


@pytest.mark.parametrize(
    ("expression", "formula", "value"),
    [("x*x", "2x", 4), ("x**3", "3x**2", 12), ("exp(2*x)", "2*exp(2x)", 2 * math.exp(4)), ("1/x", "-1/x**2", -0.25),
     ("sin(x)*cos(x)", "cos(2x)", math.cos(4)), ("(x - 1)*(x + 1) - x**2", "0", 0), ("tanh(x) - x", "", None),
     ("sigmoid(x)", "= (1 - σ(x))*σ(x)\n", 0.104994), ("cosh(x)**2", "= sinh(2x)\n", math.sinh(4))],
)  # fmt: skip
def test_formulas(answer, expression, formula, value):
    text = answer("paths", expression, "--x", 2, "--symbolic", "text")
    assert formula in text
    if value is not None:
        assert float(text.rsplit("=", 2)[1].split()[0]) == pytest.approx(value, rel=1e-5, abs=1e-9)


def test_what_cannot_be_derived(refusal):
    code, error = refusal(
        "paths", "(x@w).sum()", "--x", "[[1,2],[3,4]]", "--w", "[[1,2],[3,4]]", "--symbolic", "text"
    )
    assert code == 2 and "--symbolic derives scalars, and x has the shape (2, 2)" in error
    code, error = refusal("paths", "gelu(x)", "--x", 1, "--symbolic", "text")
    assert code == 2 and "--symbolic has no formula for gelu" in error


def test_more_paths_than_could_be_listed_are_counted(results):
    source = "y = x\nfor i in range(200):\n    y = y * 0.5 + y * 0.5\n"
    (found,) = results("-", "--x", 3, input=source)
    assert found["count"] == 2**200 and found["paths"] == []
    assert [g["count"] for g in found["groups"]] == [2**199, 2**199]
    assert found["total"] == found["gradient"] == 1 and found["agrees"]


def test_a_long_path_is_shown_by_its_ends(answer):
    text = answer("paths", "y = x\nfor i in range(3000): y = y * 1.001\ny", "--x", 1)
    assert (
        "y → y * 1.001 #2999 → " in text
        and " → ... 2,989 more ... → " in text
        and text.count("\n") == 5
    )
    assert max(map(len, text.splitlines())) < 400


def test_between_any_two_tensors(results):
    source = "a = x*w\nb = a + w\nc = b*a\n"
    (found,) = results("-", "--x", 2, "--w", 3, "--from", "b", "--to", "w", input=source)
    assert [p["tensors"] for p in found["paths"]] == [["b", "a", "w"], ["b", "w"]]
    assert (found["total"], found["gradient"]) == (3, None)
    (found,) = results("-", "--x", 2, "--w", 3, "--to", "a", input=source)
    assert [p["product"] for p in found["paths"]] == [6, 9]


def test_tensors_and_their_elements(results, answer, refusal):
    source = ("(x@w).sum() * x[0, 0]", "--x", "[[1,2],[3,4]]", "--w", "[[1,2],[3,4]]")
    x, w = results(*source)
    assert [f["matrix"] for f in x["paths"][0]["factors"]] == [None, None, [4, 4]]
    assert x["agrees"] and w["agrees"] and w["total"] == w["gradient"] == [[4, 4], [6, 6]]
    (one,) = results(*source, "--to", "w", "--element", "1,0")
    assert (one["element"], one["total"], one["gradient"]) == ([1, 0], 6, 6)
    assert "w.grad[1, 0] = 6" in answer("paths", *source, "--to", "w", "--element", "1,0")
    code, error = refusal("paths", *source, "--element", "5,5")
    assert code == 2 and "x of shape (2, 2) has no element [5, 5]" in error


def test_a_hook_on_the_way(answer):
    source = (
        "import torch\nx = torch.tensor(3., requires_grad=True)\ny = x * 2\ny.register_hook(lambda g: g * 10)\n"
        "z = y * y\nz.backward()\n"
    )
    text = answer("paths", "-", input=source)
    assert "x.grad = 6*2 + 6*2 = 24" in text
    assert "but backward brought 240: the hook <lambda> changed it on the way" in text


def test_a_function_of_the_program_and_broadcasting(results):
    source = """\
import torch
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return 2 * x * g
x = torch.tensor([1., 2., 0.], requires_grad=True)
b = torch.tensor([1.], requires_grad=True)
(Square.apply(x) * b * torch.tensor([1., 0., 3.])).sum().backward()
"""
    x, b = results("-", input=source)
    assert x["agrees"] and x["total"] == [2, 0, 0]
    assert b["agrees"] and b["total"] == [1]


def test_a_root_that_is_a_leaf(answer):
    assert "x.grad = 1" in answer("paths", "x", "--x", 3)
    assert "from backward" in answer("why", "x", "x", "--x", 3)


def test_nothing_to_list(answer, refusal):
    assert "y does not depend on x" in answer(
        "paths", "-", "--x", 1, "--w", 2, "--to", "x", input="z = x\ny = w*w\ny\n"
    )
    code, error = refusal("paths", *NOTE, "--no-backward")
    assert code == 2 and "backward was not run" in error


# ---- sums equal gradients


UNARY = st.sampled_from(
    ["sin({})", "exp({} * 0.1)", "tanh({})", "relu({})", "-{}", "{} ** 2", "{}.sum()", "{} * 0.5"]
)
BINARY = st.sampled_from(["{} + {}", "{} * {}", "{} - {}", "maximum({}, {})", "{} / (1 + {} ** 2)"])


@st.composite
def programs(draw):
    """A random graph of a few statements over x (3 elements) and w (a number), with much sharing."""
    names = ["x", "w"]
    lines = []
    for i in range(draw(st.integers(1, 7))):
        form = draw(st.one_of(UNARY, BINARY))
        operands = [draw(st.sampled_from(names)) for _ in range(form.count("{}"))]
        lines.append(f"v{i} = {form.format(*operands)}")
        names.append(f"v{i}")
    return "\n".join([*lines, f"({' + '.join(names)}).sum()"]) + "\n"


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(programs())
def test_sums_equal_gradients_on_random_graphs(results, source):
    for found in results("-", "--x", "0.5,-1.25,2", "--w", "0.75", "--max", 30, input=source):
        assert found["agrees"], source
        total = found["total"]
        assert total == pytest.approx(found["gradient"], rel=1e-9, abs=1e-12)
        if found["paths"]:
            columns = [
                p["product"] if isinstance(p["product"], list) else [p["product"]]
                for p in found["paths"]
            ]
            summed = [math.fsum(column) for column in zip(*columns, strict=True)]
            assert summed == pytest.approx(
                total if isinstance(total, list) else [total], rel=1e-9, abs=1e-12
            )


def test_as_a_process(process):
    done = process("paths", *NOTE, "--to", "w")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("w.grad = 2*1 + 3*1 = 5\n")


def test_a_gradient_that_was_not_kept_is_no_grad(answer, here):
    (here / "steps.txt").write_text("a = x + w\nr = a * w\ny = r * 2 + a\n")
    values = ("--x", "2", "--w", "1")
    assert "d(y)/d(r) = 1*2 = 2" in answer("paths", "steps.txt", *values, "--to", "r")
    kept = answer("paths", "steps.txt", *values, "--to", "r", "--retain-grad", "r")
    assert "r.grad = 1*2 = 2" in kept
