"""Every function, class and method that a program can reach, with plausible arguments for a call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from gradtrace.lang import namespaces, python_modules, torch_modules, wall
from gradtrace.ops.signatures import Parameter, find_signatures

OWNERS = """
import torch, numpy as np, random
import torch.nn as nn
from torch import distributions as D
x = torch.ones(2, 2, requires_grad=True)
layer = nn.Linear(2, 2)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
normal = D.Normal(torch.zeros(2), torch.ones(2))
owners = {
    "Tensor": x, "ndarray": np.ones((2, 2)), "layer": layer, "sequence": nn.Sequential(nn.Linear(2, 2)),
    "normal": normal, "transform": D.AffineTransform(0.0, 1.0), "optimizer": optimizer, "generator": torch.Generator(),
    "rng": np.random.default_rng(0), "state": np.random.RandomState(0), "random": random.Random(0),
    "scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 1), "norm": nn.BatchNorm1d(2), "size": x.shape,
    "independent": D.Independent(normal, 1), "number": np.float64(1.0), "whole": np.int64(1), "node": (x * x).grad_fn,
    "scaler": torch.amp.GradScaler("cpu"), "modules": nn.ModuleList([layer]), "held": nn.ParameterDict(),
}
"""
TABLES = {"torch": "f", "torch.linalg": "l", "torch.special": "s", "torch.nn.functional": "n"}
# What ends, waits, never ends, or changes what all later calls do.
SKIPPED = """count cycle detect_anomaly exit fork_rng manual_seed quit repeat seed set_default_device set_default_dtype
    set_detect_anomaly set_printoptions sleep timeit""".split()  # noqa: SIM905


def is_skipped(name: str) -> bool:
    return name in SKIPPED or name.startswith("register_module_") or name in ("__new__", "__class__")


class Reached(NamedTuple):
    """A callable, the name by which a program calls it, its owner, and plausible arguments by position and by name."""

    name: str
    owner: Any
    key: str
    args: list[Any]
    named: dict[str, Any]


def by_type(torch: Any, p: Parameter) -> Any:
    """A plausible argument for a parameter of a PyTorch signature."""
    x = torch.ones(2, 2)
    plain = {"Tensor": x, "int": 1, "Number": 1.0, "float": 0.5, "bool": True, "torch.dtype": torch.float32}
    lists = {"tuple of ints": (1,), "tuple of floats": (0.5,), "tuple of Tensors": [x, x]}
    return {**plain, **lists}.get(p.type, x)


def by_name(torch: Any, name: str) -> Any:
    """A plausible argument for a parameter of which only the name is known."""
    whole = ("dim", "axis", "n", "k", "num", "size", "in_", "out_", "kernel", "stride", "padding", "num_", "shape")
    return 1 if name.startswith(whole) else torch.ones(2, 2)


def arguments(torch: Any, function: Any, table: str, name: str, bound: bool) -> tuple[list[Any], dict[str, Any]]:
    """Plausible arguments: those of PyTorch's first signature, else one for each parameter of the function."""
    known = find_signatures(table, name) if table else None
    if known is not None and known.signatures:
        parameters = known.signatures[0].parameters
        args = [by_type(torch, p) for p in parameters if not p.keyword_only]
        return args, {p.name: by_type(torch, p) for p in parameters if p.keyword_only}
    try:
        with wall.lowered():  # Python evaluates the text of a built-in's signature
            found = list(inspect.signature(getattr(function, "__wrapped__", function)).parameters.values())
    except (TypeError, ValueError):
        return [torch.ones(2, 2), torch.ones(2, 2)], {}
    found = found[1:] if bound and found and found[0].name == "self" else found
    args = [by_name(torch, p.name) for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    args += [torch.ones(2, 2) for p in found if p.kind is p.VAR_POSITIONAL]
    return args[:6], {p.name: by_name(torch, p.name) for p in found if p.kind is p.KEYWORD_ONLY}


def module_names() -> list[str]:
    """The modules of programs, one name for each of the library's."""
    first: dict[str, str] = {}
    for name, real in namespaces.LIBRARY.items():
        first.setdefault(real, name)
    others = [name for name in (*python_modules.NAMES, *torch_modules.MODULES) if name not in first.values()]
    return [*first.values(), *others]


def reached_functions(torch: Any, space: Callable[[str], Any], get: Callable[[Any, str], Any]) -> Iterator[Reached]:
    """The functions and classes of all modules."""
    for module in module_names():
        for name in sorted({*namespaces.exported_names(module), *torch_modules.MODULES.get(module, ())}):
            if is_skipped(name):
                continue
            try:
                value = get(space(module), name)
            except Exception:
                continue
            if callable(value):
                table = TABLES.get(module, "")
                yield Reached(f"{module}.{name}", space(module), name, *arguments(torch, value, table, name, False))


def reached_methods(
    torch: Any, owners: dict[str, Any], names: Callable[[Any], list[str]], get: Any
) -> Iterator[Reached]:
    """The methods of objects."""
    for title, owner in owners.items():
        for name in names(owner):
            if is_skipped(name):
                continue
            try:
                value = get(owner, name)
            except Exception:
                continue
            if callable(value) and not isinstance(value, torch.nn.Module):
                table = "m" if isinstance(owner, torch.Tensor) else ""
                yield Reached(f"{title}.{name}", owner, name, *arguments(torch, value, table, name, True))
