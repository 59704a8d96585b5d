"""The laws of training: what `why` says of silent bugs, each a small program, on both engines."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parents[1] / "threads" / "laws"

# program: the cause, its line
ANSWERS = {
    "backward_twice": ("backward twice", 12),
    "below_spacing": ("updates lost", 12),
    "below_spacing_by_hand": ("updates lost", 12),
    "below_spacing_data": ("updates lost", 11),
    "cleared_micro_batches": ("cleared early", 7),
    "clip_after_step": ("idle clip", 15),
    "ctc_of_few_frames": ("frames missing", 10),
    "kl_of_logarithms": ("logarithms as target", 10),
    "minimum_of_masked": ("masked extreme", 11),
    "parameter_of_a_result": ("copied", 11),
    "rows_assigned": ("rows lost", 9),
    "step_and_eval_named": ("not called", 14),
    "closure_adds_up": ("closure accumulates", 12),
    "grown_target": ("broadcast", 11),
    "hook_in_loop": ("hook twice", 8),
    "evidence_minimised": ("likelihood falls", 17),
    "likelihood_minimised": ("likelihood falls", 9),
    "one_against_many": ("broadcast", 8),
    "overwritten": ("updates undone", 15),
    "logits_in_ctc": ("no logarithm", 10),
    "recomputed_dropout": ("recomputed otherwise", 9),
    "sampler_before_loss": ("gradients of a sampler", 12),
    "sam_keeps_first": ("mixed gradients", 13),
    "stale_logits": ("computed once", 9),
    "term_of_argmax": ("constant term", 9),
    "term_of_data": ("constant term", 9),
    "term_of_item": ("constant term", 9),
    "term_of_norm": ("partial cut", 9),
    "term_of_numbers": ("constant term", 9),
}
# program: a remark of a run in which nothing else is wrong
REMARKS = {
    "advantage_trained": r"adv, which multiplies .* on line 10, has a gradient: the loss of the policy",
    "dropout_keeps_little": r"dropout on line 7 drops 95% of the elements: p is the share that it drops",
    "entropy_lowered": r"the loss grows with dist\.entropy\(\) on line 9: the steps lower the entropy",
    "jacobian_of_one_layer": r"sum on line 9 gives 3 results in a step, and nothing reads 2 of them",
    "labels_of_one_class": r"100% of the targets of \w+ on line 10 are 0",
    "target_never_older": r"on line 13 copies q\.0\.weight into target\.0\.weight in each of 5 steps",
    "attention_over_the_batch": r"attention on line 9 takes dim 0 of \(12, 7, 16\) for time, 12 steps of 7",
    "group_at_rest": r"opt on line 5 does not move head\.weight and head\.bias: their group has lr=0",
    "gru_over_the_batch": r"gru on line 8 takes dim 0 of \(16, 6, 4\) for time, 16 steps of 6 samples",
    "images_with_channels_last": r"on line 8 takes dim 1 of \(16, 8, 8, 3\) for the channels",
    "mean_before_abs": r"abs on line 8 is taken of a mean of differences .*, which cancel",
    "same_batch_again": r"no statement of the loop on line 8 uses i, which goes over range\(0, 64, 16\)",
    "validated_in_training_mode": r"net runs in training mode with no backward after it on line 10",
    "average_reversed": r"on line 16 moves ema\.\d\.\w+ by 99\.9% of its distance to net\.\d\.\w+: it keeps 0\.1%",
    "batch_of_one_sample": r"the 32 samples of \S+, which \w+ on line 8 reads, are equal, in each of 5 steps",
    "future_attended": r"on line 9 hides from each token what comes before it, and leaves what comes after",
    "mean_over_equal_dims": r"mean on line 8 is taken over dim 0 of \(10, 10, 16\), of which dim 1 is as long",
    "ctc_of_one_short": r"1 of 3 sequences has fewer frames than labels in ctc_loss on line 10",
    "norm_of_all_rows": r"\.mean\(\) on line 9 is of one number: \w+ on line 9 is over all 32 elements",
    "noise_by_logvar": r"logvar, which scales the noise on line 9, goes down to -\d\S+: a standard deviation",
    "penalty_subtracted": r"the loss falls as net\.0\.weight, .* grow: what is computed on line 8 enters",
    "positive_is_anchor": r"anchor and positive are equal each of the 6 times that .* on line 10",
    "schedule_spent": r"ExponentialLR on line 5 has brought .* from 0\.1 to 1e-07 after 6 of 8 steps",
    "two_orders": r"torch\.randperm\(64\) draws on line 7 and on line 8, other numbers each time",
    "units_alike": r"the rows of net\.0\.weight and net\.2\.weight are equal before the first step and after",
    "another_sample": r"pd\.sample\(\) draws on line 10 and on line 11, other numbers each time",
    "average_with_itself": r"on line 25 adds pair\.online\.weight to itself, .*self\.target are one object on line 10",
    "diagonal_kept": r"\w+ on line 12 has on its diagonal the products of z with itself on line 11",
    "last_block_only": r"each turn of the loop binds forecast again on line 11",
    "margin_outside": r"0\.5 is added to the result of relu on line 11",
    "padding_attended": r"the mask of masked_fill on line 15 hides \d+ tokens of ids .* from ne on line 14",
    "perturbation_stays": r"on line 12 changes net\.\w+ and net\.\w+ in each step, and nothing takes that back",
    "two_time_steps": r"draw\(len\(x\)\) draws on line 15 and on line 16",
    "blank_is_a_label": r"2 of the 9 targets of \w+ on line 12 are 0, which is the blank",
    "cells_for_channels": r"view on line 11 makes \(2, 12, 5\) of \(2, 5, 3, 4\) and keeps the order",
    "hooks_share_a_mask": r"the hook on line 8 reads mask when it runs",
    "noise_drawn_twice": r"noise, the target of mse_loss on line 16, is drawn on line 15 and not part",
    "one_layer_repeated": r"\[nn\.Linear\(3, 3\)\] \* 3 on line 5 repeats one object",
    "state_without_history": r"loss depends on .* through \.data on line 10",
    "best_is_a_reference": r"load_state_dict\(best\) on line 15 copies net\.weight onto itself",
    "cosine_stepped_by_batch": r"CosineAnnealingLR on line 7 raises the learning rate of opt again",
    "divided_twice": r"loss / 4 is divided by 4 on line 14 and once more on line 10",
    "write_to_computed_weight": r"net\.weight, which mul on line 13 has computed from parameters",
    "auxiliary_dropped": r"extra on line 10 has a gradient to give, and no backward reaches it",
    "bn_left_in_train": r"net runs in training mode without gradients on line 14, where BatchNorm1d",
    "detached_branch": r"loss depends on h through detach on line 10",
    "dropout_in_eval": r"dropout on line 14 drops elements although net is in evaluation mode",
    "dropped_result": r"h\.add\(pos\) on line 11 gives a new tensor, and its result is not used",
    "initial_statistics": r"net\.1 is in evaluation mode on line 10 and its running statistics are",
    "loss_cleared_in_no_optimiser": r"criterion\.W,.* gets gradients and is in no optimiser: optimizer on line 12",
    "loss_in_no_optimiser": r"criterion\.W,.* gets gradients and is in no optimiser: optimizer on line 11",
    "misspelt_flag": r"p\.require_grad on line 8 sets require_grad, which PyTorch does not read",
    "normalised_over_batch": r"normalize on line 9 is taken over dim 0 of \(8, 3\)",
    "normalised_in_place": r"w -= w\.mean\(\) on line 10 changes series, of which it has a part, 12",
    "optimiser_holds_frozen": r"opt on line 7 holds adapter\.weight and adapter\.bias, which do not require",
    "padded_targets": r"67% of the targets of \w+ on line 12 are 0",
    "ratio_of_one": r"new and old are equal each of the 6 times .* on line 17",
    "rebound_average": r"on line 16 binds the loop's variable e to a new tensor",
    "reshaped_for_transposed": r"on line 11 makes \(6, 4, 2\) of \(4, 6, 2\) and keeps the order",
    "same_noise": r"noise on line 11 is drawn 3 times and holds the same numbers each time",
    "schedule_forgotten": r"StepLR on line 8 is never stepped, in 4 steps of opt",
    "straight_without_detach": r"is added on line 11 to q - .*: no gradient of the sum reaches",
    "trained_target": r"target, the target of smooth_l1_loss on line 11, has a gradient",
    "twin_critics": r"mse_loss on line 11 compares values \(8, 2\) with y\[:, None\] \(8, 1\)",
    "two_optimisers": r"first on line 7 and second on line 8 both hold and change net\.weight",
    "unshifted_tokens": r"targets of \w+ on line 10 are the numbers that embedding on line 10 looks up",
}
OF_PYTORCH = (
    *("attention_over_the_batch", "blank_is_a_label", "gru_over_the_batch"),
    *("ctc_of_few_frames", "ctc_of_one_short", "kl_of_logarithms"),
)
HAS_TORCH = importlib.util.find_spec("torch") is not None


def in_pytorch(*words):
    command = [sys.executable, "-m", "gradtrace", *words, "--engine", "torch"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(
    params=[
        "gradtrace",
        pytest.param(
            "torch",
            marks=[
                pytest.mark.slow,
                pytest.mark.skipif(not HAS_TORCH, reason="needs PyTorch"),
            ],
        ),
    ]
)
def ask(request, gt):
    """Return a function that prints the answer about a program on one of the engines."""
    if request.param == "torch":
        return in_pytorch
    return lambda *words: gt(*words).stdout


@pytest.mark.parametrize("program", ANSWERS)
def test_a_broken_law_is_the_answer(ask, program):
    if program == "below_spacing" and ask is not in_pytorch:
        pytest.skip("gradtrace's own engine has no bfloat16")
    if program in OF_PYTORCH and ask is not in_pytorch:
        pytest.skip("gradtrace's own engine records the operators inside of these calls")
    code, line = ANSWERS[program]
    printed = ask("why", str(PROGRAMS / f"{program}.py"), "--format", "json")
    first = json.loads(printed[printed.index('{"schema"') :])["answers"][0]
    assert first["cause"] == code, first
    places = re.findall(r"line (\d+)", first["sentence"])
    places += [evidence["line"] for evidence in first["evidence"] if evidence["line"]]
    assert line in map(int, places), first


@pytest.mark.parametrize("program", REMARKS)
def test_what_may_be_meant_is_a_remark(ask, program):
    if program in OF_PYTORCH and ask is not in_pytorch:
        pytest.skip("gradtrace's own engine records the operators inside of these calls")
    said = " ".join(ask("why", str(PROGRAMS / f"{program}.py")).split())
    assert "Checked: " in said and re.search(REMARKS[program], said), said


@pytest.mark.parametrize(
    "program",
    [
        "both_dead",
        "diagonal_masked",
        "halves_compared",
        "entropy_maximised",
        "kl_with_log_target",
        "minimum_of_others",
        "norm_of_each_row",
        "rows_added",
        "rows_each_once",
        "leaf_trained_by_hand",
        "log_softmax_twice",
        "noise_shared",
        "mixture_responsibilities",
        "noise_in_proportion",
        "padding_hidden",
        "pairs_once",
        "point_minimised",
        "polynomial",
        "printed_write",
        "rate_for_each_parameter",
        "rate_zero_at_first",
        "same_order_again",
        "shrunk_by_threshold",
        "skew_symmetric",
        "two_schedules",
    ],
)
def test_what_only_looks_like_a_broken_law(ask, program):
    said = ask("why", str(PROGRAMS / f"{program}.py"))
    assert len(said[said.index("Checked: ") :].strip().split("\n\n")) == 1, said


def test_what_variables_of_functions_hold_has_their_names(ask):
    path = str(PROGRAMS / "under_main.py")
    assert "model.spare.weight.grad is None" in ask("why", path)
    assert "model.first.weight.grad is between" in ask("why", path, "model.first.weight")
    assert "model.first.weight.grad is between" in ask("why", path, "self.net.first.weight")


def test_a_name_of_a_function_is_not_the_one_of_the_program(ask, tmp_path):
    path = tmp_path / "names.py"
    path.write_text(
        "import torch\n"
        "w = torch.ones(2, requires_grad=True)\n"
        "def inner():\n"
        "    w = torch.full((3,), 2.0, requires_grad=True)\n"
        "    (w * w).sum().backward()\n"
        "inner()\n"
        "(3 * w).sum().backward()\n"
    )
    assert "[3, 3]" in ask("why", str(path), "w")
    assert "[4, 4, 4]" in ask("why", str(path), "w in inner")


def test_the_books_of_a_step(gt):
    path = str(PROGRAMS / "cleared_micro_batches.py")
    document = json.loads(gt("ledger", path, "--step", "2", "--format", "json").stdout)
    assert (document["schema"], document["step"], document["steps"]) == ("gradtrace/ledger", 2, 3)
    rows = {row["name"]: row for row in document["parameters"]}
    assert rows.keys() == {"net.weight", "net.bias"}
    weight = rows["net.weight"]
    assert weight["losses"] == [
        {"line": 9, "file": "", "loss": "loss", "passes": 4, "cleared": 3, "left": 0}
    ]
    assert (weight["fate"], weight["by"], weight["line"]) == ("used", "opt", 11)
    assert weight["norm"] > 0 and 0 < weight["change"] < 0.1
    shown = gt("ledger", path, "net.bias").stdout
    assert "3 of 4 passes cleared" in shown and "net.weight" not in shown


def test_the_books_of_a_parameter_whose_data_is_set(ask):
    path = str(PROGRAMS.parents[1] / "healthy" / "programs" / "data_assigned.py")
    printed = ask("ledger", path, "--format", "json")
    rows = json.loads(printed[printed.index('{"schema"') :])["parameters"]
    books = {row["name"]: (row["by"], round(row["change"], 2), row["writes"]) for row in rows}
    assert books == {"net.weight": ("opt", 0.08, []), "net.bias": ("opt", 0.52, [])}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(("--step", "9"), "no step 9"), (("nope",), "no parameter 'nope' in this step")],
)
def test_what_the_books_do_not_have(gt, arguments, said):
    result = gt("ledger", str(PROGRAMS / "sam_keeps_first.py"), *arguments)
    assert result.exit_code == 2 and said in result.stderr


def test_lost_updates_name_the_command_that_measures_them(gt, here):
    text = (PROGRAMS / "below_spacing.py").read_text().replace("bfloat16", "half")
    (here / "p.py").write_text(text)
    advice = "gradtrace why --precision compares each update with a wider type"
    assert advice in " ".join(gt("why", "p.py").stdout.split())
    assert "are lost: on line 12, the largest update" in " ".join(
        gt("why", "--precision", "p.py").stdout.split()
    )


def test_the_advice_to_measure_updates_names_the_engine_of_the_run(by_engine, request):
    text = (PROGRAMS / "below_spacing.py").read_text().replace("bfloat16", "half")
    said = " ".join(by_engine("why", text).split())
    engine = " --engine torch" if "[torch]" in request.node.name else ""
    assert f"gradtrace why --precision{engine} compares each update with a wider type" in said


IGNORED = """
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Linear(4, 3)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
labels = torch.full((8,), -100)
for i in range(3):
    loss = nn.functional.cross_entropy(model(torch.randn(8, 4)), labels)
    opt.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
