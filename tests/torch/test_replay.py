"""A capsule that a guard writes in one process is replayed in another: the same bits and the same answer."""

import json
import math
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
gt = pytest.importorskip("gradtrace.torch")


pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="a guard repeats a step only on Linux"
)
ROOT = Path(__file__).resolve().parents[2]

LOOP = """
import sys
import torch
import gradtrace.torch as gt

def make():
    torch.manual_seed(0)
    layers = torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1)
    return torch.nn.Sequential(*layers)

def loss_of(net, x, y):
    return (net(x).squeeze(1) - torch.sqrt(y)).square().mean()

def again(net, batch):
    net.zero_grad()
    loss = loss_of(net, *batch)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    return loss

if __name__ == "__main__":
    net = make()
    optimizer = torch.optim.Adam(net.parameters())
    ys = torch.rand(12, 5)
    ys[7, 3] = -1.0
    batches = [(torch.randn(5, 6), y) for y in ys]

    @gt.guard(capsule="capsules")
    def step(x, y):
        optimizer.zero_grad()
        loss = loss_of(net, x, y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        return loss.detach()

    if sys.argv[1] == "guard":
        for x, y in batches:
            step(x, y)
    else:
        for x, y in gt.watch(batches, net, optimizer, capsule="capsules"):
            optimizer.zero_grad()
            loss = loss_of(net, x, y)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
"""

TRAINER = """
import sys
import torch, transformers, peft
from gradtrace.torch.transformers import Guard

def make():
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=32, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2
    )
    lora = peft.LoraConfig(
        r=2, lora_alpha=1e8, target_modules=["q_proj", "v_proj"], lora_dropout=0.1, task_type="CAUSAL_LM"
    )
    return peft.get_peft_model(transformers.LlamaForCausalLM(config), lora)

class OwnLoss(transformers.Trainer):
    def compute_loss(self, *args, **kwargs):
        return 3 * super().compute_loss(*args, **kwargs)

class Overflow(transformers.TrainerCallback):
    # the gradient of one matrix is infinite after the first batch, as the other of its adapter is zero

    def on_substep_end(self, args, state, control, model=None, **kwargs):
        with torch.no_grad():
            model.get_parameter("base_model.model.model.layers.0.self_attn.v_proj.lora_A.default.weight").fill_(1e36)

def main(kind, *options):
    model = make()
    data = [{"input_ids": x, "labels": x} for x in torch.randint(1, 32, (40, 8))]
    if "broken" in options:
        with torch.no_grad():
            model.get_input_embeddings().weight[0] = float("inf")
        data[21]["input_ids"] = torch.tensor([3, 0, 4, 5, 6, 7, 8, 9])
    arguments = transformers.TrainingArguments(
        "out", per_device_train_batch_size=2, gradient_accumulation_steps=2, max_grad_norm=1.0, max_steps=9,
        report_to=[], use_cpu=True, disable_tqdm=True, save_strategy="no", bf16="bf16" in options,
        logging_strategy="no",
    )
    trainer = kind(model=model, args=arguments, train_dataset=data, callbacks=[Guard(capsule="capsules")])
    if "overflow" in options:
        trainer.add_callback(Overflow())
    trainer.train()

if __name__ == "__main__":
    main({"Trainer": transformers.Trainer, "OwnLoss": OwnLoss}[sys.argv[1]], *sys.argv[2:])
"""

LIGHTNING = """
import torch
from torch import nn
import lightning.pytorch as pl

class Net(pl.LightningModule):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 1))

    def training_step(self, batch, index):
        x, y = batch
        return (self.layers(x).squeeze(1) - torch.sqrt(y)).square().mean()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())

def again(model, batch):
    model.zero_grad()
    loss = model.training_step(batch, 0)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    return loss

if __name__ == "__main__":
    from gradtrace.torch.lightning import Guard

    model = Net()
    ys = torch.rand(20)
    ys[13] = -1.0
    data = torch.utils.data.TensorDataset(torch.randn(20, 4), ys)
    trainer = pl.Trainer(
        max_epochs=1, callbacks=[Guard(capsule="capsules")], logger=False, enable_checkpointing=False,
        enable_progress_bar=False, accelerator="cpu", gradient_clip_val=1.0,
    )
    trainer.fit(model, torch.utils.data.DataLoader(data, batch_size=4))
"""


@pytest.fixture
def shell(tmp_path):
    """Run a command in a folder with train.py; return what it printed on both streams."""

    def called(*command, text="", expected=0):
        if text:
            (tmp_path / "train.py").write_text(text)
        env = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            [sys.executable, *command],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == expected, done.stdout + done.stderr
        return done.stdout + done.stderr

    return called


def first_sentence(answer, start):
    """Return the sentence of `why` in a text, which stands on the first line after `start`."""
    return answer.partition(start)[2].strip().partition("\n")[0]


def assert_same_answer(told, replayed):
    assert (
        "loss: the same bits as in the capsule\ngradients: the same bits as in the capsule\n"
        in replayed
    )
    assert "note:" not in replayed
    sentence = first_sentence(told, "repeated under a recorder:")
    assert sentence
    assert first_sentence(replayed, "gradients: the same bits as in the capsule\n") == sentence


