"""Guards in trainers and plain loops: the answer names the user's line, and nothing else of the training changes."""

import io
import os
import re

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

import gradtrace.torch as gt  # noqa: E402
from gradtrace.trace.flight_log import read  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

UPDATES, ACCUMULATED, BAD = 60, 4, 37  # the update that is planted, counted from 1
OF_TRL = {  # options of TRL's trainers
    "gradient_accumulation_steps": ACCUMULATED,
    "max_grad_norm": 1.0,
    "max_steps": UPDATES,
    "logging_steps": 1,
    "save_strategy": "no",
    "report_to": [],
    "use_cpu": True,
    "disable_tqdm": True,
    "bf16": False,
}
NEVER = -1


def loss_of(logits, x, bad):
    logits = logits - logits.detach() * bad
    return -logits.gather(-1, x[..., None]).square().log().mean()


def same(found, wanted):
    """Whether lists of tensors are equal, NaN to NaN."""
    pairs = zip(found, wanted, strict=True)
    return all(
        torch.equal(a.nan_to_num(7.0, 8.0, 9.0), b.nan_to_num(7.0, 8.0, 9.0)) for a, b in pairs
    )


def losses_in(path):
    """The steps in a flight log, and their losses."""
    with open(path, "rb") as stream:
        log = read(str(path), stream)
    return log.steps.tolist(), log.numbers[:, log.columns.index("loss")].tolist()


def assert_names_the_line(told, where):
    assert (
        f"gradtrace guard: {where}: the loss is not finite; this step was repeated under a recorder:"
        in told
    )
    assert "another loss" not in told
    assert re.search(r"log\s+(at\s+\S*test_trainers\.py:\d+|on\s+line\s+\d+)", told)
    assert "return -logits.gather" in told


# ---- transformers


def trainer_of(folder, bad=NEVER, callbacks=(), updates=UPDATES, **options):
    """A Trainer of a small Llama with LoRA; the pass with number `bad` has zeros under a logarithm."""
    transformers, peft = pytest.importorskip("transformers"), pytest.importorskip("peft")

    class WithOwnLoss(transformers.Trainer):
        passes = 0

        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            self.passes += 1
            return loss_of(model(**inputs).logits, inputs["input_ids"], self.passes == bad)

    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=32,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
    )
    lora = peft.LoraConfig(
        r=2, target_modules=["q_proj", "v_proj"], lora_dropout=0.1, task_type="CAUSAL_LM"
    )
    model = peft.get_peft_model(transformers.LlamaForCausalLM(config), lora)
    data = [{"input_ids": x} for x in torch.randint(0, 32, (updates * ACCUMULATED, 8))]
    given = {"logging_steps": 1, "save_strategy": "no", "max_steps": updates, **options}
    arguments = transformers.TrainingArguments(
        str(folder),
        per_device_train_batch_size=1,
        gradient_accumulation_steps=ACCUMULATED,
        max_grad_norm=1.0,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        remove_unused_columns=False,
        **given,
    )
    trainer = WithOwnLoss(
        model=model, args=arguments, train_dataset=data, callbacks=list(callbacks)
    )
    trainer.remove_callback(transformers.PrinterCallback)
    return trainer


def of_trainer(trainer):
    """All parameters after the training, and the logged losses."""
    losses = [torch.tensor(entry["loss"]) for entry in trainer.state.log_history if "loss" in entry]
    return [*(p.detach() for p in trainer.model.parameters()), *losses]


def trained(*args, **kwargs):
    trainer = trainer_of(*args, **kwargs)
    trainer.train()
    return of_trainer(trainer)


def guard_of_transformers(told, **options):
    pytest.importorskip("transformers")
    from gradtrace.torch.transformers import Guard

    return Guard(out=told, **options)


def test_a_class_of_trainers_with_its_own_training_step_is_guarded(tmp_path):
    """As trainers of TRL, whose training_step takes *args and calls that of Trainer."""
    told = io.StringIO()
    trainer = trainer_of(tmp_path, 6, callbacks=[guard_of_transformers(told)], updates=3)

    class Derived(type(trainer)):
        def training_step(self, *args, **kwargs):
            return super().training_step(*args, **kwargs)

    original = Derived.training_step
    trainer.__class__ = Derived
    trainer.train()
    assert_names_the_line(told.getvalue(), "step 2 of 3")
    assert "\nmodel.base_model" in told.getvalue()
    assert Derived.training_step is original


