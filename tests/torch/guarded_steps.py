"""Shapes of training steps, for the tests of `gradtrace.torch.guard`.

A shape is a function that makes a training: it returns the step, which is called with 1.0 or, once, with 0.0 (then the
logarithm in the line marked `# bad` is -inf), and a function that returns the whole state.
"""

import concurrent.futures
import copy
import logging
import os
import tempfile
import threading
from collections import deque

import torch
import torch.utils.checkpoint
from torch import nn

SCALES = (1.0, 1.0, 1.0, 0.0, 1.0, 1.0)  # what a step is called with


def net():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 2)
    )


def of_net(model, *optimizers):
    grads = [p.grad for p in model.parameters()]
    return [model.state_dict(), grads, *(one.state_dict() for one in optimizers)]


def plain(folder):
    model = net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def step(scale):
        optimizer.zero_grad()
        loss = torch.log(model(torch.randn(6, 4)).abs() * scale).mean()  # bad
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step, lambda: of_net(model, optimizer)


def scheduler(folder):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)

    def step(scale):
        optimizer.zero_grad()
        loss = torch.log(model(torch.randn(6, 4)).abs() * scale).mean()  # bad
        loss.backward()
        optimizer.step()
        schedule.step()

    return step, lambda: [*of_net(model, optimizer), schedule.state_dict()]


def update_by_hand(folder):
    model = net()

    def step(scale):
        model.zero_grad()
        loss = torch.log(model(torch.randn(6, 4)).abs() * scale).mean()  # bad
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                p -= 0.01 * p.grad
        return loss

    return step, lambda: of_net(model)


def update_through_data(folder):
    torch.manual_seed(0)
    w = torch.randn(4, 2, requires_grad=True)

    def step(scale):
        w.grad = None
        loss = torch.log((torch.randn(6, 4) @ w).abs() * scale).mean()  # bad
        loss.backward()
        w.data -= 0.01 * w.grad.data
        return loss

    return step, lambda: [w, w.grad]


def plain_leaves(folder):
    """Their gradients add up over the steps."""
    torch.manual_seed(0)
    w, b = torch.randn(4, 2, requires_grad=True), torch.zeros(2, requires_grad=True)

    def step(scale):
        loss = torch.log((torch.randn(6, 4) @ w + b).abs() * scale).mean()  # bad
        loss.backward()
        return loss

    return step, lambda: [w, b, w.grad, b.grad]


def average(folder):
    model = net()
    slow = {name: p.detach().clone() for name, p in model.named_parameters()}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def step(scale):
        optimizer.zero_grad()
        loss = torch.log(model(torch.randn(6, 4)).abs() * scale).mean()  # bad
        loss.backward()
        optimizer.step()
        for name, p in model.named_parameters():
            slow[name].mul_(0.9).add_(p.detach(), alpha=0.1)

    return step, lambda: [*of_net(model, optimizer), slow]


