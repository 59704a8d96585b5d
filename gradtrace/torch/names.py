"""Name tensors and modules: by variables, by modules' parameters, by assignments in the text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType, NoneType
from typing import TYPE_CHECKING, Any

import torch

from gradtrace.lang import syntax as ast
from gradtrace.torch import private
from gradtrace.torch.events import Entry
from gradtrace.torch.places import tree_of
from gradtrace.trace.failed import dotted

if TYPE_CHECKING:
    from gradtrace.torch.places import SpanTable
    from gradtrace.torch.recorder import Recorder

Module = torch.nn.Module
EMPTY = frozenset(
    [ModuleType, FunctionType, BuiltinFunctionType, MethodType, type, int, float, str, bool, bytes, NoneType]
)
HOLDERS = frozenset([list, tuple, dict])


def bind(rec: Recorder, env: Mapping[str, Any]) -> dict[int, str]:
    """Name the tensors that variables hold, and return the paths of modules by id()."""
    later: list[tuple[str, Any]] = []
    paths: dict[int, str] = {}
    for name, value in env.items():
        kind = type(value)
        if kind in EMPTY or (name[0] == "_" and is_no_name(name)):
            continue
        if isinstance(value, torch.Tensor):
            give(rec, name, value)
        elif kind in HOLDERS or hasattr(value, "__dict__"):
            later.append((name, value))
    seen: list[tuple[str, Any]] = []
    later.sort(key=lambda one: not isinstance(one[1], Module))  # a layer's name is the one that its model gives
    for name, value in later:
        modules = list(modules_of(name, value))
        seen += modules
        for path, module in modules:
            paths.setdefault(id(module), path)
        for key, tensor in held(name, value, modules):
            give(rec, key, tensor, only_first=True)
    if any(entry.is_parameter and entry.last and not entry.names for entry in rec.entries):
        for path, module in seen:
            try:
                name_unregistered(rec, path, module, paths)
            except Exception as error:  # an attribute that cannot be read
                rec.problem(f"what {path} holds in lists and dicts ({type(error).__name__})")
    return paths


def name_unregistered(rec: Recorder, path: str, module: Any, paths: dict[int, str]) -> None:
    """Name the parameters that a module holds in plain lists and dicts, where parameters() does not find them."""
    for attribute, value in vars(module).items():
        if type(value) not in HOLDERS or str(attribute).startswith("_"):
            continue
        items = value.items() if isinstance(value, dict) else enumerate(value[:1000])
        for key, one in list(items)[:1000]:
            if issubclass(type(one), torch.Tensor) and one.requires_grad:
                give(rec, f"{path}.{attribute}[{key!r}]", one, only_first=True)
            elif issubclass(type(one), Module) and id(one) not in paths:
                inner = list(modules_of(f"{path}.{attribute}[{key!r}]", one))
                for below, part in inner:
                    paths.setdefault(id(part), below)
                for name, tensor in parameters_of(inner):
                    give(rec, name, tensor, only_first=True)


def is_no_name(name: str) -> bool:
    """Whether a variable with an underscore at its start is Python's own, or IPython's `_12` for a cell's output."""
    return name.startswith("__") or name[1:].isdigit()


def give(rec: Recorder, name: str, tensor: Any, only_first: bool = False) -> None:
    if not rec.is_of_this_run(tensor):
        return
    entry = rec.entry(tensor)
    if not (only_first and entry.names) and name not in entry.names:
        entry.names.append(name)


def modules_of(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Return the modules that a variable holds, with their paths; of a plain object, also those in its attributes."""
    if isinstance(value, Module):
        for path, module in value.named_modules():
            yield (f"{name}.{path}" if path else name), module
    elif not isinstance(value, type) and type(value).__module__ not in ("builtins", "torch"):
        attributes = getattr(value, "__dict__", None)
        if isinstance(attributes, dict) and type(value).__name__ != "module":
            for key, inner in attributes.items():
                if isinstance(inner, Module):
                    for path, module in inner.named_modules():
                        yield (f"{name}.{key}.{path}" if path else f"{name}.{key}"), module


def held(name: str, value: Any, modules: list[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Return the tensors in a list, in a dict or in the modules that a variable holds."""
    if isinstance(value, (list, tuple)):
        for i, one in enumerate(value[:1000]):
            if isinstance(one, torch.Tensor):
                yield f"{name}[{i}]", one
            elif isinstance(one, Module):
                yield from parameters_of(list(modules_of(f"{name}[{i}]", one)))
    elif isinstance(value, dict):
        yield from [
            (f"{name}[{key!r}]", one) for key, one in list(value.items())[:1000] if isinstance(one, torch.Tensor)
        ]
    else:
        yield from parameters_of(modules)


def parameters_of(modules: list[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    for path, module in modules:
        for key, tensor in private.own_parameters(module):
            if tensor is not None and not torch.nn.parameter.is_lazy(tensor):
                yield f"{path}.{key}", tensor


def assigned(spans: SpanTable) -> dict[tuple[str, int, int, int, int], str]:
    """Return the variable that each assigned expression is assigned to, by the expression's file and span."""
    found: dict[tuple[str, int, int, int, int], str] = {}
    for file, text in (("", spans.text), *spans.files):
        tree = tree_of(text)
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                target = node.targets[0]
            elif isinstance(node, (ast.AnnAssign, ast.AugAssign)):
                target = node.target
            else:
                continue
            value = node.value if not isinstance(node, ast.AugAssign) else node
            if value is None or not isinstance(target, (ast.Name, ast.Attribute)):
                continue
            name = dotted(target)
            if name:
                found[file, value.lineno, value.col_offset, value.end_lineno or 0, value.end_col_offset or 0] = name
    return found


def gradients(entries: list[Entry]) -> dict[int, str]:
    """Return the name ("w.grad") of each named tensor's gradient, by the gradient's id()."""
    found: dict[int, str] = {}
    for entry in entries:
        tensor = entry.tensor.ref() if entry.names else None
        gradient = None if tensor is None else private.kept_gradient(tensor)
        if gradient is not None:
            found[id(gradient)] = f"{entry.names[0]}.grad"
    return found
