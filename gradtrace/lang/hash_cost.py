"""Charges the budget for hashing and comparing nested containers, which can take exponential time.

Python hashes a key and compares two lists in one uninterruptible step, and hashing n tuples that each contain the
previous one twice takes 2 ** n operations. So nested containers are counted first, as often as Python will visit them.
A key without a nested tuple costs one check.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Callable, Iterator
from gradtrace.lang.budget import Meter
from gradtrace.lang.iteration import LAZY, Lazy, with_name

HOLDERS = (tuple, list, dict)
HASHING_CLASSES: set[Any] = {set, frozenset, dict}  # classes that hash the items of their argument
# Types of callables that hash their arguments: classes (those in HASHING_CLASSES), and cached functions once loaded.
HASHING_TYPES: set[type] = {type}
Charge = Callable[[Any, tuple[Any, ...]], tuple[Any, ...]]
Methods = dict[tuple[type, str], Callable[[Any], Any]]
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
COMPARING = {list: ("count", "index", "remove", "sort"), tuple: ("count", "index")}


def is_deep(value: Any) -> bool:
    """Whether a container contains another container."""
    return any(issubclass(type(item), HOLDERS) for item in (value.values() if isinstance(value, dict) else value))


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
    for item in items:
        if isinstance(item, tuple):
            charge_key(item, meter)


def charged_keys(items: Any, meter: Meter) -> Any:
    """Charge for hashing the items and return them; items of a lazy iterator are charged one by one."""
    if isinstance(items, (list, tuple)):
        charge_keys(items, meter)
        return items
    return charge_each(items, meter) if type(items) in LAZY or type(items) is Lazy else items


def charge_each(items: Any, meter: Meter) -> Iterator[Any]:
    for item in items:
        if isinstance(item, tuple):
            charge_key(item, meter)
        yield item


def charge_items(values: Any, meter: Meter) -> None:
    """Charge for comparing the items of a list or tuple with each other or with another value."""
    if isinstance(values, (list, tuple)):
        for value in values:
            if issubclass(type(value), HOLDERS) and is_deep(value):
                charge_nesting(value, meter)


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
        if not args or isinstance(args[0], HOLDERS):
            charge_items(owner, meter)
            charge_items(args, meter)
        return args

    enter({**BY_KEY, **dict.fromkeys(late, BY_KEY[dict])}, key)
    enter({**BY_KEYS, **dict.fromkeys(late, ("fromkeys", "subtract", "update"))}, keys)
    enter({**COMPARING, **dict.fromkeys(late, ("count", "index", "remove"))}, comparison)
    return results


def charging_method(name: str, charge: Charge) -> Callable[[Any], Any]:
    def bound(owner: Any) -> Any:
        real = getattr(owner, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            return real(*charge(owner, args), **kwargs)

        return with_name(call, name)

    return bound


def with_comparison_cost(function: Callable[..., Any], meter: Meter) -> Callable[..., Any]:
    """Wrap sorted, min or max to charge the budget for their comparisons."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) != 1:
            charge_items(args, meter)
        elif "key" not in kwargs:
            charge_items(args[0], meter)
        return function(*args, **kwargs)

    return with_name(call, function.__name__)


def make_hash(meter: Meter) -> Callable[[Any], int]:
    def call(obj: Any, /) -> int:
        if isinstance(obj, tuple):
            charge_key(obj, meter)
        return hash(obj)

    return with_name(call, "hash")


def charged_arguments(target: Any, kind: type, args: Any, meter: Meter) -> Any:
    """Charge for the arguments of a callable whose type `kind` is in HASHING_TYPES, and return them."""
    if kind is not type:  # a cached function, whose arguments are its key
        charge_key((tuple(args),), meter)
        return args
    return [charged_keys(arg, meter) for arg in args] if target in HASHING_CLASSES else args