def average_module(folder):
    model = net()
    slow = copy.deepcopy(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step(scale):
        optimizer.zero_grad()
        loss = torch.log(model(torch.randn(6, 4)).abs() * scale).mean()  # bad
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for old, new in zip(slow.parameters(), model.parameters(), strict=True):
                old.lerp_(new, 0.1)

    return step, lambda: [*of_net(model, optimizer), *of_net(slow)]


def hidden_state(folder):
    torch.manual_seed(0)
    cell = nn.GRUCell(3, 4)
    optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
    hidden = torch.zeros(2, 4)

    def step(scale):
        nonlocal hidden
        optimizer.zero_grad()
        hidden = cell(torch.randn(2, 3), hidden.detach())
        loss = torch.log(hidden.abs() * scale).mean()  # bad
        loss.backward()
        optimizer.step()

    return step, lambda: [*of_net(cell, optimizer), hidden]


def list_iterator(folder):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batches = iter([torch.randn(6, 4) for _ in range(20)])

    def step(scale):
        optimizer.zero_grad()
        loss = torch.log(model(next(batches)).abs() * scale).mean()  # bad
        loss.backward()
        optimizer.step()

    return step, lambda: [*of_net(model, optimizer), list(copy.copy(batches))]


def generator(folder):
    """It cannot be copied."""
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    made = []

    def endless():
        while True:
            made.append(torch.randn(6, 4))
            yield made[-1]

    batches = endless()

    def step(scale):
        optimizer.zero_grad()
        loss = torch.log(model(next(batches)).abs() * scale).mean()
        loss.backward()
        optimizer.step()
        return loss

    return step, lambda: [*of_net(model, optimizer), made]


def counters(folder):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    counts, history, number = {"steps": 0}, [], 0

    def step(scale):
        nonlocal number
        number += 1
        counts["steps"] += 1
        optimizer.zero_grad()
        output = model(torch.full((6, 4), float(number + counts["steps"])))
        loss = torch.log(output.abs() * scale).mean()  # bad
        loss.backward()
        optimizer.step()
        history.append(loss.item())

    return step, lambda: [*of_net(model, optimizer), counts, history, number]


class Trainer:
    def __init__(self):
        self.model = net()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.number = 0

    def step(self, scale):
        self.number += 1
        self.optimizer.zero_grad()
        output = self.model(torch.full((6, 4), float(self.number)))
        loss = torch.log(output.abs() * scale).mean()  # bad
        loss.backward()
        self.optimizer.step()
        return {"loss": loss}


def method(folder):
    trainer = Trainer()
    return trainer.step, lambda: [*of_net(trainer.model, trainer.optimizer), trainer.number]


def held_by_an_object(folder):
    trainer = Trainer()

    def step(scale):
        trainer.number += 1
        trainer.optimizer.zero_grad()
        output = trainer.model(torch.full((6, 4), float(trainer.number)))
        loss = torch.log(output.abs() * scale).mean()  # bad
        loss.backward()
        trainer.optimizer.step()

    return step, lambda: [*of_net(trainer.model, trainer.optimizer), trainer.number]


class Countdown(nn.Module):
    """A layer that counts its calls."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x * (self.calls != 1 + SCALES.index(0.0))


def counted_in_a_submodule(folder):
    """A layer's own counter decides about the loss."""
    model = nn.Sequential(net(), Countdown())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step(scale):
        optimizer.zero_grad()
        loss = torch.log(model(torch.randn(6, 4)).abs()).mean()  # bad
        loss.backward()
        optimizer.step()

    return step, lambda: [*of_net(model, optimizer), model[1].calls]


class Counting(nn.Sequential):
    """A model that counts its calls."""

    calls = 0

    def forward(self, x):
        self.calls += 1
        return super().forward(x) * (self.calls != 1 + SCALES.index(0.0))


def counted_in_the_model(folder):
    """The model's own counter decides about the loss."""
    model = Counting(net())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step(scale):
        optimizer.zero_grad()
        loss = torch.log(model(torch.randn(6, 4)).abs()).mean()  # bad
        loss.backward()
        optimizer.step()

    return step, lambda: [*of_net(model, optimizer), model.calls]


def closure(folder):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step(scale):
        x = torch.randn(6, 4)

        def close():
            optimizer.zero_grad()
            loss = torch.log(model(x).abs() * scale).mean()  # bad
            loss.backward()
            return loss

        return optimizer.step(close)

    return step, lambda: of_net(model, optimizer)


def lbfgs(folder):
    """The second call of the closure is the bad one: the parameters have moved."""
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=4)
    start = [0.0]

    def step(scale):
        x = torch.randn(6, 4)
        start[0] = model.weight.sum().item() if scale else start[0]

        def close():
            optimizer.zero_grad()
            part = scale if model.weight.sum().item() != start[0] else 1.0
            loss = torch.log(model(x).square() * part).mean()  # bad
            loss.backward()
            return loss

        optimizer.step(close)
        start[0] = model.weight.sum().item()

    return step, lambda: of_net(model, optimizer)


