"""Name tensors and modules: by variables, by modules' parameters, by assignments in the text."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import torch

from gradtrace.torch import private, sharded
from gradtrace.torch.iterations import is_own
from gradtrace.torch.patches import EAGER
from gradtrace.trace.events import Entry
from gradtrace.trace.names import Library, Names, modules_below
from gradtrace.trace.record import BufferRecord

if TYPE_CHECKING:
    from gradtrace.torch.recorder import Recorder
    from gradtrace.torch.references import Known

Module = torch.nn.Module
Parameter = torch.nn.Parameter
FLATTENED = (
    "the parameters of FSDP1 (FullyShardedDataParallel); those of FSDP2 (fully_shard) can be read"
)


def bind(rec: Recorder, env: Mapping[str, Any]) -> dict[int, str]:
    """Name the tensors that variables hold, and return the paths of modules by id()."""
    names = Names(env, LIBRARY)
    note_buffers(rec, names.modules)
    if sharded.is_any_flattened(names.modules):
        rec.problem(FLATTENED)
    for name, tensor in names.tensors():
        give(rec, name, sharded.whole(rec, tensor))
    rec.parts = sharded.shards_of(names.parameters)
    sharded.note_computing(rec, names.parameters)
    note_compiled(rec, names.modules)
    return names.paths()


def note_functions(rec: Recorder, frame: Any) -> None:
    """Note the names that the variables of the functions under way give to tensors and modules."""
    for function, variables in rec.frame_variables.changes(frame, is_own, rec.frame_id):
        names = Names(variables, LIBRARY)
        note_buffers(rec, names.modules)
        for path, module in names.modules:
            reference = weakref.ref(module)  # a module may have no hash
            rec.local_paths.setdefault(id(reference), (reference, path))
        for name, tensor in names.tensors():
            tensor = sharded.whole(rec, tensor)
            if rec.is_of_this_run(tensor):
                identity = rec.entry(tensor).tensor
                local = rec.local_names[identity] = rec.local_names.pop(identity, {})
                local.setdefault(name, function)


def give_local(rec: Recorder, is_known: Callable[[Known], bool]) -> dict[int, str]:
    """Give tensors the names of functions' variables, after the module's. "w in f" is another
    tensor than "w". Return the names that other tensors had before, by id() of their identities.
    """
    holders = {name: entry.tensor for entry in rec.entries for name in entry.names}
    last = {
        (name, function): identity
        for identity, local in rec.local_names.items()
        for name, function in local.items()
    }
    former: dict[int, str] = {}
    for identity, local in rec.local_names.items():
        named = identity.last.names
        for name, function in local.items():
            if last[name, function] is not identity or not is_known(identity):
                former.setdefault(id(identity), name)
            elif holders.get(name, identity) is not identity:
                named.append(f"{name} in {function}")
            elif name not in named:
                named.append(name)
        named.sort(key=is_private)
    return former


def is_private(path: str) -> bool:
    """Whether a path leads through what a library keeps for itself: "trainer._connector.model"."""
    return "._" in path


def note_compiled(rec: Recorder, modules: list[tuple[str, Any]]) -> None:
    """Note that a module ran uncompiled which its method compile() had compiled: no call of it is
    seen.
    """
    held = (p for _, module in modules if private.is_compiled(module) for p in module.parameters())
    if any(rec.find(sharded.whole(rec, p)) is not None for p in held):
        rec.left_out.setdefault(EAGER, [])


def note_buffers(rec: Recorder, modules: list[tuple[str, Any]]) -> None:
    """Note the buffers of modules that operations used. Those are sent that a
    DistributedDataParallel sends.
    """
    buffers = [(path, owned) for path, module in modules if (owned := private.buffers_of(module))]
    if not buffers:
        return
    data_parallel = torch.nn.parallel.DistributedDataParallel
    senders = [
        module
        for _, module in modules
        if isinstance(module, data_parallel) and module.broadcast_buffers
    ]
    # a model also has the path that a variable gives it without its DistributedDataParallel
    sent = {
        id(tensor)
        for sender in senders
        for _, part in modules_below("", sender, set())
        for tensor in (private.buffers_of(part) or {}).values()
    }
    seen = {buffer.tensor for buffer in rec.buffers}
    for path, own in buffers:
        for key, tensor in own.items():
            entry = None if tensor is None else rec.known_entry(tensor)
            if entry is not None and entry.id not in seen:
                rec.buffers.append(BufferRecord(f"{path}.{key}", entry.id, id(tensor) in sent))


def give(rec: Recorder, name: str, tensor: Any) -> None:
    """Give a tensor of this run a name."""
    if not rec.is_of_this_run(tensor):
        return
    names = rec.entry(tensor).names
    if name not in names:
        names.append(name)


def is_tensor(value: Any) -> bool:
    return issubclass(type(value), torch.Tensor)


def is_module(value: Any) -> bool:
    """Whether a value is a module whose class has called the __init__ of Module."""
    return issubclass(type(value), Module) and private.is_initialized(value)


def is_named(value: Any) -> bool:
    """Whether a value is a module, or a leaf that requires grad."""
    if is_tensor(value):
        return private.is_leaf(value) and private.needs_gradient(value)
    return is_module(value)


def is_readable(tensor: Any) -> bool:
    """Whether a tensor has a shape: a parameter of a lazy layer gets it at the first call."""
    return type(tensor) is Parameter or not torch.nn.parameter.is_lazy(tensor)


LIBRARY = Library(is_tensor, is_module, is_readable)


def gradients(entries: list[Entry]) -> dict[int, str]:
    """Return the name ("w.grad") of each named tensor's gradient, by the gradient's id()."""
    gradient_names: dict[int, str] = {}
    for entry in entries:
        tensor = entry.tensor.ref() if entry.names else None
        gradient = None if tensor is None else private.kept_gradient(tensor)
        if gradient is not None:
            gradient_names[id(gradient)] = f"{entry.names[0]}.grad"
    return gradient_names