@pytest.mark.parametrize("batch", [1, ACCUMULATED])
@pytest.mark.parametrize(
    "options", [{}, {"bf16": True, "gradient_checkpointing": True}], ids=["plain", "bf16"]
)
def test_a_trainer_names_the_line(tmp_path, batch, options):
    bad, told = (BAD - 1) * ACCUMULATED + batch, io.StringIO()
    guard = guard_of_transformers(told)
    found = trained(tmp_path, bad, [guard], **options)
    assert same(found, trained(tmp_path, bad, **options))
    assert_names_the_line(told.getvalue(), f"step {BAD} of {UPDATES}")
    assert told.getvalue().endswith(
        f"training ended; step {BAD} of {UPDATES}: the loss is not finite (see above)\n"
    )
    assert guard.recorded.trace().passes


def test_a_guard_copies_no_gradient_of_an_accumulation(tmp_path):
    told = io.StringIO()
    guard = guard_of_transformers(told)
    trained(tmp_path, 6, [guard], updates=3)
    assert guard.step.before.numbers.gradients.copies.memory == []
    assert_names_the_line(told.getvalue(), "step 2 of 3")


def test_a_healthy_trainer_says_nothing_and_is_left_as_it_was(tmp_path):
    from_class = pytest.importorskip("transformers").Trainer.training_step
    told = io.StringIO()
    trainer = trainer_of(tmp_path, callbacks=[guard_of_transformers(told)])
    trainer.train()
    assert same(of_trainer(trainer), trained(tmp_path))
    assert told.getvalue() == ""
    assert "training_step" not in vars(trainer)
    assert type(trainer).training_step is from_class


def test_a_trainer_resumes_at_its_checkpoint(tmp_path):
    told, saving = io.StringIO(), {"save_strategy": "steps", "save_steps": 6, "updates": 12}
    wanted = trained(tmp_path / "plain", **saving)
    trainer = trainer_of(tmp_path / "guarded", callbacks=[guard_of_transformers(told)], **saving)
    trainer.train()
    again = trainer_of(tmp_path / "guarded", 5, callbacks=[guard_of_transformers(told)], **saving)
    again.train(resume_from_checkpoint=os.path.join(tmp_path, "guarded", "checkpoint-6"))
    assert same(of_trainer(trainer), wanted)
    assert_names_the_line(
        told.getvalue(), "step 8 of 12"
    )  # the fifth pass after six updates of four


def test_a_trainer_that_fails_is_left_as_it_was(tmp_path):
    transformers = pytest.importorskip("transformers")
    from_class, told = transformers.Trainer.training_step, io.StringIO()
    trainer = trainer_of(tmp_path, 3, callbacks=[guard_of_transformers(told)])
    inside = trainer.compute_loss

    def fails(*args, **kwargs):
        if trainer.passes == 5:
            raise ZeroDivisionError
        return inside(*args, **kwargs)

    trainer.compute_loss = fails
    with pytest.raises(ZeroDivisionError):
        trainer.train()
    assert "training failed; step 1 of 60: the loss is not finite (see above)" in told.getvalue()
    assert "training_step" not in vars(trainer)
    assert transformers.Trainer.training_step is from_class


def test_a_trainer_that_is_interrupted_between_two_steps_is_left_as_it_was(tmp_path):
    transformers = pytest.importorskip("transformers")
    told, log = io.StringIO(), tmp_path / "run.gtlog"

    class Stops(transformers.TrainerCallback):
        def on_step_end(self, args, state, control, **kwargs):
            if state.global_step == 5:
                raise KeyboardInterrupt

    trainer = trainer_of(tmp_path, 3, callbacks=[guard_of_transformers(told, flight=log), Stops()])
    with pytest.raises(KeyboardInterrupt):
        trainer.train()
    assert told.getvalue().endswith(
        "training failed; step 1 of 60: the loss is not finite (see above)\n"
    )
    assert "training_step" not in vars(trainer)
    assert losses_in(log)[0] == [1, 2, 3, 4, 5]


def test_another_trainer_is_not_guarded(tmp_path):
    told = io.StringIO()
    guard = guard_of_transformers(told)
    trained(tmp_path, NEVER, [guard], updates=2)
    trained(tmp_path, 1, updates=2)
    assert told.getvalue() == ""


