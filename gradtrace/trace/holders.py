"""Find what variables hold in lists, dicts, sets and plain objects, by the program's own path to
it.

held_by([("t", t)], is_wanted)  ->  ("t.net", module), ("t.layers[0]", module), ("t.scale", tensor)
"""

from __future__ import annotations

from itertools import islice
from types import (
    BuiltinFunctionType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    ModuleType,
    NoneType,
)

from gradtrace.annotations import Any, Callable, Iterable, Iterator, deque

DEPTH = 4  # t.parts["a"].heads[0] is four steps from t
MOST_ITEMS = 10_000  # of one container
MOST = 20_000  # things that are neither numbers nor texts, at each depth
# items at a container's start; if all are numbers and texts, the rest is not looked at
SAMPLE = 100
PLAIN_KEYS = (str, int, bool, float, NoneType)
PLAIN = frozenset(map(id, (int, float, complex, str, bytes, bool, NoneType)))
# most global variables of a program; they hold nothing that has a name of the program
OPAQUE = PLAIN.union(map(id, (FunctionType, BuiltinFunctionType, ModuleType, type)))
CONTAINERS = (list, tuple, dict, deque, set, frozenset)
LIBRARIES = ("builtins", "torch", "gradtrace", "numpy", "IPython", "typing", "__future__")
# what a class says of itself, without a call of a method of its metaclass
MRO, OWN, HOME = (type.__dict__[_name].__get__ for _name in ("__mro__", "__dict__", "__module__"))
# of classes whose instances' attributes are what the instance holds
GENERIC = tuple(kind.__getattribute__ for kind in (object, *CONTAINERS))  # some inherit object's


def held_by(
    variables: Iterable[tuple[str, Any]], is_wanted: Callable[[Any], bool]
) -> Iterator[tuple[str, Any, Any]]:
    """Yield the path and the object of all that is wanted, the nearest first, and what holds it.
    What is wanted is not looked into.

    Containers are lists, tuples, deques, sets, dicts with plain keys or tuples of these, and
    objects of the program's own classes, of which only the instance's attributes and slots are
    read: neither a property nor an iterator of the program runs.
    """
    level = [
        (name, value) for name, value in variables if not is_wanted(value) and is_holder(value)
    ]
    opened: set[int] = set()
    for _ in range(DEPTH):
        below = []
        left = MOST
        # rows of data come last, for they may use up what is left
        level.sort(key=lambda pair: is_long(pair[1]))
        for path, holder in level:
            if id(holder) in opened:
                continue
            if left <= 0:
                break
            opened.add(id(holder))
            left -= 1
            for name, value in items_of(path, holder):
                left -= 1
                if is_wanted(value):
                    yield name, value, holder
                elif is_holder(value):
                    below.append((name, value))
        level = below


def is_holder(value: Any) -> bool:
    """Whether a value is a container, or a plain object of a class of the program."""
    kind = type(value)
    if container_of(kind) is not None:
        return True
    try:
        home = HOME(kind)
        return (
            type(home) is str
            and home.partition(".")[0] not in LIBRARIES
            and attributes_of(value) is not None
        )
    except Exception:  # a class that says nothing of itself
        return False


def container_of(kind: type) -> Any:
    """Return the container's class that a class is, or a subclass with its items; else None."""
    if not issubclass(kind, CONTAINERS):
        return None
    base = next(container for container in CONTAINERS if issubclass(kind, container))
    if kind is base:
        return base
    method = "__getitem__" if "__getitem__" in OWN(base) else "__iter__"
    return base if defined(kind, method) is OWN(base)[method] else None


def defined(kind: type, name: str) -> Any:
    """Return what a class or the first of its bases that has this name defines by it; None if none
    has.
    """
    return next((OWN(base)[name] for base in MRO(kind) if name in OWN(base)), None)


def is_long(holder: Any) -> bool:
    base = container_of(type(holder))
    return base is not None and base.__len__(holder) > SAMPLE


