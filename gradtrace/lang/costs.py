"""What Python's own code does in one step, charged to the budget before it starts.

No signal interrupts a copy, a comparison or a repr of built-in values, so the meter must know before how much it is:
items and characters (`Meter.count_items`, `Meter.count_text`), as often as Python will visit them.
"""

from __future__ import annotations

import sys

from gradtrace.annotations import Any
from gradtrace.lang.budget import Meter
from gradtrace.lang.known_classes import class_at
from gradtrace.lang.values import Attributes

HOLDERS = (tuple, list, dict)
SETS = (set, frozenset)
# Types with a length that is also what visiting them costs.
VIEWS: tuple[Any, ...] = (type({}.keys()), type({}.values()), type({}.items()))
SIZED = frozenset({*HOLDERS, *SETS, *VIEWS, str, range})
BASES: tuple[Any, ...] = (*HOLDERS, *SETS)
FLAT = frozenset({float, bool, type(None)})  # items whose comparison takes as long as any other
LONG = 1024  # items or characters up to which a step needs no charge
HEAVY = frozenset({str, int, *HOLDERS, *SETS})
WORD = 8  # bytes of a list element
MODULUS = sys.hash_info.modulus  # integers up to it have different hashes
HASHED = 16  # items copied in the time in which one is hashed and stored
SHOWN = 16  # items copied in the time in which one is written as text


def length_of(value: Any) -> int:
    """Return the length of a built-in container or of a subclass of one; 0 for any other value."""
    kind = type(value)
    if kind in SIZED:
        return len(value)
    for base in BASES:
        if isinstance(value, base):
            return int(base.__len__(value))
    return len(value) if kind is class_at("collections:deque") else 0


def charge_visit(value: Any, meter: Meter, times: int = 1) -> None:
    """Charge for a step that visits each item of a container."""
    length = length_of(value)
    if length > LONG:
        meter.count_items(length * times)


def charge_made(kind: type, length: int, meter: Meter) -> None:
    """Charge for a string, list or tuple of this length before it is made."""
    if kind is str:
        meter.reserve(length)
        meter.count_text(length)
    else:
        meter.reserve(length * WORD)
        meter.count_items(length)


def charge_slice(value: Any, key: slice, meter: Meter) -> None:
    """Charge for copying a slice of a built-in sequence."""
    if type(value) in SIZED and len(value) > LONG:
        try:
            start, stop, step = key.indices(len(value))
        except (TypeError, ValueError):
            return  # indexing raises Python's error
        length = len(range(start, stop, step))
        if type(value) is str:
            meter.count_text(length)
        else:
            meter.count_items(length)


def charge_change(value: Any, key: Any, meter: Meter) -> None:
    """Charge for assigning or deleting a slice or an item of a list, which moves those after it."""
    if type(value) is list and type(key) is slice and len(value) > LONG:
        meter.count_items(len(value))


def parts_of(value: Any) -> tuple[Any, ...]:
    """Return the collections of what a value holds, without running code of the program; () for what holds nothing."""
    if isinstance(value, dict):
        return dict.keys(value), dict.values(value)
    if length_of(value):
        return (value,)
    if isinstance(value, BaseException):
        return (vars(BaseException)["args"].__get__(value),)  # not the property of a program's class
    if hasattr(type(value), "__dataclass_fields__") or isinstance(value, Attributes):
        return (getattr(value, "__dict__", {}).values(),)
    return ()


def weigh(value: Any, meter: Meter) -> int:
    """Return what it costs to visit all that a value holds, in items: as often as a path leads to it.

    A container inside itself is visited once. Each container counts as a step, so this walk is bounded too.
    """
    total = 0
    todo: list[tuple[Any, bool]] = [(value, False)]
    path: set[int] = set()
    while todo:
        value, left = todo.pop()
        if left:
            path.discard(id(value))
            continue
        if isinstance(value, str):
            total += str.__len__(value) >> 4
            continue
        if isinstance(value, int):
            total += int.bit_length(value) >> 8
            continue
        if id(value) in path:
            continue
        meter.count_steps(1)
        heavy: list[Any] = []
        for items in parts_of(value):
            meter.count_items(len(items))
            total += len(items)
            if set(map(type, items)) - FLAT:
                heavy += filter(holds_much, items)
        if heavy:
            path.add(id(value))
            todo.append((value, True))
            todo += [(item, False) for item in heavy]
    return total


def holds_much(value: Any) -> bool:
    kind = type(value)
    if kind in FLAT:
        return False
    if isinstance(value, str):
        return str.__len__(value) > 16
    if isinstance(value, int):
        return int.bit_length(value) > 256
    return bool(parts_of(value))


def charge_text(value: Any, meter: Meter) -> None:
    """Charge for writing a value as text: str, repr, format, json.dumps."""
    kind = type(value)
    if kind in FLAT or kind is int:
        return
    if isinstance(value, str):
        meter.count_text(str.__len__(value))
    else:
        meter.count_items(SHOWN * weigh(value, meter))


def charge_sorting(items: Any, meter: Meter) -> None:
    """Charge for comparing each item of a sequence about log2(length) times."""
    length = length_of(items)
    if length > 1:
        meter.count_items(weigh(items, meter) * length.bit_length())


def charge_hashing(items: Any, meter: Meter) -> None:
    """Charge for storing items by their hashes, and for comparing huge integers that have the same one."""
    length = length_of(items)
    if length <= LONG:
        return
    meter.count_items(length * HASHED)
    kinds = set() if type(items) is range else set(map(type, items))
    if str in kinds:
        meter.count_text(sum(len(item) for item in items if type(item) is str))
    if int in kinds and (max(items) >= MODULUS or min(items) <= -MODULUS if kinds == {int} else True):
        numbers = sorted(item for item in items if type(item) is int and not -MODULUS < item < MODULUS)
        same: dict[int, int] = {}
        for i, number in enumerate(numbers):
            if not i or number != numbers[i - 1]:
                same[hash(number)] = same.get(hash(number), 0) + 1
        meter.count_items(sum(count * count for count in same.values() if count > 1))


def charge_search(wanted: Any, items: Any, meter: Meter) -> None:
    """Charge for comparing a value with each item of a sequence until one is equal."""
    length = length_of(items)
    if length > LONG or (length and type(wanted) in HEAVY):
        each = length_of(wanted) >> 9 if isinstance(wanted, str) else bits_of(wanted) >> 12
        meter.count_items(length * (1 + each))


def bits_of(value: Any) -> int:
    return int.bit_length(value) if isinstance(value, int) else 0


def charged_key(function: Any, meter: Meter) -> Any:
    """Return a sort key whose results are charged for being compared."""

    def key(*args: Any) -> Any:
        result = function(*args)
        if holds_much(result):
            meter.count_items(16 * weigh(result, meter))
        return result

    return key
