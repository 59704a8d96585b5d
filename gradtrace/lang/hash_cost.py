"""Charges the budget for hashing and comparing nested containers, which can take exponential time.

Python hashes a key and compares two lists in one uninterruptible step, and hashing n tuples that each contain the
previous one twice takes 2 ** n operations. So nested containers are counted first, as often as Python will visit them.
A key without a nested tuple costs one check.
"""

from __future__ import annotations

from gradtrace.annotations import Any, AnyFunction, Callable, Iterator
from gradtrace.lang import costs
from gradtrace.lang.budget import Meter
from gradtrace.lang.costs import HOLDERS
from gradtrace.lang.iteration import LAZY, Lazy, with_name

HASHING_CLASSES: set[Any] = {set, frozenset, dict}  # classes that hash the items of their argument
# Types of callables that hash their arguments: classes (those in HASHING_CLASSES), and cached functions once loaded.
HASHING_TYPES: set[type] = {type}
Charge = Callable[[Any, tuple[Any, ...]], tuple[Any, ...]]
Methods = dict[tuple[type, str], AnyFunction]
BY_KEY = {dict: ("get", "pop", "setdefault"), set: ("add", "discard", "remove")}
BY_KEYS = {
    dict: ("fromkeys", "update"),
    frozenset: ("difference", "intersection", "isdisjoint", "issuperset", "symmetric_difference", "union"),
}
BY_KEYS[set] = (
    *BY_KEYS[frozenset],
    "difference_update",
    "intersection_update",
    "symmetric_difference_update",
    "update",
)
# Methods that copy, move or take in items: of their owner, or of their arguments.
VISITING = {
    list: ("copy", "extend", "insert", "reverse"),
    dict: ("copy",),
    set: ("copy",),
    frozenset: ("copy",),
}
COMPARING = {list: ("count", "index", "remove"), tuple: ("count", "index")}


def charge_nesting(value: Any, meter: Meter) -> None:
    """Count a step for each container in `value`, once for every path that leads to it."""
    todo = [value]
    while todo:
        value = todo.pop()
        meter.count_steps(1)
        todo.extend(i for i in (value.values() if isinstance(value, dict) else value) if isinstance(i, HOLDERS))


def charge_key(key: Any, meter: Meter) -> None:
    """Charge for hashing the tuple `key`."""
    for item in key:
        if issubclass(type(item), tuple):  # isinstance would ask an object for its class
            return charge_nesting(key, meter)


def charge_keys(items: Any, meter: Meter) -> None:
    """Charge for hashing each item of an iterable."""
    costs.charge_hashing(items, meter)
    for item in items:
        if isinstance(item, tuple):
            charge_key(item, meter)


def charged_keys(items: Any, meter: Meter) -> Any:
    """Charge for hashing the items and return them; items of a lazy iterator are charged one by one."""
    if isinstance(items, (list, tuple)):
        charge_keys(items, meter)
        return items
    if type(items) in LAZY or type(items) is Lazy:
        return charge_each(items, meter)
    costs.charge_hashing(items, meter)
    return items


def charge_each(items: Any, meter: Meter) -> Iterator[Any]:
    for item in items:
        if isinstance(item, tuple):
            charge_key(item, meter)
        yield item


def charge_items(values: Any, meter: Meter) -> None:
    """Charge for comparing the items of a list or tuple with each other or with another value."""
    if isinstance(values, (list, tuple)) and len(values):
        meter.count_items(costs.weigh(values, meter))


def charging_methods(meter: Meter, late: tuple[type, ...] = ()) -> Methods:
    """Return wrappers that charge for methods that hash or compare. `late`: classes from `collections`."""
    results: Methods = {}

    def enter(table: dict[Any, tuple[str, ...]], charge: Charge) -> None:
        for kind, names in table.items():
            for name in names:
                results[kind, name] = charging_method(name, charge)

    def key(owner: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
        for arg in args:
            if isinstance(arg, tuple):
                charge_key(arg, meter)
        return args

    def keys(owner: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple([charged_keys(arg, meter) for arg in args])

    def comparison(owner: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
        if args and isinstance(args[0], HOLDERS):
            charge_items(owner, meter)
            charge_items(args, meter)
        elif args:
            costs.charge_search(args[0], owner, meter)
        return args

    def visit(owner: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
        for arg in args:
            costs.charge_visit(arg, meter)
        costs.charge_visit(owner, meter)
        return args

    enter(VISITING, visit)
    enter(dict.fromkeys(late, ("copy", "extend", "extendleft")), visit)
    results[list, "sort"] = sorting_method(meter)
    results[list, "extend"] = charging_method("extend", lambda owner, args: visit((), args))
    enter({**BY_KEY, **dict.fromkeys(late, BY_KEY[dict])}, key)
    enter({**BY_KEYS, **dict.fromkeys(late, ("fromkeys", "subtract", "update"))}, keys)
    enter({**COMPARING, **dict.fromkeys(late, ("count", "index", "remove"))}, comparison)
    return results


def charging_method(name: str, charge: Charge) -> AnyFunction:
    def bound(owner: Any) -> Any:
        real = getattr(owner, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            return real(*charge(owner, args), **kwargs)

        return with_name(call, name)

    return bound


def sorting_method(meter: Meter) -> Callable[[list[Any]], Any]:
    def bound(owner: list[Any]) -> Any:
        def sort(*, key: Any = None, reverse: bool = False) -> None:
            if key is None:
                costs.charge_sorting(owner, meter)
            else:
                costs.charge_visit(owner, meter, len(owner).bit_length())
                key = costs.charged_key(key, meter)
            owner.sort(key=key, reverse=reverse)

        return with_name(sort, "sort")

    return bound


def with_comparison_cost(function: AnyFunction, meter: Meter) -> AnyFunction:
    """Wrap sorted, min or max to charge the budget for their comparisons."""
    charge = costs.charge_sorting if function is sorted else charge_items

    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("key") is not None:
            kwargs = {**kwargs, "key": costs.charged_key(kwargs["key"], meter)}
            if len(args) == 1:
                costs.charge_visit(args[0], meter)
        elif len(args) != 1:
            charge_items(args, meter)
        else:
            charge(args[0], meter)
        return function(*args, **kwargs)

    return with_name(call, function.__name__)


def make_hash(meter: Meter) -> Callable[[Any], int]:
    def call(obj: Any, /) -> int:
        if isinstance(obj, tuple):
            charge_key(obj, meter)
        elif costs.holds_much(obj):
            meter.count_items(costs.weigh(obj, meter))
        return hash(obj)

    return with_name(call, "hash")


VISITING_CLASSES = frozenset({list, tuple, enumerate, reversed, zip})  # classes that visit the items of their arguments


def charged_arguments(target: Any, kind: type, args: Any, meter: Meter) -> Any:
    """Charge for the arguments of a callable whose type `kind` is in HASHING_TYPES, and return them."""
    if kind is not type:  # a cached function, whose arguments are its key
        charge_key((tuple(args),), meter)
        return args
    if target in HASHING_CLASSES:
        return [charged_keys(arg, meter) for arg in args]
    if target in VISITING_CLASSES:
        for arg in args:
            costs.charge_visit(arg, meter)
    elif target is str and args:
        costs.charge_text(args[0], meter)
    elif target is int and args and type(args[0]) is str:
        meter.count_text(len(args[0]))
    return args