@pytest.mark.parametrize(("how", "name"), [("guard", "step-8"), ("watch", "epoch-0-batch-7")])
def test_a_plain_loop_with_clipping_and_dropout(shell, tmp_path, how, name):
    told = shell("train.py", how, text=LOOP)
    path = os.path.join("capsules", f"{name}.gtc")
    assert f"gradtrace guard: {path} has the state before this step (" in told
    assert os.listdir(tmp_path / "capsules") == [f"{name}.gtc"]
    replayed = shell(
        "-m",
        "gradtrace",
        "replay",
        path,
        "--model",
        "train:make",
        "--step-function",
        "train:again",
        "-o",
        "replay.gt",
    )
    assert_same_answer(told, replayed)
    assert "sqrt" in replayed
    for answer in (told, replayed):
        assert re.search(r"sample 3 of .*, of 5, is not finite", answer)
    assert "sqrt" in shell("-m", "gradtrace", "stats", "replay.gt", expected=1)
    data = shell(
        "-m",
        "gradtrace",
        "replay",
        path,
        "--model",
        "train:make",
        "--step-function",
        "train:again",
        "--format",
        "json",
    )
    document = json.loads(next(line for line in data.splitlines() if line.startswith("{")))
    assert (document["schema"], document["capsule"]) == ("gradtrace/replay", path)
    assert document["same_loss"] is document["same_gradients"] is True
    assert document["notes"] == []
    assert document["answer"].strip() in replayed


@pytest.mark.parametrize("options", [["overflow"], ["overflow", "bf16"]], ids=["float32", "bf16"])
def test_a_trainer_whose_loss_is_finite_is_replayed_bit_by_bit(shell, tmp_path, options):
    pytest.importorskip("transformers"), pytest.importorskip("peft")
    told = shell("train.py", "Trainer", *options, text=TRAINER)
    replayed = shell("-m", "gradtrace", "replay", os.path.join("capsules", "step-1.gtc"))
    assert_same_answer(told, replayed)
    document = json.loads(zipfile.ZipFile(tmp_path / "capsules" / "step-1.gtc").read("record.json"))
    assert document["call"]["autocast"] == ("bfloat16" if "bf16" in options else "")
    assert math.isfinite(float.fromhex(document["results"][0]))
    assert not document["gradients"][
        1
    ]  # what the first batch added is not copied: this one is judged alone
    assert (
        len(set(document["gradient_sums"].values())) >= 4
    )  # "", zeros, infinities and a finite gradient


@pytest.mark.parametrize("options", [[], ["bf16"]], ids=["float32", "bf16"])
def test_a_trainer_with_lora_is_replayed_without_its_program(shell, tmp_path, options):
    pytest.importorskip("transformers"), pytest.importorskip("peft")
    told = shell("train.py", "Trainer", "broken", *options, text=TRAINER)
    (found,) = os.listdir(tmp_path / "capsules")
    assert re.fullmatch(r"step-\d\.gtc", found)
    (tmp_path / "train.py").rename(tmp_path / "elsewhere.py")
    replayed = shell("-m", "gradtrace", "replay", os.path.join("capsules", found))
    assert_same_answer(told, replayed)
    assert re.search(r"sample [01] of .*, of 2, is not finite", replayed)


def test_a_loss_of_the_trainers_own_is_named_and_needs_a_step(shell, tmp_path):
    pytest.importorskip("transformers"), pytest.importorskip("peft")
    shell("train.py", "OwnLoss", "overflow", text=TRAINER)
    (found,) = os.listdir(tmp_path / "capsules")
    replayed = shell("-m", "gradtrace", "replay", os.path.join("capsules", found), expected=1)
    assert "loss: other bits than in the capsule" in replayed
    assert "note: the loss was computed by __main__.OwnLoss.compute_loss" in replayed


def test_a_lightning_module_is_replayed_by_its_training_step(shell):
    pytest.importorskip("lightning")
    told = shell("train.py", text=LIGHTNING)
    path = os.path.join("capsules", "epoch-0-batch-3.gtc")
    assert f"{path} has the state before this step" in told
    replayed = shell(
        "-m", "gradtrace", "replay", path, "--model", "train:Net", "--step-function", "train:again"
    )
    assert (
        "loss: the same bits as in the capsule\ngradients: the same bits as in the capsule\n"
        in replayed
    )
    assert "sqrt" in replayed
    assert re.search(r"sample 1 of .*, of 4, is not finite", replayed)


LOSSLESS = """
import torch
import gradtrace.torch as gt

def make():
    return torch.nn.Linear(3, 1)

def step(model, batch):
    model.zero_grad()
    model(batch).square().mean().backward()

if __name__ == "__main__":
    gt.capsule("step.gtc", step, make(), torch.ones(2, 3))
"""


def test_a_step_that_returns_no_loss_is_no_failure(shell):
    shell("train.py", text=LOSSLESS)
    replayed = shell(
        "-m",
        "gradtrace",
        "replay",
        "step.gtc",
        "--model",
        "train:make",
        "--step-function",
        "train:step",
    )
    assert replayed.startswith("loss: not compared, since the capsule or the step here has no loss")
    assert "gradients: the same bits as in the capsule" in replayed
