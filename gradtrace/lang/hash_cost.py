"""Steps for what Python's own code does with nested values: tuples in tuples, each twice in the next, are 2 ** n.

Python hashes a key and compares two lists without looking at any clock, and nothing can end it. So before it does, the
holders within are counted here, each as often as Python will meet it. A key that holds no tuple costs one look.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Callable, Iterator
from gradtrace.lang.budget import Meter
from gradtrace.lang.iteration import LAZY, Lazy, with_name

HOLDERS = (tuple, list, dict)
HASHING_CLASSES: set[Any] = {set, frozenset, dict}  # classes that hash what they are called with
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
    """Whether a holder holds another."""
    return any(isinstance(item, HOLDERS) for item in (value.values() if isinstance(value, dict) else value))


def charge_nesting(value: Any, meter: Meter) -> None:
    """Takes a step for each holder in `value`, as often as there is a way to it."""
    todo = [value]
    while todo:
        value = todo.pop()
        meter.count_steps(1)
        todo.extend(i for i in (value.values() if isinstance(value, dict) else value) if isinstance(i, HOLDERS))


def charge_key(key: Any, meter: Meter) -> None:
    """Before `key`, which is a tuple, is hashed."""
    for item in key:
        if isinstance(item, tuple):
            return charge_nesting(key, meter)


def charge_keys(items: Any, meter: Meter) -> None:
    """Before the items are hashed."""
    for item in items:
        if isinstance(item, tuple):
            charge_key(item, meter)


def charged_keys(items: Any, meter: Meter) -> Any:
    """The items, before they are hashed; those that are made one by one are weighed then."""
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
    """Before the items of a list or tuple are compared with each other or with another value."""
    if isinstance(values, (list, tuple)):
        for value in values:
            if isinstance(value, HOLDERS) and is_deep(value):
                charge_nesting(value, meter)


def charging_methods(meter: Meter, late: tuple[type, ...] = ()) -> Methods:
    """The methods of Python's types that hash or compare, for the gate: they weigh first. `late`: of collections."""
    found: Methods = {}

    def enter(table: dict[Any, tuple[str, ...]], look: Charge) -> None:
        for kind, names in table.items():
            for name in names:
                found[kind, name] = charging_method(name, look)

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
    return found


def charging_method(name: str, look: Charge) -> Callable[[Any], Any]:
    def bound(owner: Any) -> Any:
        real = getattr(owner, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            return real(*look(owner, args), **kwargs)

        return with_name(call, name)

    return bound


def with_comparison_cost(function: Callable[..., Any], meter: Meter) -> Callable[..., Any]:
    """sorted, min and max."""

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
    """The arguments of a call of something whose type `kind` is in HASHING."""
    if kind is not type:  # a cached function, whose arguments are its key
        charge_key((tuple(args),), meter)
        return args
    return [charged_keys(arg, meter) for arg in args] if target in HASHING_CLASSES else args