def attributes_of(value: Any) -> dict[str, Any] | None:
    """Return the instance's own attributes and slots; None for a class, and for an object that has
    neither, or whose class answers for them itself.
    """
    kind = type(value)
    if issubclass(kind, type) or not is_generic(defined(kind, "__getattribute__")):
        return None
    own = None
    if type(defined(kind, "__dict__")) is GetSetDescriptorType:
        own = object.__getattribute__(value, "__dict__")
    filled = slots_of(kind, value)
    if type(own) is not dict:
        return filled or None
    return {**own, **filled} if filled else own


def is_generic(method: Any) -> bool:
    return any(method is generic for generic in GENERIC)


def slots_of(kind: type, value: Any) -> dict[str, Any]:
    """Return what the slots of an object hold."""
    slots = {
        name: slot
        for base in reversed(MRO(kind))
        if "__slots__" in OWN(base)
        for name, slot in OWN(base).items()
        if type(slot) is MemberDescriptorType
    }
    filled = {}
    for name, slot in slots.items():
        try:
            filled[name] = slot.__get__(value)
        except AttributeError:  # nothing was assigned to it
            continue
    return filled


def is_plain_key(key: Any) -> bool:
    return type(key) in PLAIN_KEYS or (
        type(key) is tuple and all(type(part) in PLAIN_KEYS for part in key)
    )


def is_attribute(kind: type, key: Any) -> bool:
    """Whether a key of an instance's attributes is a name by which the class does not give
    something else.
    """
    if type(key) is not str or not key.isidentifier():
        return False
    # a property has __set__: it comes before the instance's attribute
    own = type(defined(kind, key))
    if own in (NoneType, MemberDescriptorType):
        return True
    return defined(own, "__set__") is None and defined(own, "__delete__") is None


def items_of(path: str, holder: Any) -> Iterator[tuple[str, Any]]:
    """Yield the path and the object of each item that is neither a number nor a text, of the first
    `MOST_ITEMS`.
    """
    kind = type(holder)
    base = container_of(kind)
    if base is dict:
        for key, value in first_of(dict.items(holder)):
            if is_plain_key(key):
                yield f"{path}[{key!r}]", value
    elif base in (list, deque):
        yield from (
            (f"{path}[{i}]", value) for i, value in first_of(enumerate(base.__iter__(holder)))
        )
    elif base in (set, frozenset):
        yield from (
            (f"list({path})[{i}]", value) for i, value in first_of(enumerate(base.__iter__(holder)))
        )
    elif base is tuple:
        fields = fields_of(kind)
        for i, value in first_of(enumerate(tuple.__iter__(holder))):
            yield (f"{path}.{fields[i]}" if i < len(fields) else f"{path}[{i}]"), value
    else:
        for key, value in first_of((attributes_of(holder) or {}).items(), MOST_ITEMS):
            if is_attribute(kind, key):
                yield f"{path}.{key}", value


def first_of(pairs: Iterable[tuple[Any, Any]], sample: int = SAMPLE) -> list[tuple[Any, Any]]:
    """Return the pairs whose second is not a number or a text; [] for a container that begins with
    so many of them.
    """
    rest = iter(pairs)
    first = list(islice(rest, sample))
    kept = [pair for pair in first if id(type(pair[1])) not in PLAIN]
    if kept or len(first) < sample:
        kept += [
            pair for pair in islice(rest, MOST_ITEMS - sample) if id(type(pair[1])) not in PLAIN
        ]
    return kept


def fields_of(kind: type) -> tuple[str, ...]:
    """Return the names of a namedtuple's fields; () for another tuple and for one that redefines
    them.
    """
    fields = defined(kind, "_fields")
    if type(fields) is not tuple or not all(type(name) is str for name in fields):
        return ()
    return (
        () if any(type(defined(kind, name)) in (property, NoneType) for name in fields) else fields
    )