def test_a_trainer_writes_a_flight_log_of_its_updates(tmp_path):
    log = tmp_path / "run.gtlog"
    guard = guard_of_transformers(io.StringIO(), flight=log)
    found = trained(tmp_path, NEVER, [guard], updates=6)
    assert same(found, trained(tmp_path, updates=6))
    steps, losses = losses_in(log)
    assert steps == [1, 2, 3, 4, 5, 6]
    assert losses == pytest.approx([x.item() for x in found[-6:]], rel=1e-3)


# ---- TRL


def tuned(folder, bad, callbacks):
    """All parameters after an SFTTrainer's training of a small Llama with LoRA, and the logged losses."""
    trl, datasets = pytest.importorskip("trl"), pytest.importorskip("datasets")
    transformers, peft = pytest.importorskip("transformers"), pytest.importorskip("peft")
    tokenizers = pytest.importorskip("tokenizers")

    class WithOwnLoss(trl.SFTTrainer):
        passes = 0

        def compute_loss(self, model, inputs, *args, **kwargs):
            self.passes += 1
            loss = super().compute_loss(model, inputs, *args, **kwargs)
            remainder = loss - loss.detach() * (self.passes == bad)
            return loss - remainder.square().log()

    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=32,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
    )
    words = tokenizers.models.WordLevel({"<pad>": 0, "</s>": 1, "<unk>": 2}, unk_token="<unk>")
    arguments = trl.SFTConfig(
        str(folder),
        per_device_train_batch_size=1,
        **OF_TRL,
        gradient_checkpointing=True,
    )
    trainer = WithOwnLoss(
        model=transformers.LlamaForCausalLM(config),
        args=arguments,
        train_dataset=datasets.Dataset.from_dict(
            {"input_ids": torch.randint(3, 32, (UPDATES * ACCUMULATED, 8)).tolist()}
        ),
        processing_class=transformers.PreTrainedTokenizerFast(
            tokenizer_object=tokenizers.Tokenizer(words),
            pad_token="<pad>",
            eos_token="</s>",
            unk_token="<unk>",
        ),
        peft_config=peft.LoraConfig(
            r=2, target_modules=["q_proj", "v_proj"], lora_dropout=0.1, task_type="CAUSAL_LM"
        ),
        callbacks=list(callbacks),
    )
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.train()
    return of_trainer(trainer)


def test_a_trainer_of_trl_names_the_line_that_its_log_hides(tmp_path):
    bad, told = (BAD - 1) * ACCUMULATED + 2, io.StringIO()
    found = tuned(tmp_path, bad, [guard_of_transformers(told)])
    assert same(found, tuned(tmp_path, bad, []))
    assert found[-UPDATES + BAD - 1].isfinite()  # the logged loss of the bad step
    text = told.getvalue()
    assert f"gradtrace guard: step {BAD} of {UPDATES}: the loss is not finite; " in text
    assert (
        re.search(r"log\s+(at|on\s+line)\s", text)
        and "return loss - remainder.square().log()" in text
    )
    assert "another loss" not in text


def test_a_healthy_trainer_of_trl_says_nothing(tmp_path):
    told = io.StringIO()
    assert same(tuned(tmp_path, NEVER, [guard_of_transformers(told)]), tuned(tmp_path, NEVER, []))
    assert told.getvalue() == ""


def rewarded(folder, bad, callbacks):
    """All parameters after a GRPOTrainer's training of a small Llama with LoRA, which generates its batches, with the
    logged losses, and whether it failed: once its parameters are NaN it can generate no more.
    """
    trl, datasets = pytest.importorskip("trl"), pytest.importorskip("datasets")
    transformers, peft = pytest.importorskip("transformers"), pytest.importorskip("peft")
    tokenizers = pytest.importorskip("tokenizers")

    class WithOwnLoss(trl.GRPOTrainer):
        passes = 0

        def compute_loss(self, model, inputs, *args, **kwargs):
            self.passes += 1
            loss = super().compute_loss(model, inputs, *args, **kwargs) + 1
            remainder = loss - loss.detach() * (self.passes == bad)
            return loss - remainder.square().log()

    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=32,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
    )
    words = {"<pad>": 0, "</s>": 1, "<unk>": 2, **{f"w{number}": number for number in range(3, 32)}}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    arguments = trl.GRPOConfig(
        str(folder),
        per_device_train_batch_size=2,
        num_generations=2,
        max_completion_length=4,
        **OF_TRL,
        gradient_checkpointing=False,
    )
    trainer = WithOwnLoss(
        model=transformers.LlamaForCausalLM(config),
        reward_funcs=lambda completions, **_: [float(len(set(one))) for one in completions],
        args=arguments,
        train_dataset=datasets.Dataset.from_dict(
            {"prompt": [f"w{3 + i % 20} w{4 + i % 9}" for i in range(64)]}
        ),
        processing_class=transformers.PreTrainedTokenizerFast(
            tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
        ),
        peft_config=peft.LoraConfig(
            r=2, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"
        ),
        callbacks=list(callbacks),
    )
    trainer.remove_callback(transformers.PrinterCallback)
    failed = False
    try:
        trainer.train()
    except RuntimeError as error:
        failed = "probability tensor" in str(error)
    return of_trainer(trainer), failed


