"""A guarded Accelerator: the answer names the user's line, and nothing else of the training changes."""

import gc
import io
import os
import signal
import weakref

import pytest

torch = pytest.importorskip("torch")
accelerate = pytest.importorskip("accelerate")
from torch import nn  # noqa: E402

import gradtrace.torch as gt  # noqa: E402
from gradtrace.errors import UsageError  # noqa: E402
from tests.torch.test_trainers import (  # noqa: E402
    ACCUMULATED,
    BAD,
    NEVER,
    UPDATES,
    assert_names_the_line,
    loss_of,
    losses_in,
    same,
)  # fmt: skip

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def own_gradient_state():
    """Let go of what all accelerators of a process share: whether a loop has ended within an accumulation."""
    yield
    accelerate.state.GradientState._reset_state()


class Training:
    """A loop with accumulation and clipping. The batch with number `bad` has zeros under a logarithm."""

    def __init__(self, bad=NEVER, precision="no", scaler=None, is_guarded=True, **options):
        accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)
        torch.manual_seed(0)
        self.bad, self.told, self.losses = bad, io.StringIO(), []
        accelerator = accelerate.Accelerator(
            cpu=True, gradient_accumulation_steps=ACCUMULATED, mixed_precision=precision
        )
        accelerator.scaler = scaler
        if is_guarded:
            accelerator = gt.accelerate.guarded(accelerator, out=self.told, **options)
        model = nn.Sequential(nn.Embedding(32, 8), nn.Dropout(0.2), nn.Linear(8, 32))
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
        numbers = torch.arange(UPDATES * ACCUMULATED)
        data = torch.utils.data.TensorDataset(torch.randint(0, 32, (len(numbers), 8)), numbers)
        self.accelerator = accelerator
        self.model, self.optimizer, self.loader, self.scheduler = accelerator.prepare(
            model, optimizer, torch.utils.data.DataLoader(data, shuffle=False), scheduler
        )

    def run(self, loader=None, last=None):
        accelerator, model, optimizer = self.accelerator, self.model, self.optimizer
        for x, number in loader or self.loader:
            with accelerator.accumulate(model):
                loss = loss_of(model(x).float(), x, number.item() == self.bad)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                self.scheduler.step()
                optimizer.zero_grad()
            self.losses.append(loss.detach())
            if number.item() == last:
                break
        return self

    @property
    def text(self):
        return self.told.getvalue()

    def state(self):
        return [*self.model.state_dict().values(), *self.losses, torch.get_rng_state()]


@pytest.mark.parametrize("precision", ["no", "bf16"])
@pytest.mark.parametrize("batch", [0, ACCUMULATED - 1])
def test_the_line_is_named_and_nothing_else_changes(precision, batch):
    bad = (BAD - 1) * ACCUMULATED + batch
    found = Training(bad, precision).run()
    assert same(found.state(), Training(bad, precision, is_guarded=False).run().state())
    assert_names_the_line(found.text, f"epoch 0, batch {bad}")
    assert "model.0.weight" in found.text
    found.accelerator.end_training()
    assert found.text.endswith(
        f"gradtrace guard: training ended; epoch 0, batch {bad}: the loss is not finite (see above)\n"
    )
    assert found.accelerator.guard.recorded.trace().passes


@pytest.mark.parametrize("precision", ["no", "bf16"])
def test_a_healthy_training_says_nothing(precision):
    found = Training(precision=precision).run()
    assert same(found.state(), Training(precision=precision, is_guarded=False).run().state())
    found.accelerator.end_training()
    assert found.text == ""


def test_a_loss_is_seen_beside_a_scaler_that_skips_infinite_gradients():
    def scaler():
        return torch.amp.GradScaler("cpu", init_scale=2.0**10)

    bad = BAD * ACCUMULATED + 1
    found = Training(bad, scaler=scaler()).run()
    assert same(found.state(), Training(bad, scaler=scaler(), is_guarded=False).run().state())
    assert_names_the_line(found.text, f"epoch 0, batch {bad}")
    # gradients that overflow alone are the scaler's own matter
    assert Training(scaler=torch.amp.GradScaler("cpu", init_scale=2.0**127)).run().text == ""


def test_a_loader_is_still_one_of_accelerate():
    loader = Training().loader
    assert isinstance(loader, accelerate.data_loader.DataLoaderShard)
    assert isinstance(loader, torch.utils.data.DataLoader)
    assert type(loader).__name__ == "DataLoaderShard"
    assert len(loader) == UPDATES * ACCUMULATED
    assert loader.total_batch_size == 1


