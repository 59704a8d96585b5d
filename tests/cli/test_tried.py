"""What `why` says of programs like those of public threads: a fix that was tried, a direction with what its trial
showed, or nothing of what the program has already.
"""

import json
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parents[1] / "threads" / "tried"

# program: (name or "", cause, start of the advice that was tried, what its trial showed)
TRIED = {
    "exhausted_iterator": (
        "", "clips nothing", "list(filter(lambda p: p.requires_grad, net.parameters())) on line 7", "the loss falls",
    ),
    "scaled_step": ("", "scaled step", "scaler.step(opt); scaler.update() in place of opt.step()", "the loss falls"),
    "log_with_eps": ("", "not finite", "torch.log((p + 1e-50).clamp(min=1e-8)) on line 7", "the loss falls"),
    "forward_once": ("", "freed", "compute it inside of the loop, before backward on line 10", "the loss falls"),
    "rate_too_high": ("", "diverges", "lr=0.1 in place of lr=2 on line 7", "the loss falls"),
}  # fmt: skip
# program: (name or "", cause, a direction with what its trial showed)
DIRECTIONS = {
    "straight_through": ("codebook", "detach", "leave out .detach() there; but encoder."),
    "acos_at_one": ("", "not finite", "clamp(-1 + 1e-6, 1 - 1e-6)) on line 7; but angle.grad is 0 then"),
    "clamp_stops": ("", "not finite", "rate.clamp(min=1e-8)) on line 7; but the loss stays 18.42 then"),
    "exp_in_half": ("", "not finite", "torch.exp(score.half().clamp(max=11)) on line 7; but the loss stays 1 then"),
    "sqrt_at_zero": ("", "not finite", "(variance + 1e-12) on line 10; but the loss goes from 1.188 to 1542 then"),
}  # fmt: skip


@pytest.fixture
def ask(gt):
    def answers(program, *names):
        result = gt("why", str(PROGRAMS / f"{program}.py"), *names, "--format", "json")
        assert result.exit_code in (0, 1), result.stderr
        return json.loads(result.stdout)["answers"]

    return answers


@pytest.mark.parametrize("program", TRIED)
def test_a_fix_trains(gt, ask, program):
    name, cause, advice, shown = TRIED[program]
    first = ask(program, *filter(None, [name]))[0]
    assert first["cause"] == cause, first["sentence"]
    assert len(first["tried"]) == 1 and first["tried"][0].startswith(advice), first["advice"]
    assert f"To fix it (tried: {shown} from" in gt("why", str(PROGRAMS / f"{program}.py")).stdout


@pytest.mark.parametrize("program", DIRECTIONS)
def test_what_does_not_train_is_a_direction(ask, program):
    name, cause, direction = DIRECTIONS[program]
    first = ask(program, *filter(None, [name]))[0]
    assert first["cause"] == cause and not first["tried"], first
    assert any(direction in advice for advice in first["advice"]), first["advice"]


def test_a_rate_is_blamed_only_if_a_smaller_one_trains(ask):
    said = ask("rate_too_high")[0]["sentence"]
    assert said.endswith("the steps overshoot with lr=2 on line 7, the learning rate is too large.")
    first = ask("grows_by_itself")[0]
    assert first["sentence"].endswith("a smaller learning rate does not end that.")
    assert not any("lr=" in advice for advice in first["advice"])


@pytest.mark.parametrize("program", ["clip_order", "right_detach"])
def test_what_the_program_does_is_not_advised(ask, program):
    advice = [text for answer in ask(program) for text in answer["advice"]]
    assert not any("clip_grad_norm_" in text or "detach" in text for text in advice), advice


def test_a_bound_is_not_put_on_a_bound(gt):
    program = (
        "import torch\nw = torch.tensor(0., requires_grad=True)\n"
        "loss = torch.log(w.clamp(min=0))\nloss.backward()\n"
    )
    said = " ".join(gt("why", "-", input=program).stdout.split())
    assert (
        "other bounds of clamp on line 3, within the domain of log" in said
        and ").clamp" not in said
    )


@pytest.mark.parametrize(
    ("dtype", "bound", "advised"),
    [("float32", "max=100", 88), ("float64", "min=0, max=800", 709)],
)
def test_a_bound_of_exp_is_one_that_the_dtype_holds(gt, dtype, bound, advised):
    program = (
        f"import torch\nw = torch.tensor([3.0, 900.0], dtype=torch.{dtype}, requires_grad=True)\n"
        f"loss = torch.exp(w.clamp({bound})).sum()\nloss.backward()\n"
    )
    said = " ".join(gt("why", "-", input=program).stdout.split())
    assert f"To fix it (tried: the cause is gone then): - clamp(max={advised}) on line 3" in said
    said = gt("why", "-", input=program.replace(f".clamp({bound})", "")).stdout
    assert "dim=1" not in said and "torch.softmax(x, dim=-1)" in said  # of one dimension


def test_an_argument_that_is_there_is_not_advised(gt):
    program = "import torch\nw = torch.ones(2, requires_grad=False)\nloss = (w * 2).sum()\nloss.backward()\n"
    answer = json.loads(gt("why", "-", "w", "--format", "json", input=program).stdout)["answers"][0]
    assert answer["tried"] == ["let w require grad: requires_grad=True where it is made"]
