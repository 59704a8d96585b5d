"""Optimizer: parameter groups, state per parameter, and their saving and loading.

https://pytorch.org/docs/stable/optim.html#torch.optim.Optimizer. Options that choose an
implementation (foreach, fused, capturable) are kept in the groups, as PyTorch shows them, and
change nothing here.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import update_wrapper
from itertools import chain
from typing import Any

from gradtrace.engine.data.modes import enable_grad
from gradtrace.engine.data.node import RemovableHandle, add_hook
from gradtrace.engine.data.state import state, using
from gradtrace.engine.data.tensor import Tensor
from gradtrace.lazy_names import words
from gradtrace.nn.homes import MOVED, OwnConstructor
from gradtrace.nn.modules._text import typename
from gradtrace.nn.parameter import clear_grad
from gradtrace.optim.updates import (
    Array,
    begin,
    commit,
    counter_tensor,
    gradient,
    scalar,
    with_numbers,
    zeros_like,
)

Group = dict[str, Any]
Hook = Callable[..., Any]
HOOKS = (
    "step_pre",
    "step_post",
    "state_dict_pre",
    "state_dict_post",
    "load_state_dict_pre",
    "load_state_dict_post",
)
TITLES = {"lr": "learning rate", "eps": "epsilon value"}  # of options in messages
SET_MESSAGE = (
    "optimizer parameters need to be organized in ordered collections, but the ordering of "
    "tensors in sets will change between runs. Please use a list instead."
)
DUPLICATE_WARNING = (
    "optimizer contains a parameter group with duplicate parameters; in future, this will cause "
    "an error; see github.com/pytorch/pytorch/issues/40967 for more information"
)


# PyTorch has a module for each optimiser.
MOVED.update(
    (name, f"optim.{name.lower()}")
    for name in words("ASGD Rprop Adadelta Adagrad RMSprop AdamW Adamax NAdam RAdam")
)


class _Required:
    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


def options(values: Mapping[str, Any], names: str) -> Group:
    """Return the options of a group: of `values`, the local variables of an `__init__`, those with
    these names.
    """
    return {name: values[name] for name in words(names)}


class Optimizer(OwnConstructor):
    """Base of all optimisers: `params` are tensors, (name, tensor) pairs, or dicts with `params`
    and options.
    """

    defaults: dict[str, Any]
    state: defaultdict[Any, dict[str, Any]]
    param_groups: list[Group]
    tracked = False  # a scheduler watches whether step was called
    stepped = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _hooked(cls.__dict__["step"])  # type: ignore[method-assign]

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._hooks: dict[str, OrderedDict[int, Hook]] = {kind: OrderedDict() for kind in HOOKS}
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                "but got " + typename(params)
            )
        if defaults.get("fused") and defaults.get("differentiable"):
            raise RuntimeError("`fused` does not support `differentiable`")
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def __repr__(self) -> str:
        text = type(self).__name__ + " ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            text += "".join(
                f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params"
            )
        return text + ")"

    # ---- parameters

    def add_param_group(self, param_group: Group) -> None:
        """Add parameters with their own options; missing options take the optimiser's defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params, names = _named(param_group["params"])
        param_group["params"] = params
        if names:
            param_group["param_names"] = names
        for param in params:
            if not isinstance(param, Tensor):
                raise TypeError(
                    "optimizer can only optimize Tensors, but one of the params is "
                    + typename(param)
                )
            if not (param.is_leaf or param.retains_grad or self.defaults.get("differentiable")):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    "parameter group didn't specify a value of required optimization parameter "
                    f"{name}"
                )
            param_group.setdefault(name, default)
        self._check_distinct(param_group)
        self.param_groups.append(param_group)
        state.watcher.optimises(self, params)
        state.keeper.optimises()

    def _check_distinct(self, param_group: Group) -> None:
        new = set(map(id, param_group["params"]))
        if len(new) != len(param_group["params"]):
            warnings.warn(DUPLICATE_WARNING, stacklevel=4)
        for group in self.param_groups:
            if ("param_names" in param_group) != ("param_names" in group):
                which = "with names" if "param_names" in param_group else "without names"
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param "
                    f"group {which} to the optimizer"
                )
        if not new.isdisjoint(id(p) for group in self.param_groups for p in group["params"]):
            raise ValueError("some parameters appear in more than one parameter group")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients of all parameters."""
        for group in self.param_groups:
            for param in group["params"]:
                clear_grad(param, set_to_none)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update all parameters that have a gradient; return the loss that a closure recomputes."""
        raise NotImplementedError

    # ---- hooks

    def _register(self, kind: str, hook: Hook, prepend: bool = False) -> RemovableHandle:
        handle = add_hook(self._hooks[kind], hook)
        if prepend:
            self._hooks[kind].move_to_end(handle.id, last=False)
        return handle

    def _pass_through(self, kind: str, value: dict[str, Any]) -> dict[str, Any]:
        """Return what the hooks of a kind make of a state_dict."""
        for hook in self._hooks[kind].values():
            replaced = hook(self, value)
            value = value if replaced is None else replaced
        return value

    def register_step_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Run `hook(optimizer, args, kwargs)` before step; `args[0]` is the optimiser; it may
        return new arguments.
        """
        return self._register("step_pre", hook)

    def register_step_post_hook(self, hook: Hook) -> RemovableHandle:
        """Run `hook(optimizer, args, kwargs)` after step."""
        return self._register("step_post", hook)

    def register_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Run `hook(optimizer)` before state_dict."""
        return self._register("state_dict_pre", hook, prepend)

    def register_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Run `hook(optimizer, state_dict)` after state_dict; its result replaces the
        state_dict.
        """
        return self._register("state_dict_post", hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Hook, prepend: bool = False
    ) -> RemovableHandle:
        """Run `hook(optimizer, state_dict)` before a load; its result replaces the state_dict."""
        return self._register("load_state_dict_pre", hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Hook, prepend: bool = False
    ) -> RemovableHandle:
        """Run `hook(optimizer)` after a load."""
        return self._register("load_state_dict_post", hook, prepend)

    # ---- saving and loading

    def state_dict(self) -> dict[str, Any]:
        """Return `state` by parameter index, and `param_groups` with indices in place of the
        parameters.
        """
        for hook in self._hooks["state_dict_pre"].values():
            hook(self)
        numbers: dict[int, int] = {}
        for param in chain.from_iterable(group["params"] for group in self.param_groups):
            numbers.setdefault(id(param), len(numbers))
        groups = [
            {
                **{key: value for key, value in group.items() if key != "params"},
                "params": [numbers[id(p)] for p in group["params"]],
            }
            for group in self.param_groups
        ]
        state = {numbers[id(k)] if isinstance(k, Tensor) else k: v for k, v in self.state.items()}
        return self._pass_through("state_dict_post", {"state": state, "param_groups": groups})

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the state_dict of an optimiser; raise ValueError unless its groups have the same
        sizes.
        """
        state_dict = self._pass_through("load_state_dict_pre", state_dict.copy())
        groups = self.param_groups
        saved = deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(
            len(own["params"]) != len(new["params"]) for own, new in zip(groups, saved, strict=True)
        ):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of "
                "optimizer's group"
            )
        numbers = chain.from_iterable(group["params"] for group in saved)
        params = dict(
            zip(numbers, chain.from_iterable(group["params"] for group in groups), strict=True)
        )
        self.state = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in params:
                self.state[params[key]] = _cast(params[key], value)
            else:
                self.state[key] = value
        for own, new in zip(groups, saved, strict=True):
            new["params"] = own["params"]
            if "param_names" in own:
                new.setdefault("param_names", own["param_names"])
        self.param_groups = saved
        for hook in self._hooks["load_state_dict_post"].values():
            hook(self)


