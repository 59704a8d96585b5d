"""Name tensors and modules: by variables, by modules' parameters, by assignments in the text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType, NoneType
from typing import TYPE_CHECKING, Any

import torch

from gradtrace.program import syntax as ast
from gradtrace.torch import private, sharded
from gradtrace.torch.events import Entry
from gradtrace.torch.patches import EAGER
from gradtrace.torch.places import tree_of
from gradtrace.trace.events import is_tied
from gradtrace.trace.failed import dotted
from gradtrace.trace.holders import held_by, items_of
from gradtrace.trace.record import BufferRecord

if TYPE_CHECKING:
    from gradtrace.torch.places import SpanTable
    from gradtrace.torch.recorder import Recorder

Module = torch.nn.Module
Parameter = torch.nn.Parameter
NAMELESS = (ModuleType, FunctionType, BuiltinFunctionType, MethodType, type, int, float, str, bool, bytes, NoneType)
EMPTY = frozenset(map(id, NAMELESS))
HOLDERS = frozenset([list, tuple, dict])
FLATTENED = "the parameters of FSDP1 (FullyShardedDataParallel); those of FSDP2 (fully_shard) can be read"


def bind(rec: Recorder, env: Mapping[str, Any]) -> dict[int, str]:
    """Name the tensors that variables hold, and return the paths of modules by id()."""
    modules: list[tuple[str, Any]] = []
    others: list[tuple[str, Any]] = []
    for name, value in env.items():
        kind = type(value)
        if id(kind) in EMPTY or (name[0] == "_" and is_no_name(name)):
            continue
        if issubclass(kind, torch.Tensor):
            give(rec, name, value)
        else:
            (modules if is_module(value) else others).append((name, value))
    held = list(held_by(others, lambda one: is_module(one) or issubclass(type(one), torch.Tensor)))
    paths: dict[int, str] = {}
    seen: list[tuple[str, Any]] = []
    shared: list[tuple[str, Any]] = []
    known: set[int] = set()  # in what other variables hold
    roots: list[tuple[str, Any, set[int]]] = [(name, module, set()) for name, module in modules]
    roots += [(path, one, known) for path, one, _ in held if is_module(one)]
    for root, module, before in roots:  # a layer's name is the one that its model gives it
        inner = list(modules_of(root, module, before))
        seen += inner
        for path, one in inner:
            paths.setdefault(id(one), path)
        note_buffers(rec, inner)
        if sharded.is_any_flattened(inner):
            rec.problem(FLATTENED)
        tensors = list(parameters_of(inner))
        shared += tensors
        for key, tensor in tensors:
            give(rec, key, sharded.whole(rec, tensor), only_first=True, of_module=True)
    direct = {id(value) for _, value in others if issubclass(type(value), (list, tuple, dict))}
    for path, one, holder in held:
        if not is_module(one) and (id(holder) in direct or (one.requires_grad and one.is_leaf)):
            give(rec, path, sharded.whole(rec, one), only_first=True)
    rec.parts = sharded.shards_of(shared)
    sharded.note_computing(rec, shared)
    note_compiled(rec, seen)
    if any(entry.is_parameter and entry.last and not entry.names for entry in rec.entries):
        for path, module in seen:
            try:
                name_unregistered(rec, path, module, paths)
            except Exception as error:  # an attribute that cannot be read
                rec.problem(f"what {path} holds in lists and dicts ({type(error).__name__})")
    return paths


def note_compiled(rec: Recorder, modules: list[tuple[str, Any]]) -> None:
    """Note that a module ran uncompiled which its method compile() had compiled: no call of it is seen."""
    held = (p for _, module in modules if private.is_compiled(module) for p in module.parameters())
    if any(id(sharded.whole(rec, p)) in rec.known for p in held):
        rec.left_out.setdefault(EAGER, [])


def note_buffers(rec: Recorder, modules: list[tuple[str, Any]]) -> None:
    """Note the buffers of modules that operations used. Those are sent that a DistributedDataParallel sends."""
    buffers = [(path, found) for path, module in modules if (found := private.buffers_of(module))]
    if not buffers:
        return
    data_parallel = torch.nn.parallel.DistributedDataParallel
    senders = [path for path, module in modules if isinstance(module, data_parallel) and module.broadcast_buffers]
    seen = {one.tensor for one in rec.buffers}
    for path, own in buffers:
        is_sent = any(path.startswith(f"{one}.") for one in senders)
        for key, tensor in own.items():
            entry = None if tensor is None else rec.known_entry(tensor)
            if entry is not None and entry.id not in seen:
                rec.buffers.append(BufferRecord(f"{path}.{key}", entry.id, is_sent))


def name_unregistered(rec: Recorder, path: str, module: Any, paths: dict[int, str]) -> None:
    """Name the parameters that a module holds in plain lists and dicts, where parameters() does not find them."""
    for attribute, value in vars(module).items():
        if type(value) not in HOLDERS or str(attribute).startswith("_"):
            continue
        for key, one in items_of(f"{path}.{attribute}", value):
            if issubclass(type(one), torch.Tensor) and one.requires_grad:
                give(rec, key, one, only_first=True, of_module=True)
            elif is_module(one) and id(one) not in paths:
                inner = list(modules_of(key, one, set()))
                for below, part in inner:
                    paths.setdefault(id(part), below)
                for name, tensor in parameters_of(inner):
                    give(rec, name, tensor, only_first=True, of_module=True)


def is_no_name(name: str) -> bool:
    """Whether a variable with an underscore at its start is Python's own, or IPython's `_12` for a cell's output."""
    return name.startswith("__") or name[1:].isdigit()


def give(rec: Recorder, name: str, tensor: Any, only_first: bool = False, of_module: bool = False) -> None:
    """Give a tensor a name; with `only_first` if it has none. The name by a parameter's module comes before others."""
    if not rec.is_of_this_run(tensor):
        return
    entry = rec.entry(tensor)
    if of_module and entry.is_parameter:
        if not any("." in known for known in entry.names):
            entry.names.insert(0, name)  # what a model calls it says more than the variable of a loop over parameters
        elif is_tied(name, entry.names[0]) and name not in entry.names:
            entry.names.append(name)
        return
    if not (only_first and entry.names) and name not in entry.names:
        entry.names.append(name)


def modules_of(name: str, value: Any, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """Return a module and the modules inside it, with their paths, except for those `seen` before and those that were
    not initialised.
    """
    try:
        inner = list(value.named_modules())
    except Exception:  # it was not initialised, or a method of the program has failed
        return
    for path, one in inner:
        if id(one) not in seen and private.is_initialized(one):
            seen.add(id(one))
            yield (f"{name}.{path}" if path else name), one


def is_module(value: Any) -> bool:
    return issubclass(type(value), Module)


def parameters_of(modules: list[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    for path, module in modules:
        for key, tensor in private.own_parameters(module):
            if tensor is not None and (type(tensor) is Parameter or not torch.nn.parameter.is_lazy(tensor)):
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
