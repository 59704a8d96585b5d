"""`gradtrace ops`: the operators' reference, made from their records."""

import json
import shlex

import pytest

from gradtrace.views import formula


@pytest.fixture
def told(answer):
    def read(*names):
        return {one["name"]: one for one in json.loads(answer("ops", *names, "--format", "json"))["operators"]}

    return read


def test_one_operator(answer):
    lines = answer("ops", "mul").splitlines()
    assert lines[0] == "mul"
    assert [line.split(maxsplit=1)[0] for line in lines[1:4]] == ["forms", "record", "grad_fn"]
    assert "  d/d self    g * other" in lines and "  d/d other   g * self" in lines
    assert "mul(self, other)" in lines[2] and "Tensor.mul_ (in place)" in lines[1]


def test_derivatives_are_those_of_the_engine(told):
    found = told("exp", "sin", "softmax", "sum")
    assert found["exp"]["derivatives"] == {"self": "g * out"}
    assert found["sin"]["derivatives"] == {"self": "g * cos(self)"}
    assert "self" in found["softmax"]["derivatives"] and found["sum"]["grad_fn"] == "SumBackward0"


def test_kinks_and_jumps(told, answer):
    found = told("relu", "abs", "hardtanh", "round", "sin")
    assert [(k["at"], k["given"], k["jump"]) for k in found["relu"]["kinks"]] == [(0, 0, False)]
    assert [k["at"] for k in found["abs"]["kinks"]] == [0]
    assert {k["at"] for k in found["hardtanh"]["kinks"]} == {1, -1}
    assert all(k["jump"] for k in found["round"]["kinks"]) and found["sin"]["kinks"] == []
    assert "a kink, the slope goes from 0 to 1; the derivative is 0, as in PyTorch" in answer("ops", "relu")


@pytest.mark.parametrize("name", ["sigmoid", "atan2", "relu", "log", "hypot", "clamp", "erf"])
def test_examples_run(told, answer, name):
    one = told(name)[name]
    value, _, slope = one["answer"].partition(", dy/dx = ")
    args = shlex.split(one["example"])[1:]
    assert float(answer(*args, "--get", "root")) == pytest.approx(float(value), rel=1e-5)
    assert float(answer(*args, "--get", "x.grad")) == pytest.approx(float(slope), rel=1e-5)


@pytest.mark.parametrize(
    "name",
    ["softmax", "cat", "logdet", "conv2d", "embedding", "sort", "topk", "digamma", "argmax", "layer_norm", "svd"],
)
def test_examples_of_other_calls_run(told, answer, name):
    one = told(name)[name]
    value, _, slope = one["answer"].partition(", dy/dx = ")
    args = shlex.split(one["example"])[1:]
    assert float(answer(*args, "--get", "root")) == pytest.approx(float(value), rel=1e-5)
    assert bool(slope) == (name != "argmax")
    if slope:
        assert answer(*args, "--get", "x.grad") not in ("None\n", "")


RANDOM = [
    "bernoulli",
    "cauchy_",
    "dropout2d",
    "dropout3d",
    "exponential_",
    "geometric_",
    "gumbel_softmax",
    "log_normal_",
]


def test_random_operators_are_described_in_the_same_way_each_time(told, answer):
    found = told(*RANDOM)
    assert told(*RANDOM) == found
    assert {name: one["kinks"] for name, one in found.items() if one["kinks"]} == {}


@pytest.mark.parametrize("name", ["dropout2d", "gumbel_softmax", "log_normal_"])
def test_the_example_of_a_random_operator_names_its_seed(told, answer, name):
    one = told(name)[name]
    assert one["example"].endswith(" --seed 1")
    value = one["answer"].partition(", dy/dx = ")[0]
    args = shlex.split(one["example"])[1:]
    assert float(answer(*args, "--get", "root")) == pytest.approx(float(value), rel=1e-5)


