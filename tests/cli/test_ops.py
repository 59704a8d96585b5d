"""`gradtrace ops`: the operators' reference, made from their records."""

import json

import pytest


@pytest.fixture
def told(answer):
    def read(*names):
        return {
            one["name"]: one
            for one in json.loads(answer("ops", *names, "--format", "json"))["operators"]
        }

    return read


def test_one_operator(answer):
    lines = answer("ops", "mul").splitlines()
    assert lines[0] == "mul"
    assert [line.split(maxsplit=1)[0] for line in lines[1:4]] == ["forms", "record", "grad_fn"]
    assert "  d/d self   g * other" in lines and "  d/d other  g * self" in lines
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
    assert "a kink, the slope goes from 0 to 1; the derivative is 0, as in PyTorch" in answer(
        "ops", "relu"
    )


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


def test_the_list(answer):
    text = answer("ops")
    assert "logsumexp" in text and "gradtrace ops NAME tells about one" in text
    assert answer("ops", "mul", "--format", "csv").startswith(
        "name,forms,signature,grad_fn,derivatives\n"
    )


@pytest.mark.slow  # derives each operator, and looks for its kinks
def test_all_operators(answer):
    lines = [json.loads(line) for line in answer("ops", "--format", "jsonl").splitlines()]
    assert len(lines) > 400 and all(one["forms"] for one in lines)


def test_a_name_that_is_none(refusal):
    assert refusal("ops", "reluu") == (2, "gradtrace: no operator 'reluu'; did you mean relu?\n")


def test_as_a_process(process):
    done = process("ops", "tanh")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("tanh\n")


def test_formulas(told, answer):
    found = told("sigmoid", "mul", "cat", "relu", "softmax")
    assert found["sigmoid"]["formula"] == "1 / (1 + exp(-self))"
    assert found["mul"]["formula"] == "self * other" and "tensors[k]" in found["cat"]["formula"]
    assert found["relu"]["derivatives"]["self"] == "where(out > 0, g, 0)"
    assert found["softmax"]["derivatives"]["self"] == (
        "grad[..., i, ...] = out[..., i, ...] * (g[..., i, ...] - sum[k](g[..., k, ...] * out[..., k, ...]))"
    )
    assert "  formula    out = self * other" in answer("ops", "mul")
