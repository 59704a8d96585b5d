"""The state_dict of a Module (a flat, ordered mapping from dotted names to tensors), and its
loading.

https://pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.load_state_dict
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from gradtrace.engine.data.modes import no_grad
from gradtrace.engine.data.node import RemovableHandle, add_hook
from gradtrace.engine.data.tensor import Tensor
from gradtrace.nn.parameter import Parameter, is_lazy

EXTRA_STATE_KEY = "_extra_state"
NO_EXTRA_STATE = (
    "Reached a code path in Module.{}() that should never be called. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug."
)


class IncompatibleKeys(NamedTuple):
    """The missing and unexpected keys that load_state_dict returns."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return (
            f"_IncompatibleKeys(missing_keys={self.missing_keys!r}, "
            f"unexpected_keys={self.unexpected_keys!r})"
        )


class Problems(NamedTuple):
    """The problems that one call of load_state_dict has found so far."""

    missing: list[str]
    unexpected: list[str]
    errors: list[str]


class Stateful:
    """Mixin of Module that saves and loads its parameters and persistent buffers."""

    _version: int = 1
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _state_dict_hooks: dict[int, Callable[..., Any]]
    _state_dict_pre_hooks: dict[int, Callable[..., Any]]
    _load_state_dict_pre_hooks: dict[int, Callable[..., Any]]
    _load_state_dict_post_hooks: dict[int, Callable[..., Any]]

    # ---- hooks

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Run `hook(module, prefix, keep_vars)` before the state_dict is created."""
        return add_hook(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Run `hook(module, state_dict, prefix, local_metadata)`, which may change the state_dict
        in place.
        """
        return add_hook(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Run `hook(module, state_dict, prefix, metadata, strict, missing, unexpected, errors)`
        before a load.
        """
        return add_hook(self._load_state_dict_pre_hooks, hook)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        """Run `hook` before a load as `register_load_state_dict_pre_hook` does, without the module
        unless asked.
        """
        called = hook if with_module else lambda module, *args: hook(*args)
        return add_hook(self._load_state_dict_pre_hooks, called)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Run `hook(module, incompatible_keys)` after a load; it may change the keys in place."""
        return add_hook(self._load_state_dict_post_hooks, hook)

    # ---- extra state

    def get_extra_state(self) -> Any:
        """Return additional state for the state_dict; override in subclasses."""
        raise RuntimeError(NO_EXTRA_STATE.format("get_extra_state"))

    def set_extra_state(self, state: Any) -> None:
        """Restore the state from get_extra_state; override in subclasses."""
        raise RuntimeError(NO_EXTRA_STATE.format("set_extra_state"))

    def _overrides(self, name: str) -> bool:
        return getattr(type(self), name) is not getattr(Stateful, name)

    # ---- saving

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> Any:
        """Return all parameters and persistent buffers by dotted name, detached (unless
        `keep_vars`) but not copied.
        """
        if args and destination is None:
            destination = args[0]
        if len(args) > 1 and prefix == "":
            prefix = args[1]
        if len(args) > 2 and keep_vars is False:
            keep_vars = args[2]
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        for hook in self._state_dict_hooks.values():
            if hook(self, destination, prefix, metadata) is not None:
                raise RuntimeError("state_dict post-hook must return None")
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, tensor in self._local_state():
            destination[prefix + name] = tensor if keep_vars or is_lazy(tensor) else tensor.detach()
        if self._overrides("get_extra_state"):
            destination[prefix + EXTRA_STATE_KEY] = self.get_extra_state()

    def _local_state(self) -> Iterator[tuple[str, Tensor]]:
        """Yield this module's own parameters and persistent buffers."""
        for name, param in self._parameters.items():
            if param is not None:
                yield name, param
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                yield name, buffer

    # ---- loading

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Any:
        """Copy the tensors of `state_dict` into this module and its descendants (or assign them,
        with `assign`).

        Raises RuntimeError for wrong shapes and, if `strict`, for missing and unexpected keys.
        Returns both lists of keys.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None)
        problems = Problems([], [], [])
        _load(self, OrderedDict(state_dict), "", metadata, assign, problems)
        errors = list(problems.errors)
        if strict:
            lists = (("Unexpected", problems.unexpected), ("Missing", problems.missing))
            for kind, keys in lists:
                quoted = ", ".join(f'"{key}"' for key in keys)
                if keys:
                    errors.insert(0, f"{kind} key(s) in state_dict: {quoted}. ")
        if errors:
            joined = "\n\t".join(errors)
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{joined}"
            )
        return IncompatibleKeys(problems.missing, problems.unexpected)

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load this module's own tensors, not its children's; subclasses may override it."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(
                self,
                state_dict,
                prefix,
                local_metadata,
                strict,
                missing_keys,
                unexpected_keys,
                error_msgs,
            )
        local = dict(self._local_state())
        for name, tensor in local.items():
            key = prefix + name
            if key in state_dict:
                error = _load_tensor(
                    self, name, tensor, state_dict[key], key, bool(local_metadata.get("assign"))
                )
                if error is not None:
                    error_msgs.append(error)
            elif strict:
                missing_keys.append(key)
        self._load_extra_state(
            state_dict, prefix + EXTRA_STATE_KEY, strict, missing_keys, unexpected_keys
        )
        if strict:
            unexpected_keys.extend(_unexpected(self, state_dict, prefix, local))

    def _load_extra_state(
        self,
        state_dict: dict[str, Any],
        key: str,
        strict: bool,
        missing: list[str],
        unexpected: list[str],
    ) -> None:
        if self._overrides("set_extra_state"):
            if key in state_dict:
                self.set_extra_state(state_dict[key])
            elif strict:
                missing.append(key)
        elif strict and key in state_dict:
            unexpected.append(key)


def _load(
    module: Any, state_dict: Any, prefix: str, metadata: Any, assign: bool, problems: Problems
) -> None:
    """Load a module and its descendants, whose keys begin with `prefix`; add to `problems`."""
    local_metadata = dict({} if metadata is None else metadata.get(prefix[:-1], {}), assign=assign)
    module._load_from_state_dict(
        state_dict,
        prefix,
        local_metadata,
        True,
        problems.missing,
        problems.unexpected,
        problems.errors,
    )
    for name, child in module._modules.items():
        if child is None:
            continue
        child_prefix = f"{prefix}{name}."
        child_state = OrderedDict(
            (key, value) for key, value in state_dict.items() if key.startswith(child_prefix)
        )
        _load(child, child_state, child_prefix, metadata, assign, problems)
    keys = IncompatibleKeys(problems.missing, problems.unexpected)
    for hook in module._load_state_dict_post_hooks.values():
        if hook(module, keys) is not None:
            raise AssertionError(
                "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to "
                "return new values, if incompatible_keys need to be modified, it should be done "
                "inplace."
            )


def _load_tensor(
    module: Any, name: str, tensor: Any, saved: Any, key: str, assign: bool
) -> str | None:
    """Load one tensor; return a description of the problem, or None."""
    if not isinstance(saved, Tensor):
        return (
            f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like '
            f"object from checkpoint but received {type(saved)}"
        )
    lazy = is_lazy(tensor)
    if not lazy and tensor.ndim == 0 and tuple(saved.shape) == (1,):
        saved = saved.select(0, 0)
    if not lazy and saved.shape != tensor.shape:
        return (
            f"size mismatch for {key}: copying a param with shape {saved.shape} from checkpoint, "
            f"the shape in current model is {tensor.shape}."
        )
    with no_grad():
        if not assign:
            tensor.copy_(saved)
            return None
        if isinstance(tensor, Parameter):
            if not isinstance(saved, Parameter):
                saved = Parameter(saved, requires_grad=tensor.requires_grad)
            saved.requires_grad_(tensor.requires_grad)
        setattr(module, name, saved)
    return None


def _unexpected(
    module: Any, state_dict: dict[str, Any], prefix: str, local: dict[str, Tensor]
) -> Iterator[str]:
    """Yield the keys with this prefix that name neither a tensor in `local` nor a child's entry."""
    for key in state_dict:
        if not key.startswith(prefix) or key == prefix + EXTRA_STATE_KEY:
            continue
        first, dot, _ = key[len(prefix) :].partition(".")
        if first not in (module._modules if dot else local):
            yield key