def test_a_training_resumes_at_its_checkpoint(tmp_path):
    stopped = Training().run(last=23)
    stopped.accelerator.save_state(tmp_path)
    again = Training(bad=30)
    again.accelerator.load_state(tmp_path)
    again.run(again.accelerator.skip_first_batches(again.loader, 24))
    assert_names_the_line(again.text, "epoch 0, batch 30")
    plain = Training(bad=30, is_guarded=False)
    plain.accelerator.load_state(tmp_path)
    plain.run(plain.accelerator.skip_first_batches(plain.loader, 24))
    assert same(again.state(), plain.state())


def test_an_evaluation_is_not_guarded():
    training = Training()
    training.model.eval()
    for x, _ in training.loader:
        training.model(x)
        training.model[2].weight.grad = torch.full_like(training.model[2].weight, float("nan"))
    assert training.text == ""
    assert training.accelerator.guard.epoch == -1


def test_an_evaluation_within_a_step_is_not_counted():
    training = Training(bad=50)
    inner = training.accelerator.prepare(torch.utils.data.DataLoader(torch.arange(4)))
    guard, seen = training.accelerator.guard, []
    original = training.accelerator.backward

    def backward(loss):
        original(loss)
        seen.extend(inner)

    training.accelerator.backward = backward
    training.run(last=60)
    assert len(seen) == 4 * 61
    assert (guard.epoch, guard.number) == (0, 60)
    assert_names_the_line(training.text, "epoch 0, batch 50")


def test_a_flight_log_has_a_row_for_each_update(tmp_path):
    log = tmp_path / "run.gtlog"
    found = Training(flight=log).run()
    assert same(found.state(), Training(is_guarded=False).run().state())
    steps, noted = losses_in(log)
    assert steps == list(range(1, UPDATES + 1))
    assert noted == pytest.approx(
        torch.stack(found.losses).reshape(UPDATES, -1).mean(1).tolist(), rel=1e-5
    )


def test_a_capsule_is_replayed(tmp_path):
    bad = 5 * ACCUMULATED + 2
    found = Training(bad, capsule=tmp_path).run()
    assert "has the state before this step" in found.text
    again = gt.replay(
        tmp_path / f"epoch-0-batch-{bad}.gtc", a_pass, lambda: Training(is_guarded=False).model
    )
    assert again[1:4] == (True, True, [])
    assert "log at" in " ".join(again.answer.split())


def a_pass(model, batch):
    x, number = batch
    loss = loss_of(model(x).float(), x, number.item() == 5 * ACCUMULATED + 2) / ACCUMULATED
    loss.backward()
    return loss


def bias_is_bad(model, batch):
    x, number = batch
    loss = loss_of(model(x).float(), x, False)
    if (
        number.item() == 6
    ):  # the derivative of sqrt at 0: only the gradient of one bias is not finite
        loss = loss + torch.sqrt(model[2].bias.sum() * 0)
    return loss


def a_pass_with_a_bad_bias(model, batch):
    loss = bias_is_bad(model, batch) / ACCUMULATED
    loss.backward()
    return loss


def test_gradients_of_earlier_batches_are_not_copied_and_the_capsule_has_those_of_its_own(tmp_path):
    training = Training(capsule=tmp_path)
    accelerator, model = training.accelerator, training.model
    for batch in training.loader:
        with accelerator.accumulate(model):
            accelerator.backward(bias_is_bad(model, batch))
            training.optimizer.step()
            training.optimizer.zero_grad()
        if batch[1].item() == 7:
            break
    assert (
        "has the gradients of this batch alone, without those of the batches before it"
        in training.text
    )
    assert "sqrt on line" in training.text and "another loss" not in training.text
    make = lambda: Training(is_guarded=False).model
    again = gt.replay(tmp_path / "epoch-0-batch-6.gtc", a_pass_with_a_bad_bias, make)
    assert again[1:4] == (True, True, [])


