"""The operands of a recorded call, as the source shows them: tensors, then the constants worth
showing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtrace.engine.operators.op import records
from gradtrace.torch.references import Known
from gradtrace.trace import operands as common
from gradtrace.trace.events import Call, Entry
from gradtrace.trace.record import Operand

# operators whose further arguments are one tuple
SIZES = frozenset(["view", "reshape", "permute", "expand", "repeat", "tile", "flip"])
LOSSES = "_loss"  # whose further arguments are numbers of the reduction
# The parameters of functions that PyTorch's own Python code calls by position, and what each has by
# default.
CONVOLUTION = dict.fromkeys(("stride", "padding", "dilation", "groups"))
POOL = dict.fromkeys(("kernel_size", "stride", "padding", "dilation", "ceil_mode"))
BY_POSITION: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("conv1d", "conv2d", "conv3d"), CONVOLUTION),
    **dict.fromkeys(("max_pool1d", "max_pool2d", "max_pool3d"), POOL),
    "cross_entropy": {"weight": None, "reduction": 1, "ignore_index": -100, "label_smoothing": 0.0},
    "ctc_loss": {"blank": 0, "reduction": 1, "zero_infinity": False},
    "embedding": {"padding_idx": -1, "scale_grad_by_freq": False, "sparse": False},
    "batch_norm": {"training": True, "momentum": 0.1, "eps": 1e-5, "cudnn_enabled": True},
    "instance_norm": {"use_input_stats": True, "momentum": 0.1, "eps": 1e-5, "cudnn_enabled": True},
    "layer_norm": {"eps": 1e-5, "cudnn_enable": True},
    "group_norm": {"eps": 1e-5, "cudnn_enabled": True},
    "dropout": {"p": None, "train": True},
}
Edge = Callable[[Call, Entry, set[int]], int | None]


def call_operands(call: Call, edge_of: Edge) -> tuple[Operand, ...]:
    """Return the operands in the source's order: each tensor as often as it is used, constants,
    options with their names.
    """
    args = call.args
    taken = set[int]()
    operands: list[Operand] = []
    if call.name in SIZES and len(args) > 2 and all(type(size) is int for size in args[1:]):
        args = (args[0], tuple(args[1:]))
    if call.name in ("select", "slice", "index") and len(args) == 2:
        return indexed(call, args, edge_of)
    if call.name in BY_POSITION and not call.kwargs:
        args, named = split_by_position(args, BY_POSITION[call.name])
    else:
        named = {}
    names, arity = common.parameters(overload(call.name, args), len(args))
    arguments = [(names[position], value, position) for position, value in enumerate(args)]
    arguments += [(key, value, arity) for key, value in named.items()]
    arguments += [(key, value, arity) for key, value in call.kwargs.items()]
    for name, value, position in arguments:
        tensors = knowns_in(value)
        for tensor in tensors:
            entry = call.inputs[id(tensor)]
            operands.append(Operand(entry.id, "", len(operands), name, edge_of(call, entry, taken)))
        if tensors or (call.name.endswith(LOSSES) and name.startswith("arg")):
            continue
        if common.is_option(name, position, arity):
            turned_off = value is False and BY_POSITION.get(call.name, {}).get(name) is True
            if turned_off or not common.is_silent(name, value):
                operands.append(Operand(None, common.option_text(name, value), len(operands), name))
        elif value is not None:
            operands.append(Operand(None, common.constant_text(value), len(operands), name))
    return tuple(operands)


def overload(name: str, args: tuple[Any, ...]) -> str:
    """Return the record's name of a call: that of `sum` along a dim is `sum_dim`."""
    along = len(args) > 1 and not knowns_in(args[1]) and common.record_of(name) is not None
    return f"{name}_dim" if along and f"{name}_dim" in records else name


def split_by_position(
    args: tuple[Any, ...], defaults: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Split off the last arguments that are not tensors, by their names; those that have their
    default value are dropped.
    """
    count = min(len(defaults), len(args))
    while count and knowns_in(args[len(args) - count]):
        count -= 1
    first = len(args) - count
    pairs = zip(list(defaults.items())[-count:] if count else (), args[first:], strict=True)
    return args[:first], {name: value for (name, default), value in pairs if value != default}


def indexed(call: Call, args: tuple[Any, ...], edge_of: Edge) -> tuple[Operand, ...]:
    """Return the operands of x[...]: for a single number dim and index, as for select; else the
    index unchanged.
    """
    tensor, index = args
    entry = call.inputs[id(tensor)]
    first = Operand(entry.id, "", 0, "self", edge_of(call, entry, set()))
    if type(index) is int:
        return first, Operand(None, "dim=0", 1, "dim"), Operand(None, f"index={index}", 2, "index")
    rest = [call.inputs[id(identity)] for identity in knowns_in(index)]
    if rest:
        return first, *(
            Operand(index_entry.id, "", place, "index") for place, index_entry in enumerate(rest, 1)
        )
    return first, Operand(None, common.constant_text(index), 1, "index")


def knowns_in(value: Any) -> list[Known]:
    if isinstance(value, Known):
        return [value]
    if isinstance(value, (tuple, list)):
        return [identity for element in value for identity in knowns_in(element)]
    return []
