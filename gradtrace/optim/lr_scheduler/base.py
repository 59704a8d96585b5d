"""LRScheduler: sets the learning rate of every parameter group, one step per epoch.

https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate
"""

from __future__ import annotations

import warnings
from typing import Any

from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor
from gradtrace.nn.homes import OwnConstructor, home
from gradtrace.nn.modules._text import typename
from gradtrace.optim.optimizer import Optimizer

EPOCH_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where "
    "possible. Please use `scheduler.step()` to step the scheduler. During the deprecation, if "
    "epoch is different from None, the closed form is used instead of the new chainable form, "
    "where available. Please open an issue if you are unable to replicate your use case: "
    "https://github.com/pytorch/pytorch/issues/new/choose."
)
ORDER_WARNING = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and "
    "later, you should call them in the opposite order: `optimizer.step()` before "
    "`lr_scheduler.step()`.  Failure to do this will result in PyTorch skipping the first value "
    "of the learning rate schedule. See more details at "
    "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
)
GET_LR_WARNING = (
    "To get the last learning rate computed by the scheduler, please use `get_last_lr()`."
)
NO_INITIAL_LR = (
    "param 'initial_lr' is not specified in param_groups[{}] when resuming scheduler with "
    "last_epoch >= 0.\nThis typically happens when:\n1. You're trying to resume training from a "
    "checkpoint but haven't properly loaded the optimizer state\n2. You're using last_epoch >= 0 "
    "for a fresh training run (not recommended)"
)


def warn(message: str) -> None:
    warnings.warn(message, stacklevel=3)


def group_values(optimizer: Optimizer, key: str) -> list[Any]:
    """Return the values of an option in all groups; tensors are copied."""
    values = (group[key] for group in optimizer.param_groups)
    return [value.clone() if isinstance(value, Tensor) else value for value in values]


def set_value(group: dict[str, Any], key: str, value: Any) -> None:
    """Set an option; a tensor option is updated in place."""
    if isinstance(group[key], Tensor):
        group[key].fill_(value.item() if isinstance(value, Tensor) else value)
    else:
        group[key] = value


def per_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """Return `value` for each group: a list of the right length, or one value for all."""
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} "
            f"values, param_groups has {count}."
        )
    return list(value)


def require_optimizer(optimizer: Any) -> Optimizer:
    """Return the optimiser; raise TypeError for an object of another class."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
    return optimizer


def check_field(owner: str, name: str, old: Any, new: Any) -> None:
    """Raise TypeError if a state dict has another kind of value than data for a field that holds
    data.
    """
    if is_data(old) and not is_data(new):
        raise TypeError(
            f"{owner}.load_state_dict(): {name} must hold numbers, strings or tensors, not "
            f"{typename(new)}"
        )


def is_data(value: Any) -> bool:
    """Whether a value consists of numbers, strings, tensors and containers only."""
    if isinstance(value, dict):
        return all(is_data(item) for pair in value.items() for item in pair)
    if isinstance(value, (list, tuple)):
        return all(map(is_data, value))
    return value is None or isinstance(value, (bool, int, float, str, Tensor))


def saved_attributes(function: Any) -> dict[str, Any] | None:
    """Return the attributes of a callable object of the user's; None for functions and objects of
    the library.
    """
    return dict(vars(function)) if has_attributes(function) else None


def load_attributes(function: Any, saved: dict[str, Any] | None) -> None:
    """Set the attributes of a callable object that `saved_attributes` returned."""
    if saved is not None and has_attributes(function):
        vars(function).update(saved)


def has_attributes(function: Any) -> bool:
    # Functions and classes, which have a __qualname__, have no state to save.
    return not hasattr(function, "__qualname__") and hasattr(function, "__dict__")


class LRScheduler(OwnConstructor):
    """Base class of schedules; subclasses implement `get_lr`, which returns the rates of epoch
    `last_epoch`.
    """

    _get_lr_called_within_step = False
    _is_initial = False
    optimizer: Any
    last_epoch: int
    base_lrs: list[Any]
    _step_count: int
    _last_lr: list[Any]

    def __init__(self, optimizer: Any, last_epoch: int = -1) -> None:
        self.optimizer = require_optimizer(optimizer)
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                lr = group["lr"]
                group.setdefault("initial_lr", lr.clone() if isinstance(lr, Tensor) else lr)
            elif "initial_lr" not in group:
                raise KeyError(NO_INITIAL_LR.format(i))
        self.base_lrs = group_values(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        if not optimizer.tracked:
            optimizer.tracked = True
            optimizer.stepped = False
        state.watcher.scheduled(self, ())
        self._initial_step()

    def __repr__(self) -> str:
        return f"<{home(type(self))} object at {id(self):#x}>"

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def get_lr(self) -> list[Any]:
        """Return the rates of epoch `last_epoch`, one per group."""
        raise NotImplementedError

    def get_last_lr(self) -> list[Any]:
        """Return the rates set by the last step."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Advance to the next epoch (or to `epoch`) and set its rates."""
        self._announce_step()
        if self._step_count == 1 and not self.optimizer.stepped:
            warn(ORDER_WARNING)
        self._step_count += 1
        if epoch is not None:
            warn(EPOCH_WARNING)
        self._update_lr(epoch)

    def _announce_step(self) -> None:
        if not self._is_initial:
            state.watcher.schedule_stepped(self)

    def _update_lr(self, epoch: int | None = None) -> None:
        if epoch is None:
            self.last_epoch += 1
            compute = self.get_lr
        else:
            self.last_epoch = epoch
            compute = getattr(self, "_get_closed_form_lr", self.get_lr)
        self._set_rates(compute)

    def _set_rates(self, compute: Any) -> None:
        self._get_lr_called_within_step = True
        try:
            values = compute()
        finally:
            self._get_lr_called_within_step = False
        for group, lr in zip(self.optimizer.param_groups, values, strict=True):
            set_value(group, "lr", lr)
        self._last_lr = self._current()

    def _check_called_within_step(self) -> None:
        if not self._get_lr_called_within_step:
            warn(GET_LR_WARNING)

    def _current(self) -> list[Any]:
        """Return the current rates."""
        return group_values(self.optimizer, "lr")

    def _scaled(self, factor: float) -> list[Any]:
        """Return the current rates times `factor`."""
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """Return the state without the optimiser."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load what `state_dict` returned for a schedule of this class; TypeError for a value that
        is not data.
        """
        self._load_fields(state_dict)

    def _load_fields(self, state_dict: dict[str, Any], *excluded: str) -> None:
        """Set the fields of this schedule from a state dict, except `excluded`; ignore keys that
        belong to its class.
        """
        for key, value in state_dict.items():
            if type(key) is not str or key == "optimizer" or key in excluded:
                continue
            if key in vars(self):
                check_field(type(self).__name__, key, vars(self)[key], value)
                setattr(self, key, value)
            elif not key.startswith("_") and not hasattr(type(self), key):
                setattr(self, key, value)
