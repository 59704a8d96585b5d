"""Record the calls of operators: their operands, their results, and writes in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from gradtrace.torch import private
from gradtrace.torch.references import Known
from gradtrace.trace.events import BeginEvent, Call

if TYPE_CHECKING:
    from gradtrace.torch.recorder import Recorder

Tensor = torch.Tensor
# Methods that fill a tensor with new numbers: a leaf starts again, without its earlier values.
FILLS = frozenset(
    [
        "zero_",
        "fill_",
        "ones_",
        "uniform_",
        "normal_",
        "zeros_",
        "bernoulli_",
        "constant_",
        "trunc_normal_",
        "random_",
        "exponential_",
    ]
)


def reversed_(rec: Recorder, func: Any, args: Any, kwargs: dict[str, Any], name: str) -> Any:
    """Record a reversed operator (1 - x), with the operands in the order of the text."""
    return operate(
        rec, func, args, kwargs, name, lambda operands: (operands[1], operands[0], *operands[2:])
    )


def operate(
    rec: Recorder, func: Any, args: Any, kwargs: dict[str, Any], name: str, order: Any = None
) -> Any:
    """Record an operator: its operands before the call, its results after it."""
    call = None
    with private.without_torch_function(), rec.lock:
        try:
            call = begin(rec, name, args if order is None else order(args), kwargs)
        except Exception as error:
            rec.problem(f"a call of {name} ({type(error).__name__})")
    if rec.precision is not None:
        out = rec.precision.call(func, args, kwargs)
    else:
        out = func(*args, **kwargs) if kwargs else func(*args)
    if call is not None:
        with private.without_torch_function(), rec.lock:
            try:
                finish(rec, call, args, kwargs, out)
                if rec.precision is not None:
                    rec.precision.called(call)
            except Exception as error:
                rec.problem(f"the results of {name} ({type(error).__name__})")
                if rec.calls and rec.calls[-1] is call and not call.outputs:
                    rec.calls.pop()
    return out


def begin(rec: Recorder, name: str, args: Any, kwargs: dict[str, Any]) -> Call:
    scope = rec.stack[-1] if rec.stack else None
    # of a function of a library, also the program's line that called it; a module's call has one
    place = rec.places.here_and_lead(4) if scope is None else rec.places.here(4)
    call = Call(name, place, scope, torch.is_grad_enabled())
    operand = rec.operand
    inputs = call.inputs
    call.args = tuple([operand(argument, inputs) for argument in args])
    if kwargs:
        call.kwargs = {key: operand(argument, inputs) for key, argument in kwargs.items()}
    rec.begun_call = call
    return call


def finish(rec: Recorder, call: Call, args: Any, kwargs: dict[str, Any], out: Any) -> None:
    """Record an operator's results; a call that only returned its operand is not kept."""
    results = [out] if isinstance(out, Tensor) else tensors_in(out)
    if call.name == "copy_" and not results and args and isinstance(args[0], Tensor):
        results = [args[0]]  # x[0] = 1
    if not results:
        return
    if not call.inputs:
        for tensor in results:
            if tensor.requires_grad:
                rec.begun.append(BeginEvent(rec.entry(tensor), len(rec.calls), call.origin))
        return
    if call.name.endswith("_like") or call.name.startswith("new_"):
        return
    call.id = len(rec.calls)
    rec.calls.append(call)
    fills = call.name in FILLS
    for tensor in results:
        identity = rec.find(tensor)
        if identity is None:
            result(rec, call, tensor)
        elif identity.version != private.version_of(tensor):
            rewritten(rec, call, tensor, identity, fills)
    if not call.outputs:
        rec.calls.pop()
        return
    if call.name == "__getitem__":
        call.name = name_of_index(rec, call, args)


def result(rec: Recorder, call: Call, tensor: Any) -> None:
    storage = private.storage_of(tensor)
    shares = storage is not None and storage in [
        entry.tensor.storage for entry in call.inputs.values()
    ]
    identity = rec.meet_tensor(tensor, storage, shares)
    entry = rec.new_entry(tensor, identity, call, 0)
    call.outputs.append(entry)
    if entry.requires_grad and not entry.is_leaf:
        rec.attach(entry, tensor, call)


def rewritten(rec: Recorder, call: Call, tensor: Any, identity: Known, fills: bool) -> None:
    """Record a new version of a tensor that the call has written to."""
    before = identity.last
    history = not private.is_leaf(tensor)
    owner = owner_of(rec, tensor, identity.storage)
    if fills and not history and owner is None and begins_again(rec, identity):
        return
    if owner is None:
        rec.written_to(call.name, identity.storage, identity, call)
    else:
        rec.written_to(call.name, None, owner, call, of_grad=True)
        rec.grads.pop(owner, None)
    before.last = False
    if before.is_leaf and before.requires_grad:
        before.grad = rec.gradient_of(identity)
    entry = rec.new_entry(tensor, identity, call, before.version + 1)
    call.outputs.append(entry)
    if history:
        rec.attach(entry, tensor, call)


def begins_again(rec: Recorder, leaf: Known) -> bool:
    """Whether what fills a leaf initialises it, since nothing has used its numbers yet, also if it
    is filled through `.data`; then all tensors with these numbers are noted again.
    """
    there = None if leaf.storage is None else rec.storages.get(leaf.storage)
    same = [leaf] if there is None else there.existing()
    alive = [(identity, tensor) for identity in same if (tensor := identity.ref()) is not None]
    if any(identity.last.call is not None for identity, _ in alive):
        return False
    others = {id(identity.last) for identity, _ in alive if identity is not leaf}
    if others and any(id(entry) in others for call in rec.calls for entry in call.inputs.values()):
        return False
    for identity, tensor in alive:
        identity.version = private.version_of(tensor)
        identity.last.value = rec.note(tensor, identity)
    return True


def owner_of(rec: Recorder, tensor: Any, storage: int | None) -> Known | None:
    """Return the leaf whose gradient is this tensor, or shares its elements."""
    identity = rec.owners.get(storage) if storage is not None else None
    leaf = None if identity is None else identity.ref()
    if leaf is None or leaf.grad is None or private.storage_of(leaf.grad) != storage:
        return None
    return identity


def tensors_in(value: Any) -> list[Any]:
    """Return the tensors in a result, also in nested tuples and lists."""
    if isinstance(value, Tensor):
        return [value]
    if not isinstance(value, (tuple, list)):
        return []
    return [tensor for element in value for tensor in tensors_in(element)]


def name_of_index(rec: Recorder, call: Call, args: Any) -> str:
    """Return the operator behind x[...]: "select", "slice", "index"."""
    by_fn = {
        "SelectBackward0": "select",
        "SliceBackward0": "slice",
        "IndexBackward0": "index",
        "UnsqueezeBackward0": "unsqueeze",
    }
    node = call.outputs[0].fn
    if node is not None and rec.nodes[node].name in by_fn:
        return by_fn[rec.nodes[node].name]
    index = args[1]
    last = index[-1] if isinstance(index, tuple) and index else index
    if isinstance(last, (bool, Tensor, list)):
        return "index"
    return "select" if isinstance(last, int) else "slice"