def two_updates(folder):
    """A GAN's step: the update of the discriminator is fine, the loss of the generator is not."""
    torch.manual_seed(0)
    made, judge = nn.Linear(2, 2), nn.Linear(2, 1)
    optimizers = [torch.optim.Adam(m.parameters(), lr=0.1) for m in (judge, made)]

    def step(scale):
        z = torch.randn(4, 2)
        optimizers[0].zero_grad()
        judge(made(z).detach()).mean().backward()
        optimizers[0].step()
        optimizers[1].zero_grad()
        loss = torch.log(judge(made(z)).abs() * scale).mean()  # bad
        loss.backward()
        optimizers[1].step()

    return step, lambda: [*of_net(made, optimizers[0]), *of_net(judge, optimizers[1])]


def accumulation(folder):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    calls = [0]

    def step(scale):
        calls[0] += 1
        loss = torch.log(model(torch.randn(6, 4)).abs() * scale).mean()  # bad
        loss.backward()
        if calls[0] % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()

    return step, lambda: [*of_net(model, optimizer), calls]


def scaled(folder):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)

    def step(scale):
        optimizer.zero_grad()
        loss = torch.log(model(torch.randn(6, 4)).abs() * scale).mean()  # bad
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        return loss

    return step, lambda: [*of_net(model, optimizer), scaler.state_dict()]


def writes_and_prints(folder):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    log = open(folder / "log.txt", "w")  # noqa: SIM115
    (folder / "data.txt").write_text("x" * 10_000)
    files = [open(folder / "data.txt", "rb", buffering=0)]  # noqa: SIM115
    number = 0

    def step(scale):
        nonlocal number
        number += 1
        files[0].seek(number)
        print("step", number)
        log.write(f"{number}\n")
        log.flush()
        (folder / f"{number}-{len(list(folder.iterdir()))}.txt").write_text("made")
        optimizer.zero_grad()
        loss = torch.log(model(torch.randn(6, 4)).abs() * scale).mean()  # bad
        loss.backward()
        optimizer.step()

    def state():
        written = {one.name: one.read_text() for one in sorted(folder.iterdir())}
        return [*of_net(model, optimizer), written, files[0].tell(), number]

    return step, state


def loss_alone(folder):
    """As a `training_step` of Lightning, which calls backward elsewhere."""
    model = net()

    def step(scale):
        return {"loss": torch.log(model(torch.randn(6, 4)).abs() * scale).mean()}  # bad

    return step, lambda: of_net(model)


def locks_and_logging(folder):
    model, lock = net(), threading.Lock()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step(scale):
        with lock, torch.autocast("cpu", enabled=False):
            logging.getLogger("gradtrace.test").debug("step")
            optimizer.zero_grad()
            loss = torch.log(model(torch.randn(6, 4)).abs() * scale).mean()  # bad
            loss.backward()
            optimizer.step()

    return step, lambda: [*of_net(model, optimizer), lock.locked()]


def with_handler(folder):
    """A program that catches everything."""
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    caught = []

    def step(scale):
        try:
            optimizer.zero_grad()
            loss = torch.log(model(torch.randn(6, 4)).abs() * scale).mean()  # bad
            loss.backward()
            optimizer.step()
        except BaseException as error:
            caught.append(error)
        finally:
            optimizer.zero_grad()

    return step, lambda: [*of_net(model, optimizer), caught]


def loader(folder):
    """It draws from the iterator of a DataLoader."""
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batches = iter(
        torch.utils.data.DataLoader([torch.randn(4) for _ in range(60)], batch_size=6, shuffle=True)
    )

    def step(scale):
        optimizer.zero_grad()
        loss = torch.log(model(next(batches)).abs() * scale).mean()
        loss.backward()
        optimizer.step()

    return step, lambda: [*of_net(model, optimizer), batches._num_yielded]


def epoch(folder):
    """The second of two updates is the bad one."""
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = torch.utils.data.DataLoader(
        [torch.randn(4) for _ in range(12)], batch_size=6, shuffle=True
    )

    def step(scale):
        for number, x in enumerate(data):
            optimizer.zero_grad()
            loss = torch.log(model(x).abs() * (scale if number else 1.0)).mean()  # bad
            loss.backward()
            optimizer.step()

    return step, lambda: of_net(model, optimizer)