def test_the_list(answer):
    text = answer("ops")
    assert "logsumexp" in text and "gradtrace ops NAME tells about one" in text
    assert answer("ops", "mul", "--format", "csv").startswith("name,forms,signature,grad_fn,derivatives\n")


@pytest.mark.slow  # derives each operator, and looks for its kinks
def test_all_operators(answer):
    lines = [json.loads(line) for line in answer("ops", "--format", "jsonl").splitlines()]
    assert len(lines) > 400 and all(one["forms"] for one in lines)
    functions = [one for one in lines if not one["name"].endswith("_")]  # which the in-place forms go with
    assert sum(bool(one["example"]) for one in functions) > 0.8 * len(functions)


def test_a_name_that_is_none(refusal):
    assert refusal("ops", "reluu") == (2, "gradtrace: no operator 'reluu'; did you mean relu?\n")


def test_as_a_process(process):
    done = process("ops", "tanh")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("tanh\n")


def test_formulas_in_text_and_latex(told, answer):
    found = told("sigmoid", "mul", "cat", "relu", "softmax")
    assert found["sigmoid"]["formula"] == "1 / (1 + exp(-self))"
    assert found["sigmoid"]["latex"] == {
        "formula": r"\mathrm{out} = \frac{1}{1 + \exp\left(-\mathrm{self}\right)}",
        "self": r"g \cdot \left(1 - \mathrm{out}\right) \cdot \mathrm{out}",
    }
    assert found["mul"]["formula"] == "self * other" and "tensors[k]" in found["cat"]["formula"]
    assert found["relu"]["derivatives"]["self"] == "where(out > 0, g, 0)"
    assert found["softmax"]["derivatives"]["self"] == (
        "grad[..., i, ...] = out[..., i, ...] * (g[..., i, ...] - sum[k](g[..., k, ...] * out[..., k, ...]))"
    )
    assert "  formula     out = self * other" in answer("ops", "mul")


@pytest.mark.slow
def test_latex_of_every_operator(answer):
    for one in json.loads(answer("ops", "--format", "json"))["operators"]:
        assert set(one["latex"]) == {"formula", *one["derivatives"]}
        for text in one["latex"].values():
            assert text.count("{") == text.count("}") and text.count(r"\left") == text.count(r"\right")


@pytest.mark.parametrize(
    "text, latex",
    [
        ("a - (b - c)", r"a - \left(b - c\right)"),
        ("a * -b", r"a \cdot \left(-b\right)"),
        ("-(a + b) ** 2", r"-\left(a + b\right)^{2}"),
        ("2 ** (x + 1)", "2^{x + 1}"),
        ("where(x > 0, g, 0)", r"\begin{cases}g & x > 0 \\ 0 & \text{else}\end{cases}"),
        ("sqrt(abs(x))", r"\sqrt{\left|x\right|}"),
        ("f(...)", r"\operatorname{f}\left(\ldots\right)"),
        ("out[i, j] = sum[k](a[i, k] * b[k, j])", r"\mathrm{out}_{i, j} = \sum_{k} a_{i, k} \cdot b_{k, j}"),
        ("sum[k, 1, n](k)", r"\sum_{k = 1}^{n} k"),
        ("integral[t, 0, x](exp(-t**2))", r"\int_{0}^{x} \exp\left(-t^{2}\right) \, dt"),
        ("d[x, 2](f)", r"\frac{d^{2}}{d x^{2}} f"),
        ("a[k][i]", "{a_{k}}_{i}"),
        ("x ~ Normal(mu, 1); 0 < x", r"x \sim \operatorname{Normal}\left(\mu, 1\right),\quad 0 < x"),
        ("n // 2", r"\left\lfloor \frac{n}{2} \right\rfloor"),
        ("no formula", r"\texttt{no formula}"),
    ],
)
def test_latex_of_a_formula(text, latex):
    assert formula.latex(text) == latex