def test_gradients_that_the_update_has_discarded_are_known_to_be_sums():
    training = Training()
    accelerator, model = training.accelerator, training.model
    for batch in training.loader:
        with accelerator.accumulate(model):
            loss = bias_is_bad(model, (batch[0], batch[1] - 1))  # the last batch of an update
            accelerator.backward(loss)
            training.optimizer.step()
            training.optimizer.zero_grad()
        if batch[1].item() == 11:
            break
    assert "epoch 0, batch 7: " in training.text and "sqrt on line" in training.text
    assert (
        "has the gradients of this batch alone" in training.text
        and "another loss" not in training.text
    )


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
@pytest.mark.parametrize("squashed", [False, True])
def test_a_batch_that_is_not_finite_is_named_before_any_operation(value, squashed):
    told, data = io.StringIO(), torch.randn(24, 5)
    data[14, 3] = float(value)
    accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)
    accelerator = gt.accelerate.guarded(
        accelerate.Accelerator(cpu=True, gradient_accumulation_steps=2), out=told
    )
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 8), nn.Tanh() if squashed else nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    model, optimizer, loader = accelerator.prepare(
        model, optimizer, torch.utils.data.DataLoader(data, 4)
    )
    for x in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(x).square().mean())
            optimizer.step()
            optimizer.zero_grad()
    answer = " ".join(told.getvalue().split())
    assert "epoch 0, batch 3: " in answer and "another loss" not in answer
    assert "row 2 of x" in answer and "derivative" not in answer


@pytest.mark.parametrize("is_noisy", [False, True])
def test_a_step_that_discards_older_gradients_is_compared_in_full(is_noisy):
    training, factor = Training(), iter(range(1, 100))
    accelerator, model = training.accelerator, training.model
    for batch in training.loader:
        training.optimizer.zero_grad()
        loss = bias_is_bad(model, batch)
        if is_noisy:
            accelerator.backward(loss * next(factor))
        else:
            accelerator.backward(loss)
        training.optimizer.step()
        if batch[1].item() == 7:
            break
    assert "gradients of this batch alone" not in training.text and "sqrt on line" in training.text
    assert ("another loss or other gradients" in training.text) is is_noisy


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="this system has no such signal")
def test_a_signal_asks_for_a_capsule(tmp_path):
    former = signal.getsignal(signal.SIGUSR1)
    try:
        gt.capsule("now", on=signal.SIGUSR1)
        training = Training(capsule=tmp_path)
        os.kill(os.getpid(), signal.SIGUSR1)
        training.run(last=3)
    finally:
        signal.signal(signal.SIGUSR1, former)
    assert [one.name for one in tmp_path.iterdir()] == ["epoch-0-batch-0.gtc"]


def test_only_an_accelerator_is_guarded_and_once():
    with pytest.raises(
        UsageError, match="a Linear has no prepare_model, so it is not an Accelerator"
    ):
        gt.accelerate.guarded(nn.Linear(1, 1))
    with pytest.raises(UsageError, match="this accelerator has a guard"):
        gt.accelerate.guarded(Training().accelerator)


def test_losses_of_other_loops_are_not_kept():
    training = Training()
    training.run([(torch.zeros(1, 8, dtype=torch.long), torch.tensor(0))] * 5)
    assert training.accelerator.guard.losses == []
    training.run(last=3)
    assert training.accelerator.guard.losses == []


def test_memory_that_is_freed_is_not_kept_and_the_next_training_is_guarded(tmp_path):
    training = Training(flight=tmp_path / "run.gtlog").run(last=3)
    known = weakref.ref(training.model)
    accelerator, told = training.accelerator, training.told
    training.model, training.optimizer, training.loader, training.scheduler = (
        accelerator.free_memory(
            training.model, training.optimizer, training.loader, training.scheduler
        )
    )
    gc.collect()
    assert known() is None
    again = Training(is_guarded=False)
    training.model, training.optimizer, training.loader, training.scheduler = accelerator.prepare(
        again.model, again.optimizer, again.loader, again.scheduler
    )
    training.bad = 5
    training.run(last=8)
    assert_names_the_line(told.getvalue(), "epoch 1, batch 5")


@pytest.mark.parametrize("options", [{}, {"num_batches": 24}], ids=["positions", "names"])
def test_batches_are_counted_from_those_that_were_skipped(options):
    training = Training(bad=30)
    skip, loader = training.accelerator.skip_first_batches, training.loader
    training.run(skip(dataloader=loader, **options) if options else skip(loader, 24))
    assert_names_the_line(training.text, "epoch 0, batch 30")


def test_an_iterator_that_is_held_does_not_give_its_place_to_the_next_loop():
    training = Training(bad=5)
    held = iter(training.loader)
    for _ in range(3):
        next(held)
    training.run(last=8)
    assert_names_the_line(training.text, "epoch 1, batch 5")
    assert next(held)[1].item() == 3