def test_a_trainer_that_generates_its_batches_names_the_line_before_it_fails(tmp_path):
    bad, told = (BAD - 1) * ACCUMULATED + 2, io.StringIO()
    found, failed = rewarded(tmp_path, bad, [guard_of_transformers(told)])
    wanted, _ = rewarded(tmp_path, bad, [])
    assert failed and same(found, wanted)
    text = told.getvalue()
    assert f"gradtrace guard: step {BAD} of {UPDATES}: the loss is not finite; " in text
    assert (
        re.search(r"log\s+(at|on\s+line)\s", text)
        and "return loss - remainder.square().log()" in text
    )
    assert "another loss" not in text and "sample" not in text
    assert text.endswith(
        f"training failed; step {BAD} of {UPDATES}: the loss is not finite (see above)\n"
    )


def test_a_healthy_trainer_that_generates_its_batches_says_nothing(tmp_path):
    told = io.StringIO()
    found, failed = rewarded(tmp_path, NEVER, [guard_of_transformers(told)])
    assert same(found, rewarded(tmp_path, NEVER, [])[0])
    assert not failed and told.getvalue() == ""


# ---- Lightning


def fitted(bad, manual, callbacks):
    """The state of a LightningModule after training, with the loss of each batch."""
    lightning = pytest.importorskip("lightning")

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Embedding(32, 8), nn.Dropout(0.2), nn.Linear(8, 32))
            self.automatic_optimization = not manual
            self.passes = 0
            self.losses = []

        def training_step(self, batch, batch_idx):
            self.passes += 1
            loss = loss_of(self.net(batch), batch, self.passes == bad)
            self.losses.append(loss.detach())
            if manual:
                self.update(loss, batch_idx)
            return loss

        def update(self, loss, batch_idx):
            optimizer = self.optimizers()
            self.manual_backward(loss / ACCUMULATED)
            if (batch_idx + 1) % ACCUMULATED == 0:
                self.clip_gradients(
                    optimizer, gradient_clip_val=1.0, gradient_clip_algorithm="norm"
                )
                optimizer.step()
                optimizer.zero_grad()

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), lr=0.01)

    torch.manual_seed(0)
    module = Module()
    loader = torch.utils.data.DataLoader(
        torch.randint(0, 32, (UPDATES * ACCUMULATED * 2, 8)), 2, shuffle=True
    )
    options = {} if manual else {"accumulate_grad_batches": ACCUMULATED, "gradient_clip_val": 1.0}
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    trainer = lightning.Trainer(
        max_epochs=1,
        accelerator="cpu",
        enable_model_summary=False,
        callbacks=callbacks,
        **quiet,
        **options,
    )
    trainer.fit(module, loader)
    loop = trainer.fit_loop.epoch_loop
    assert "run" not in vars(loop.automatic_optimization) and "run" not in vars(
        loop.manual_optimization
    )
    return [*module.state_dict().values(), *module.losses]


def guard_of_lightning(told, **options):
    pytest.importorskip("lightning")
    from gradtrace.torch.lightning import Guard

    return Guard(out=told, **options)


@pytest.mark.parametrize("manual", [False, True], ids=["automatic", "manual"])
@pytest.mark.parametrize("batch", [1, ACCUMULATED])
def test_lightning_names_the_line(manual, batch):
    bad, told = (BAD - 1) * ACCUMULATED + batch, io.StringIO()
    found = fitted(bad, manual, [guard_of_lightning(told)])
    assert same(found, fitted(bad, manual, []))
    text = told.getvalue()
    assert f"gradtrace guard: epoch 0, batch {bad - 1}: " in text
    assert "another loss" not in text
    assert re.search(r"log\s+(at|on\s+line)\s", text) and "return -logits.gather" in text
    assert "training ended; epoch 0" in text