def _named(params: Any) -> tuple[list[Any], list[str]]:
    """The tensors of a group and, where they come as (name, tensor), their names."""
    if isinstance(params, Tensor):
        return [params], []
    if isinstance(params, set):
        raise TypeError(SET_MESSAGE)
    listed = list(params)
    names = [p[0] for p in listed if isinstance(p, tuple)]
    if names and len(names) != len(listed):
        raise ValueError(
            "all optimizer params should be with/without names. Some param names are missing"
        )
    return [p[1] if isinstance(p, tuple) else p for p in listed], names


def _cast(param: Tensor, value: Any, key: Any = None) -> Any:
    """A loaded state value in the parameter's dtype; `step` stays as it is. Tensors keep their
    storage if they can.
    """
    if isinstance(value, Tensor):
        return (
            value if key == "step" or not param.is_floating_point() else value.to(dtype=param.dtype)
        )
    if isinstance(value, dict):
        return {k: _cast(param, v, k) for k, v in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_cast(param, v) for v in value)
    return value


def _hooked(step: Callable[..., Any]) -> Callable[..., Any]:
    """`step` with the optimiser's hooks around it."""
    if getattr(step, "hooked", False):
        return step

    def run(*args: Any, **kwargs: Any) -> Any:
        self = args[0]
        if not isinstance(self, Optimizer):
            raise TypeError(f"{typename(self)} is not an Optimizer")
        self.stepped = True
        # an optimizer around another one, which did not call this class's __init__
        if "_hooks" not in vars(self):
            return step(*args, **kwargs)
        for hook in self._hooks["step_pre"].values():
            replaced = hook(self, args, kwargs)
            if replaced is None:
                continue
            if not (isinstance(replaced, tuple) and len(replaced) == 2):
                raise RuntimeError(
                    f"{step} must return None or a tuple of (new_args, new_kwargs), but got "
                    f"{replaced}."
                )
            args, kwargs = replaced
        out = step(*args, **kwargs)
        state.watcher.stepped(self)
        state.keeper.stepped(self)
        for hook in self._hooks["step_post"].values():
            hook(self, args, kwargs)
        return out

    update_wrapper(run, step)
    run.hooked = True  # type: ignore[attr-defined]
    return run


