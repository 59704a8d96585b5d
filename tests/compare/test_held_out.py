"""Pairs of another author, of which `diff` called equal ones different or named a consequence."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent / "programs"
EQUAL = (
    "fused_projections",
    "convolution_by_unfold",
    "causal_attention",
    "attention_in_parts",
    "bias_before_batch_norm",
    "policy_gradient",
    "decay_by_hand",
    "leaves_concatenated",
    "clipping_by_hand",
    "attention_pieces_in_adam",
)
# of which a record does not have the gradients
PARTLY = [
    ("functional_call", "torch"),
    ("gradients_returned", "gradtrace"),
    ("gradients_returned", "torch"),
]
# what is not in gradtrace's own torch
TORCH_ONLY = {"functional_call", "layer_in_bfloat16"}
# a record of PyTorch at the level of these tests has statistics alone of its convolutions
OWN_ONLY = {"bias_before_batch_norm"}
# by pair: kind, what stands on the line of A and of B, and words of the reason
PLANTED = {
    "losses_not_divided": ("only", "/ 3", "square().mean()", "B = A * 3"),
    "betas_of_one_optimiser": (
        "update",
        "od.step()",
        'opts["d"].step()',
        "betas=(0.5, 0.999) in A",
    ),
    "decay_of_an_average": ("forward", "mul_(0.95)", "lerp_", ""),
    "layer_in_bfloat16": ("forward", "l1(emb(docs))", "self.hidden(bag)", "float32 in A, bfloat16"),
    "earlier_draw": (
        "random",
        "torch.randn(9, 3)",
        "randn_like",
        "only B draws with torch.randn(2, 3)",
    ),
    "order_of_batches": ("input", "x[i:i + 4]", "inputs.split(4)", "B reads those of A in step 3"),
    "last_update_by_hand": ("update", "opt.step()", "p -= ", ""),
    "nesterov_by_hand": ("update", "step()", "p.add_(v, alpha=", ""),
    "sign_of_entropy": ("forward", "- 0.01 * dist.entropy()", "+ 0.01 * entropy", ""),
}


def texts(name):
    return [(HERE / f"{name}_{side}.py").read_text() for side in "ab"]


def engines(names):
    return [
        pytest.param(name, engine, id=f"{name}-{engine}")
        for name in names
        for engine in ("gradtrace", "torch")
        if name not in (OWN_ONLY if engine == "torch" else TORCH_ONLY)
    ]


@pytest.mark.parametrize(("name", "engine"), engines(EQUAL))
def test_a_rewrite_is_equal(verdict, name, engine):
    code, found = verdict(engine, *texts(name))
    assert (code, found["verdict"], found["first"]) == (0, "equal", None)
    assert found["complete"]
    assert not any("not compared" in note for note in found["notes"])


@pytest.mark.parametrize(("name", "engine"), PARTLY)
def test_gradients_that_no_leaf_keeps_are_not_missing(verdict, name, engine):
    code, found = verdict(engine, *texts(name))
    assert (code, found["verdict"], found["complete"]) == (0, "equal", False)


@pytest.mark.parametrize(("name", "engine"), engines(PLANTED))
def test_a_difference_is_placed(verdict, name, engine):
    kind, *lines, words = PLANTED[name]
    both = texts(name)
    code, found = verdict(engine, *both)
    first = found["first"]
    assert (code, first["kind"], found["others"]) == (1, kind, [])
    for side, text, wanted in zip("ab", both, lines, strict=True):
        assert wanted in text.splitlines()[first[side]["line"] - 1]
    assert words in first["reason"]


BATCH_NORM = """\
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4, momentum=0.1))
x = torch.randn(6, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    loss = net(x).pow(2).sum() + net(x).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
MEAN = """\
import torch
torch.manual_seed(0)
p = torch.randn(1000, requires_grad=True)
loss = (p * p).mean()
loss.backward()
"""
EMPTY = """\
import torch
p = torch.nn.Parameter(torch.empty(0, 3))
w = torch.ones(3, requires_grad=True)
loss = (w * 2).sum() + p.sum()
loss.backward()
"""


@pytest.mark.parametrize(
    ("program", "old", "new", "engine"),
    [
        (BATCH_NORM, "momentum=0.1", "momentum=0.2", "torch"),
        (MEAN, "(p * p).mean()", "(p * p)[:-9].sum() / 900", "gradtrace"),
        (MEAN, "(p * p).mean()", "p.std()", "gradtrace"),
    ],
)
def test_what_only_looks_like_a_rounding_differs(verdict, program, old, new, engine):
    code, _ = verdict(engine, program, program.replace(old, new))
    assert code == 1


def test_a_deviation_differs_from_that_of_a_sample(verdict):
    program = MEAN.replace("(p * p).mean()", "p.std()")
    code, found = verdict("gradtrace", program, program.replace("std()", "std(unbiased=False)"))
    assert (code, found["verdict"]) == (1, "differ")


def test_an_empty_parameter_of_another_name(verdict):
    code, _ = verdict("gradtrace", EMPTY, EMPTY.replace("p = ", "q = ").replace("p.sum", "q.sum"))
    assert code == 0