@pytest.mark.parametrize("manual", [False, True], ids=["automatic", "manual"])
def test_a_healthy_fit_says_nothing(manual):
    told = io.StringIO()
    assert same(fitted(NEVER, manual, [guard_of_lightning(told)]), fitted(NEVER, manual, []))
    assert told.getvalue() == ""


@pytest.mark.parametrize("manual", [False, True], ids=["automatic", "manual"])
def test_lightning_writes_a_flight_log_of_its_updates(tmp_path, manual):
    log = tmp_path / "run.gtlog"
    found = fitted(NEVER, manual, [guard_of_lightning(io.StringIO(), flight=log)])
    assert same(found, fitted(NEVER, manual, []))
    steps, noted = losses_in(log)
    assert steps == list(range(1, UPDATES + 1))
    losses = torch.stack(found[-UPDATES * ACCUMULATED :]).reshape(UPDATES, ACCUMULATED).mean(1)
    assert noted == pytest.approx(losses.tolist(), rel=1e-5)


# ---- plain loops, also with accelerate


def looped(bad, watched, told, accumulated=1, accelerated=False):
    """Train in a plain loop; the state afterwards, with the loss of each batch, and the guard if there is one."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(32, 8), nn.Dropout(0.2), nn.Linear(8, 32))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    numbers = torch.arange(UPDATES * accumulated)
    batches = torch.utils.data.TensorDataset(torch.randint(0, 32, (len(numbers), 8)), numbers)
    loader = torch.utils.data.DataLoader(batches, shuffle=True)
    losses = []
    if accelerated:
        accelerator = pytest.importorskip("accelerate").Accelerator(
            cpu=True, gradient_accumulation_steps=accumulated
        )
        model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
        passes = gt.watch(loader, model, optimizer, accelerator, out=told) if watched else loader
    else:
        passes = gt.watch(loader, model, optimizer, scheduler, out=told) if watched else loader
    assert len(passes) == len(loader)
    for x, number in passes:
        if accelerated:
            with accelerator.accumulate(model):
                loss = loss_of(model(x), x, number.item() == bad)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
        else:
            optimizer.zero_grad()
            loss = loss_of(model(x), x, number.item() == bad)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
        losses.append(loss.detach())
    return [*model.state_dict().values(), *losses, torch.get_rng_state()], passes


KINDS = pytest.mark.parametrize(
    "options", [{}, {"accumulated": ACCUMULATED, "accelerated": True}], ids=["plain", "accelerate"]
)


@KINDS
@pytest.mark.parametrize("bad", range(7, 11))
def test_a_loop_names_the_line(options, bad):
    told = io.StringIO()
    found, passes = looped(bad, True, told, **options)
    assert same(found, looped(bad, False, told, **options)[0])
    text = told.getvalue()
    assert ": a gradient is not finite; this step was repeated under a recorder:" in text
    assert "another loss" not in text
    assert "model.0.weight.grad is not finite" in text
    assert re.search(r"log\s+(at|on\s+line)\s", text) and "return -logits.gather" in text
    assert passes.guard.recorded.trace().passes


@KINDS
def test_a_healthy_loop_says_nothing(options):
    told = io.StringIO()
    assert same(looped(NEVER, True, told, **options)[0], looped(NEVER, False, told, **options)[0])
    assert told.getvalue() == ""


@pytest.mark.parametrize(
    ("leaves", "said"),
    [
        ("in its repetition", "repeating the step failed: it left the loop"),
        ("after the fault", "repeating this step in a copy of the process ended early"),
    ],
)
def test_a_loop_that_is_left_in_a_copy_of_the_process_ends_it(leaves, said):
    told = io.StringIO()
    w = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    pid, seen = os.getpid(), []
    for x in gt.watch([1.0, 0.0, 2.0], optimizer, out=told):
        optimizer.zero_grad()
        seen.append(x)
        if leaves == "in its repetition" and seen.count(0.0) == 2:
            break
        (w * x).sqrt().sum().backward()
        optimizer.step()
        if leaves == "after the fault" and x == 0.0 and os.getpid() != pid:
            break
    assert os.getpid() == pid
    assert seen == [1.0, 0.0, 2.0]
    assert "epoch 0, batch 1: a gradient is not finite; " in told.getvalue()
    assert said in told.getvalue()


def batches_with_nan():
    data = [torch.ones(4, 3) for _ in range(3)]
    data[1][2, 1] = float("nan")
    return data


@pytest.mark.parametrize("is_drawn", [False, True])
def test_a_batch_has_the_name_of_the_loop_s_variable(is_drawn):
    told, model = io.StringIO(), nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = gt.watch(batches_with_nan(), model, optimizer, out=told)
    for x in (x for x in batches) if is_drawn else batches:
        optimizer.zero_grad()
        model(x).mean().backward()
        optimizer.step()
    answer = " ".join(told.getvalue().split())
    assert "row 2 of x already holds nan" in answer, answer
    assert "x = torch.nan_to_num(x)" in answer, answer


class Trained:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(3, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def fit(self, watched):
        for x in watched(self):
            self.optimizer.zero_grad()
            self.model(x).mean().backward()
            self.optimizer.step()


def test_objects_have_the_names_of_attributes_also_for_a_helper():
    told = io.StringIO()

    def watched(one):
        return gt.watch(batches_with_nan(), one.model, one.optimizer, out=told)

    def helped(one):
        def passes(loader, *objects):
            return gt.watch(loader, *objects, out=told)

        net = one.model
        return passes(batches_with_nan(), net, one.optimizer)

    Trained().fit(watched)
    assert "one.model.0.weight.grad" in told.getvalue(), told.getvalue()
    Trained().fit(helped)
    assert "net.0.weight.grad" in told.getvalue(), told.getvalue()


def test_a_step_by_hand_is_restored():
    told, w = io.StringIO(), torch.ones(1, requires_grad=True)
    for x in gt.watch([1.0, 2.0, 0.0], w, out=told):
        w.grad = None
        (w * x).sqrt().sum().backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
    assert "sqrt on line" in told.getvalue()
    assert "another loss" not in told.getvalue() and "not known" not in told.getvalue()


def test_a_flight_never_raises_into_a_trainer(tmp_path):
    from gradtrace.torch.trainer_flight import TrainerFlight

    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    flight = TrainerFlight(tmp_path / "run.gtlog", model, optimizer, None, False)
    for loss in (0.5, {"loss": 0.25}, {"loss": "?"}, None, torch.tensor(1.0)):
        flight.batch(loss)
    flight.step()
    flight.recorder.step = lambda *_: 1 / 0
    with pytest.warns(UserWarning, match="the flight recorder has stopped: ZeroDivisionError"):
        flight.step()
    flight.step()
    flight.close()


@pytest.mark.parametrize(
    ("limit", "batches"), [(1, ["epoch 1, batch 2"]), (2, ["epoch 1, batch 2", "epoch 2, batch 2"])]
)
def test_a_guard_for_each_epoch_goes_on_with_that_before(limit, batches):
    model, told = nn.Linear(2, 1), io.StringIO()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    loader = torch.utils.data.DataLoader(torch.rand(8, 2), batch_size=2)
    for epoch in range(3):
        for number, x in enumerate(gt.watch(loader, model, optimizer, out=told, limit=limit)):
            bad = epoch > 0 and number == 2
            optimizer.zero_grad()
            (model(x) * (float("nan") if bad else 1.0)).sum().backward()
            optimizer.step()
    assert re.findall(r"epoch \d, batch \d", told.getvalue()) == batches


def test_another_model_over_the_same_loader_has_a_guard_of_its_own():
    loader, told = torch.utils.data.DataLoader(torch.rand(8, 2), batch_size=2), io.StringIO()
    for _ in range(2):
        model = nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for number, x in enumerate(gt.watch(loader, model, optimizer, out=told)):
            optimizer.zero_grad()
            (model(x) * (float("nan") if number == 2 else 1.0)).sum().backward()
            optimizer.step()
    assert re.findall(r"epoch \d, batch \d", told.getvalue()) == ["epoch 0, batch 2"] * 2


def test_a_watched_iterator_that_is_held_ends_its_pass_when_another_begins():
    model, told = nn.Linear(2, 1), io.StringIO()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    loader = gt.watch([torch.ones(1, 2)] * 6, model, optimizer, out=told)
    held = iter(loader)
    for _ in range(3):
        next(held)
    for number, x in enumerate(loader):
        optimizer.zero_grad()
        out = model(x).square().sum()
        (torch.sqrt(out * 0) if number == 4 else out).backward()
        optimizer.step()
    assert "epoch 1, batch 4: a gradient is not finite; this step was repeated" in told.getvalue()
    assert not loader.guard.running