def evaluate(closure: Callable[[], Any] | None) -> Any:
    """Call the closure with gradient recording on and return its loss; return None without a
    closure.
    """
    if closure is None:
        return None
    with enable_grad():
        return closure()


class ElementwiseOptimizer(Optimizer):
    """Base of optimisers that update each parameter separately, in `_update`.

    `_options` names the options of a group in PyTorch's order, `_checked` those that `check` looks
    at.
    """

    _options = ""
    _checked = ""

    def _set_up(self, arguments: Mapping[str, Any]) -> None:
        """Check the arguments of `__init__`, its local variables, and make the groups."""
        check(arguments, self._checked)
        super().__init__(arguments["params"], options(arguments, self._options))

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update all parameters that have a gradient; return the loss that a closure recomputes."""
        loss = evaluate(closure)
        with using(grad_enabled=bool(self.defaults["differentiable"])):
            for group in map(with_numbers, self.param_groups):
                for param in group["params"]:
                    extra = param._x
                    if extra is not None and extra.grad is not None:
                        array = begin(param)
                        commit(
                            param,
                            array,
                            self._update(param, array, gradient(param, group), group) or 1,
                        )
        return loss

    def _update(self, param: Tensor, array: Array, grad: Array, group: Group) -> Any:
        """Update a parameter's array, or in a differentiable step the parameter; return the count
        of writes or None.
        """
        raise NotImplementedError

    def _state_of(self, param: Tensor, *zeros: str, **numbers: float) -> dict[str, Any]:
        """Return a parameter's state; a new one has a step count, numbers, and zeros like the
        parameter.
        """
        state = self.state[param]
        if not state:
            state.update(
                (name, counter_tensor(value)) for name, value in {"step": 0.0, **numbers}.items()
            )
            state.update((name, zeros_like(param)) for name in zeros)
        return state


def check(values: Mapping[str, Any], names: str) -> None:
    """Raise ValueError unless the options with these names are at least 0 and the betas below 1, in
    this order.
    """
    for name in words(names):
        value = values[name]
        if name == "betas":
            for i in range(2):
                check_range(value[i], f"beta parameter at index {i}", 1.0)
            continue
        if name == "lr" and isinstance(value, Tensor) and value.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        check_range(value, TITLES.get(name, f"{name} value"))


def check_range(value: Any, label: str, upper: float = float("inf")) -> None:
    """Raise ValueError unless 0 <= value < upper."""
    if not 0.0 <= scalar(value) < upper:
        raise ValueError(f"Invalid {label}: {value}")
