"""functional_call: call a module with replaced parameters and buffers; stack_module_state for
ensembles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gradtrace.engine import Tensor
from gradtrace.func.pytree import torch_function
from gradtrace.nn.modules._text import typename
from gradtrace.nn.modules.batchnorm import _BatchNorm
from gradtrace.nn.modules.module import Module

Tensors = dict[str, Any]


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Tensors | Sequence[Tensors],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call `module` with the given tensors in place of those with the same dotted names
    (torch.func.functional_call).

    The module's other tensors are used unchanged; with `strict` every tensor must be given. With
    `tie_weights` a tensor that has several names in the module is replaced under all of them.
    """
    tensors = _merged(parameter_and_buffer_dicts)
    _check_tensors(module, tensors)
    if isinstance(args, tuple):
        arguments = args
    else:
        arguments = () if args is None else (args,)
    wanted = _with_tied_names(module, tensors) if tie_weights else dict(tensors)
    if strict:
        _check_names(module, wanted)
    before = list(_places(module, wanted))
    for place, name, _, path in before:
        place[name] = wanted[path]
    try:
        return module(*arguments, **(kwargs or {}))
    finally:
        for place, name, own, path in before:
            if path in tensors:
                tensors[path] = place[name]
            place[name] = own


def _merged(dicts: Any) -> Tensors:
    if isinstance(dicts, dict):
        return dicts
    if not isinstance(dicts, Sequence):
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(dicts)}"
        )
    if not all(isinstance(d, dict) for d in dicts):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    names = [name for d in dicts for name in d]
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if repeated:
        raise ValueError(
            f"{repeated} appeared in multiple dictionaries; behavior of functional call is "
            "ambiguous"
        )
    return {name: tensor for d in dicts for name, tensor in d.items()}


def _check_tensors(module: Any, tensors: Tensors) -> None:
    if not isinstance(module, Module):
        raise TypeError(f"{typename(module)} is not a Module")
    for path, value in tensors.items():
        parent, _, name = path.rpartition(".")
        owner = _owner(module, parent)
        if not name:
            raise KeyError('tensor name can\'t be empty string ""')
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(f"{value} is not an instance of torch.Tensor")
        own = getattr(owner, name, None)
        if own is not None and not isinstance(own, Tensor):
            raise TypeError(f"attribute `{name}`: {own} is not an instance of torch.Tensor")


def _owner(module: Any, path: str) -> Any:
    for name in path.split(".") if path else ():
        if not hasattr(module, name):
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        child = getattr(module, name)
        if not hasattr(child, "_parameters"):
            raise TypeError(f"submodule `{name}`: {child} is not an instance of torch.nn.Module")
        module = child
    return module


def _named_tensors(module: Any) -> Tensors:
    return {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }


def _with_tied_names(module: Any, tensors: Tensors) -> Tensors:
    """Return the tensors under all names of what they replace."""
    names_of: dict[int, list[str]] = {}
    own = _named_tensors(module)
    for name, tensor in own.items():
        names_of.setdefault(id(tensor), []).append(name)
    wanted = dict(tensors)
    for name, tensor in tensors.items():
        tied = names_of.get(id(own.get(name)), [name])
        if len({id(tensors[alias]) for alias in tied if alias in tensors}) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(tied)}, which are tied. "
                "Consider using tie_weights=False"
            )
        wanted.update((alias, tensor) for alias in tied)
    return wanted


def _check_names(module: Any, tensors: Tensors) -> None:
    own = _named_tensors(module)
    lists = (
        ("Unexpected", sorted(set(tensors) - set(own))),
        ("Missing", sorted(set(own) - set(tensors))),
    )
    errors = [f"{kind} key(s): {', '.join(map(repr, names))}." for kind, names in lists if names]
    if errors:
        joined = "\n\t".join(errors)
        raise RuntimeError(f"Error(s) in reparametrizing for {type(module).__name__}:\n\t{joined}")


def _places(module: Any, tensors: Tensors) -> Iterator[tuple[Tensors, str, Any, str]]:
    """Yield for each tensor the owning dict, the name in it, the current value, and the dotted
    name.
    """
    for path in tensors:
        parent, _, name = path.rpartition(".")
        try:
            owner = module.get_submodule(parent)
        except AttributeError:
            continue
        for place in (owner._parameters, owner._buffers):
            if name in place:
                yield place, name, place[name], path


def stack_module_state(models: Any) -> tuple[Tensors, Tensors]:
    """Stack the parameters and the buffers of models of one class along a new first dimension."""
    if len(models) == 0:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({model.training for model in models}) > 1:
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval mode."
        )
    if len({type(model) for model in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    return (
        _stacked([dict(model.named_parameters()) for model in models]),
        _stacked([dict(model.named_buffers()) for model in models]),
    )


def _stacked(states: list[Tensors]) -> Tensors:
    stacked = {}
    for name in states[0]:
        tensors = [state[name] for state in states]
        flags = {t.requires_grad for t in tensors}
        if len(flags) > 1:
            raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
        result = torch_function("stack")(tensors)
        stacked[name] = result.detach().requires_grad_() if flags == {True} else result
    return stacked


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Remove the running statistics of every batch norm in `root` in place, so that vmap can run
    it; return root.
    """
    for module in root.modules():
        if isinstance(module, _BatchNorm) and module.track_running_stats:
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
