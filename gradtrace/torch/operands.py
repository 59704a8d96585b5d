"""The operands of a recorded call, as the source shows them: tensors, then the constants worth showing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtrace.torch.events import Call, Entry, Known
from gradtrace.trace import operands as common
from gradtrace.trace.record import Operand

# operators whose further arguments are one tuple
SIZES = frozenset(["view", "reshape", "permute", "expand", "repeat", "tile", "flip"])
LOSSES = "_loss"  # whose further arguments are numbers of the reduction
Edge = Callable[[Call, Entry, set[int]], int | None]


def call_operands(call: Call, edge_of: Edge) -> tuple[Operand, ...]:
    """Each tensor as often as it is used, constants in between, options with their names."""
    args, taken = call.args, set[int]()
    found: list[Operand] = []
    if call.name in SIZES and len(args) > 2 and all(type(one) is int for one in args[1:]):
        args = (args[0], tuple(args[1:]))
    if call.name in ("select", "slice", "index") and len(args) == 2:
        return indexed(call, args, edge_of)
    given = [("", value, position) for position, value in enumerate(args)]
    names, arity = common.parameters(call.name, len(args))
    given = [(names[position], value, position) for _, value, position in given]
    given += [(key, value, arity) for key, value in call.kwargs.items()]
    for name, value, position in given:
        tensors = knowns_in(value)
        for tensor in tensors:
            entry = call.inputs[object.__hash__(tensor)]
            found.append(Operand(entry.id, "", len(found), name, edge_of(call, entry, taken)))
        if tensors or (call.name.endswith(LOSSES) and name.startswith("arg")):
            continue
        if common.is_option(name, position, arity):
            if not common.is_silent(name, value):
                found.append(Operand(None, common.option_text(name, value), len(found), name))
        elif value is not None:
            found.append(Operand(None, common.constant_text(value), len(found), name))
    return tuple(found)


def indexed(call: Call, args: tuple[Any, ...], edge_of: Edge) -> tuple[Operand, ...]:
    """x[...]: of a single number dim and index, as select has them; else the index as it is."""
    tensor, index = args
    entry = call.inputs[object.__hash__(tensor)]
    first = Operand(entry.id, "", 0, "self", edge_of(call, entry, set()))
    if type(index) is int:
        return first, Operand(None, "dim=0", 1, "dim"), Operand(None, f"index={index}", 2, "index")
    rest = [call.inputs[object.__hash__(one)] for one in knowns_in(index)]
    if rest:
        return first, *(Operand(one.id, "", place, "index") for place, one in enumerate(rest, 1))
    return first, Operand(None, common.constant_text(index), 1, "index")


def call_label(call: Call, operands: tuple[Operand, ...]) -> str:
    return " ".join([call.name, *(one.text for one in operands if one.tensor is None)])


def knowns_in(value: Any) -> list[Known]:
    if isinstance(value, Known):
        return [value]
    if isinstance(value, (tuple, list)):
        return [known for one in value for known in knowns_in(one)]
    return []