"""


def test_a_gradient_of_0_is_one_that_clipping_finds(by_engine):
    said = " ".join(by_engine("why", IGNORED).split())
    assert said.startswith("loss is nan in step 1 (i=0): ")
    assert "every label of labels on line 7 is -100 (ignore_index), so" in said
    assert "finds no gradient" not in said


LABELS = (
    (
        "loss = nn.functional.cross_entropy(logits, torch.zeros(4).long(), ignore_index=0)",
        "every label of torch.zeros(4).long() on line 5 is 0 (ignore_index)",
    ),
    (
        "goal = torch.zeros(4).long()\nloss = nn.CrossEntropyLoss(ignore_index=0)(logits, goal)",
        "every label of goal on line 5 is 0 (ignore_index)",
    ),
    (
        "loss = nn.functional.nll_loss(logits.log_softmax(1), target=torch.full((4,), -100))",
        "every label of torch.full((4,), -100) ",
    ),
)


@pytest.mark.parametrize(("loss", "reason"), LABELS, ids=["option", "module", "keyword"])
def test_labels_that_a_loss_ignores_are_the_reason_for_nan(by_engine, loss, reason):
    start = "import torch\nfrom torch import nn\ntorch.manual_seed(0)\n"
    text = f"{start}logits = torch.randn(4, 3, requires_grad=True)\n{loss}\nloss.backward()\n"
    said = " ".join(by_engine("why", text).split())
    assert f"loss is nan: {reason}" in said
    assert " constant " not in said
    right = by_engine("why", text.replace("zeros(4)", "ones(4)").replace("-100", "1"))
    assert "ignore_index" not in right


PAIRS_OF_INDICES = """\
import torch
w = torch.ones(3, requires_grad=True)
rows, cols = torch.tensor([0, 0, 1]), torch.tensor([0, 1, 0])
opt = torch.optim.SGD([w], lr=0.1)
for _ in range(2):
    table = torch.zeros(2, 2)
    table[rows, cols] += w
    loss = table.pow(2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


def test_pairs_of_indices_that_differ_lose_nothing(ask, tmp_path):
    path = tmp_path / "pairs.py"
    path.write_text(PAIRS_OF_INDICES)
    assert "lost" not in ask("why", str(path))
