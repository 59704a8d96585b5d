"""`flight()`: a flight recorder, which keeps the numbers of the last training steps in a file of
bounded size.

    with gt.flight("run.gtlog", model, optimizer) as flight:
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            flight.step(loss)

`gradtrace stats run.gtlog` shows the file, also while training goes on and after the process was
killed.

Norms are computed on the device before and after each update and read every few steps, in one
transfer for each device (`every`): no step waits for the device. An update is measured on at most
4,096 elements of each parameter, at equal distances, so that no parameter is copied whole.
"""

from __future__ import annotations

import itertools
import os
import time
import warnings
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import numpy
import torch

from gradtrace.torch import private
from gradtrace.torch.flight_groups import NONE, Groups, HeldParameters, read
from gradtrace.torch.recording import name_for, rank
from gradtrace.torch.repetition import with_closure
from gradtrace.trace.flight_log import NOT_NOTED, TIME, FlightWriter, not_noted, rows_within

MEGABYTES = 32
MOMENTS = ("exp_avg", "exp_avg_sq")


def measuring(work: private.F) -> private.F:
    """Return a method that computes without gradients, unseen by the modes of the program."""
    return private.modeless(torch.no_grad()(work))


class flight:
    """Record the loss, learning rates, and by module the norms of gradients, parameters and
    updates, step by step.

    `path` is the file, which is continued if it is there; of several processes each writes its own:
    run.rank0.gtlog, or with the rank in place of {rank}. `optimizer` is one optimizer or several.
    The numbers are read from the device and written every `every` steps; as many are lost if the
    process is killed. The file grows to at most `megabytes`, then the newest step replaces the
    oldest. Columns of the file:

        time                seconds since 1970
        loss                what `step` gets
        loss scale          of the `scaler`, a GradScaler, at the steps where the numbers are read
        lr, lr 1, ...       of each group of parameters
        grad NAME           norm of the gradients of a module's parameters, as the optimizer's step
                            sees them
        weight NAME         norm of the parameters before the step, estimated from the sample that
                            measures the update
        update NAME         norm of the step's change of the parameters, divided by `weight` unless
                            this is 0
        exp_avg NAME        norms of Adam's moments, at the steps where the numbers are read
        output NAME         largest absolute element of the module's output, with `outputs=True`

    Modules are joined by the beginning of their names until there are at most 64. `parameters` is a
    pattern, or several, such as "*.attn.*weight" or "*": each parameter whose name matches has
    columns of its own, and is left out of its module's. The gradients of
    a step that a GradScaler skipped, or of parameters that the step did not reach, are not noted.
    `log` also passes the numbers on, every `every` steps: a SummaryWriter, or an object with
    `log(dict, step)` (Weights & Biases, a tracker of accelerate) or `log_metrics(dict, step)` (a
    logger of Lightning, MLflow).

    ValueError if the file is another model's, or no parameter of the optimizer is the model's.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        model: torch.nn.Module,
        optimizer: Any,
        *,
        every: int = 20,
        megabytes: float = MEGABYTES,
        scaler: Any = None,
        outputs: bool = False,
        parameters: str | Sequence[str] = (),
        log: Any = None,
    ) -> None:
        if every < 1 or megabytes <= 0:
            raise ValueError("every and megabytes must be positive")
        optimizers = list(optimizer) if isinstance(optimizer, (list, tuple)) else [optimizer]
        # accelerate's wrapper has no hooks
        self.optimizers = [getattr(optimizer, "optimizer", optimizer) for optimizer in optimizers]
        patterns = [parameters] if isinstance(parameters, str) else list(parameters)
        self.groups = private.modeless(Groups)(model, self.optimizers, patterns)
        self.every = every
        self.scaler = scaler
        self.log = log
        count = sum(len(optimizer.param_groups) for optimizer in self.optimizers)
        self.has_moments = any(
            isinstance(optimizer, (torch.optim.Adam, torch.optim.AdamW))
            for optimizer in self.optimizers
        )
        parts = [
            "grad",
            "weight",
            "update",
            *(MOMENTS if self.has_moments else ()),
            *(["output"] if outputs else ()),
        ]
        self.rates = ["lr", *(f"lr {i}" for i in range(1, count))]
        scale = ["loss scale"] if scaler is not None else []
        self.columns = (
            TIME,
            "loss",
            *scale,
            *self.rates,
            *(f"{part} {n}" for part in parts for n in self.groups.names),
        )
        rows = rows_within(self.columns, int(megabytes * 1e6))
        self.writer: FlightWriter | None = FlightWriter(
            name_for(path, rank()), self.columns, rows, rank(), self.groups.shares
        )
        self.waiting: list[tuple[float, Any, list[float], StepNumbers]] = []
        self.now = StepNumbers()
        self.before: list[tuple[HeldParameters, Any]] = []  # samples of the parameters
        self.handles = [
            optimizer.register_step_pre_hook(self._before) for optimizer in self.optimizers
        ]
        self.handles += [
            optimizer.register_step_post_hook(self._after) for optimizer in self.optimizers
        ]
        if outputs:
            self.handles += [
                module.register_forward_hook(self._output_hook(i))
                for i, module in self.groups.modules(model)
            ]

    def __enter__(self) -> flight:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def steps(self) -> int:
        """The number of the last step, counted over all runs that wrote the file."""
        return len(self.waiting) + (self.writer.last if self.writer is not None else 0)

    def step(self, loss: Any = None, number: int | None = None) -> None:
        """End a training step; `loss` is a number or a tensor of one element. `number` is the
        step's number, from 1, if training was taken up again at another step than the file's last.
        """
        if number is not None and number < 1:
            raise ValueError("steps are counted from 1")
        if self.writer is None:
            return
        if number is not None and number != self.steps + 1:
            self.flush()
            self.writer.last = number - 1
        self._note(loss)
        if len(self.waiting) >= self.every:
            self.flush()

    @measuring
    def _note(self, loss: Any) -> None:
        """Note the loss and the learning rates of a step."""
        if isinstance(loss, torch.Tensor):
            loss = loss.detach().clone()
        # load_state_dict replaces the groups, so they are read at each step; those that were added
        # later have no column
        rates = [
            float(group["lr"]) for optimizer in self.optimizers for group in optimizer.param_groups
        ]
        self.waiting.append((time.time(), loss, rates[: len(self.rates)], self.now))
        self.now = StepNumbers()

    def flush(self) -> None:
        """Read the numbers of the steps since the last time from the device, and write them."""
        if self.writer is None or not self.waiting:
            return
        waiting = self.waiting
        self.waiting = []
        first = self.writer.last + 1
        table = self._table(waiting)
        try:
            self.writer.append(first, table)
        except OSError as error:
            warnings.warn(
                f"the flight log has ended: {error.strerror}; training goes on", stacklevel=2
            )
            self.close()
            return
        if self.log is not None:
            for i, row in enumerate(table):
                self._pass_on(first + i, row)

    def close(self) -> None:
        """Write what is left, close the file, and take the hooks off. May be called again."""
        for handle in self.handles:
            handle.remove()
        self.handles = []
        if self.writer is not None:
            writer = self.writer
            try:
                self.flush()
            finally:
                self.writer = None
                writer.close()

    # ---- hooks

    def _before(self, optimizer: Any, args: Any, kwargs: Any) -> Any:
        """Sample the parameters, and measure the gradients that an update will use: after a
        closure, if it has one.
        """
        self._sample(optimizer)
        replaced = with_closure(args, kwargs, lambda closure: self._measured(optimizer, closure))
        if replaced is None:
            self._gradients(optimizer)
        return replaced

    @measuring
    def _sample(self, optimizer: Any) -> None:
        self.before = [(part, part.sample()) for part in self.groups.of(optimizer)]

    def _measured(self, optimizer: Any, closure: Any) -> Any:
        """Return a closure after whose first call the gradients are measured. LBFGS calls it
        several times.
        """
        calls = itertools.count()

        def closed(*args: Any, **kwargs: Any) -> Any:
            loss = closure(*args, **kwargs)
            if not next(calls):
                self._gradients(optimizer)
            return loss

        return closed

    @measuring
    def _gradients(self, optimizer: Any) -> None:
        """Measure the gradients of an optimizer's parameters."""
        for part in self.groups.of(optimizer):
            norms = part.norms([p.grad for p in part.parameters])
            # set by a GradScaler: the fused step unscales and skips by itself
            if hasattr(optimizer, "found_inf"):
                scale = (
                    1.0 if optimizer.grad_scale is None else optimizer.grad_scale.to(norms.device)
                )
                is_skipped = optimizer.found_inf.to(norms.device) > 0
                norms = torch.where((norms < 0) | is_skipped, NONE, norms / scale)
            self.now.grads.append((part, norms))

    @measuring
    def _after(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        for part, old in self.before:
            change = part.sample() - old
            part.views = []
            parts = [*old.split(part.sizes), *change.split(part.sizes)]
            self.now.updates.append((part, torch.stack(private.norms(parts, part.wide))))
        self.before = []

    def _output_hook(self, group: int) -> Any:
        def hook(module: Any, args: Any, output: Any) -> None:
            if torch.is_grad_enabled() and isinstance(output, torch.Tensor):
                self._output(group, output)

        return hook

    @measuring
    def _output(self, group: int, output: Any) -> None:
        if output.is_floating_point() and output.numel():
            self.now.outputs.append((group, output.detach().abs().amax().double()))

    # ---- rows

    @measuring
    def _table(self, waiting: Sequence[tuple[float, Any, list[float], StepNumbers]]) -> Any:
        """Return the rows of some steps as an array."""
        count = len(waiting)
        groups = len(self.groups.names)
        losses = numbers_of([loss for _, loss, _, _ in waiting])
        heads = [numpy.array([[t, loss] for (t, *_), loss in zip(waiting, losses, strict=True)])]
        if self.scaler is not None:
            scale = not_noted(count, 1)
            scale[-1] = float(self.scaler.get_scale())
            heads.append(scale)
        heads.append(numpy.array([rates for _, _, rates, _ in waiting]).reshape(count, -1))
        measured = [numbers for *_, numbers in waiting]
        grads, _ = self.groups.joined([numbers.grads for numbers in measured])
        weights, changes = self.groups.joined([numbers.updates for numbers in measured])
        with numpy.errstate(divide="ignore", invalid="ignore"):
            blocks = [grads, weights, numpy.where(weights > 0, changes / weights, changes)]
        if self.has_moments:
            for moment in MOMENTS:
                block = not_noted(count, groups)
                block[-1:], _ = self.groups.joined([self._moments(moment)])
                blocks.append(block)
        if len(self.columns) > sum(block.shape[1] for block in (*heads, *blocks)):
            blocks.append(largest([numbers.outputs for numbers in measured], groups))
        return numpy.concatenate([*heads, *blocks], 1)

    def _moments(self, name: str) -> list[tuple[HeldParameters, Any]]:
        return [
            (part, part.norms([optimizer.state.get(p, {}).get(name) for p in part.parameters]))
            for optimizer in self.optimizers
            for part in self.groups.of(optimizer)
        ]

    def _pass_on(self, number: int, row: Any) -> None:
        """Give the known numbers of a step to `log`."""
        noted = row.view(numpy.uint64) != NOT_NOTED
        numbers = {
            n: float(x)
            for n, x, there in zip(self.columns[1:], row[1:], noted[1:], strict=True)
            if there
        }
        if hasattr(self.log, "add_scalar"):
            for name, x in numbers.items():
                self.log.add_scalar(name.replace(" ", "/", 1), x, number)
        elif hasattr(self.log, "log_metrics"):
            self.log.log_metrics(numbers, step=number)
        else:
            self.log.log(numbers, step=number)


class StepNumbers:
    """The norms of one step, on their devices: tensors with a number for each parameter of a
    HeldParameters.
    """

    __slots__ = ("grads", "outputs", "updates")

    def __init__(self) -> None:
        self.grads: list[tuple[HeldParameters, Any]] = []
        self.updates: list[
            tuple[HeldParameters, Any]
        ] = []  # the norms of samples before an update, then those of the changes
        self.outputs: list[tuple[int, Any]] = []


def numbers_of(losses: Sequence[Any]) -> list[float]:
    """Return losses as numbers."""
    tensors = [loss.reshape(-1)[:1] for loss in losses if isinstance(loss, torch.Tensor)]
    values = iter(read(tensors)) if tensors else iter(())

    def number(loss: Any) -> float:
        if isinstance(loss, torch.Tensor):
            return next(values)[0]
        return not_noted(1)[0] if loss is None else float(loss)

    return list(map(number, losses))


def largest(outputs: Sequence[Sequence[tuple[int, Any]]], groups: int) -> Any:
    """Return the largest output of each group at each step."""
    block = not_noted(len(outputs), groups)
    places = [(i, group) for i, some in enumerate(outputs) for group, _ in some]
    values = read([output.reshape(1) for some in outputs for _, output in some])
    for (step, group), value in zip(places, values, strict=True):
        before = block[step, group]
        block[step, group] = (
            value[0] if before.view(numpy.uint64) == NOT_NOTED else numpy.maximum(before, value[0])
        )
    return block