def pool(folder):
    """A fork has no threads."""
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    workers = concurrent.futures.ThreadPoolExecutor(1)

    def step(scale):
        optimizer.zero_grad()
        x = workers.submit(torch.ones, 6, 4).result()
        loss = torch.log(model(x).abs() * scale).mean()
        loss.backward()
        optimizer.step()

    return step, lambda: of_net(model, optimizer)


class Part:
    def __init__(self, **values):
        vars(self).update(values)


def nested_objects(folder):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    run = Part(
        parts=Part(model=model, optimizer=optimizer, count=Part(number=0), recent=deque(maxlen=3))
    )

    def step(scale):
        run.parts.count.number += 1
        run.parts.recent.append(run.parts.count.number)
        run.parts.optimizer.zero_grad()
        x = torch.full((6, 4), float(sum(run.parts.recent)))
        loss = torch.log(run.parts.model(x).abs() * scale).mean()  # bad
        loss.backward()
        run.parts.optimizer.step()

    return step, lambda: [*of_net(model, optimizer), run.parts.count.number, list(run.parts.recent)]


def checkpointed(folder):
    model = net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, foreach=True)

    def step(scale):
        optimizer.zero_grad()
        hidden = torch.utils.checkpoint.checkpoint(model, torch.randn(6, 4), use_reentrant=False)
        loss = torch.log(hidden.abs() * scale).mean()  # bad
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for group in optimizer.param_groups:
            group["lr"] *= 0.9
        optimizer.step()

    return step, lambda: of_net(model, optimizer)


def saves(folder):
    """The copy of the process does not save again."""
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    counts = []

    def step(scale):
        torch.save(model.state_dict(), folder / f"{len(list(folder.iterdir()))}.pt")
        optimizer.zero_grad()
        loss = torch.log(model(torch.randn(6, 4)).abs() * scale).mean()  # bad
        loss.backward()
        optimizer.step()
        counts.append(len(list(folder.iterdir())))

    return step, lambda: [
        *of_net(model, optimizer),
        counts,
        sorted(one.name for one in folder.iterdir()),
    ]


def temporary_folder(folder):
    """The copy of the process leaves the step, but does not remove its folder; and it cannot make one."""
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    found = []

    def step(scale):
        with tempfile.TemporaryDirectory(dir=folder) as made:
            optimizer.zero_grad()
            loss = torch.log(model(torch.randn(6, 4)).abs() * scale).mean()
            loss.backward()
            optimizer.step()
            found.append(os.path.isdir(made))

    return step, lambda: [*of_net(model, optimizer), found, list(folder.iterdir())]


def turned_off_and_on(folder):
    """Parameters that require a gradient in a part of the step alone, and a mode that is set in it."""
    torch.manual_seed(0)
    made, judge = nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5), nn.Linear(2, 1))
    optimizer = torch.optim.SGD(made.parameters(), lr=0.1)

    def step(scale):
        judge.eval()
        judge.requires_grad_(False)
        optimizer.zero_grad()
        loss = torch.log(judge(made(torch.randn(4, 2))).abs() * scale).mean()  # bad
        loss.backward()
        optimizer.step()
        judge.requires_grad_(True)
        judge.train()

    modes = lambda: [judge.training, [p.requires_grad for p in judge.parameters()]]
    return step, lambda: [*of_net(made, optimizer), *of_net(judge), modes()]


def compiled(folder):
    model = net()
    fast = torch.compile(model, backend="eager")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step(scale):
        optimizer.zero_grad()
        loss = torch.log(fast(torch.randn(6, 4)).abs() * scale).mean()  # bad
        loss.backward()
        optimizer.step()

    return step, lambda: of_net(model, optimizer)


SHAPES = [
    plain,
    scheduler,
    update_by_hand,
    update_through_data,
    plain_leaves,
    average,
    average_module,
    hidden_state,
    list_iterator,
    generator,
    counters,
    method,
    held_by_an_object,
    counted_in_a_submodule,
    counted_in_the_model,
    closure,
    lbfgs,
    two_updates,
    accumulation,
    scaled,
    writes_and_prints,
    loss_alone,
    locks_and_logging,
    with_handler,
    loader,
    epoch,
    pool,
    nested_objects,
    checkpointed,
    saves,
    temporary_folder,
    turned_off_and_on,
    compiled,
]
