"""Compilers of assignment targets (names, attributes, items, unpacking) and of `del` targets."""

from __future__ import annotations

from gradtrace.annotations import Any, Callable, Sequence
from gradtrace.engine.data.state import state
from gradtrace.lang.budget import Meter
from gradtrace.lang.costs import charge_change, charge_visit
from gradtrace.lang.hash_cost import charge_key
from gradtrace.lang.subscripts import set_item
from gradtrace.lang.unit import Code, Frame, Store, Unit
from gradtrace.program import syntax as ast


def compile_store(node: ast.AST, unit: Unit) -> Store:
    """Return the closure of an assignment target, which takes the frame and the value."""
    if isinstance(node, ast.Name):
        return unit.store(node.id)
    if isinstance(node, ast.Attribute):
        return store_attribute(node, unit)
    if isinstance(node, ast.Subscript):
        return store_item(node, unit)
    assert isinstance(node, (ast.Tuple, ast.List))
    return unpacking(node.elts, unit, unit.origin(node))


def store_attribute(node: ast.Attribute, unit: Unit) -> Store:
    owner, origin, put = unit.compile(node.value), unit.origin(node), attribute_writer(node.attr, unit)

    def assign(f: Frame, value: Any) -> None:
        target = owner(f)
        state.origin = origin
        put(target, value)

    return assign


def attribute_writer(key: str, unit: Unit) -> Callable[[Any, Any], None]:
    """Return the function that sets the attribute `key` of an object, through the gate."""
    settable, put = unit.gate.settable(key), unit.gate.assign

    def write(target: Any, value: Any) -> None:
        if type(target) in settable:
            setattr(target, key, value)
        else:
            put(target, key, value)

    return write


def store_item(node: ast.Subscript, unit: Unit) -> Store:
    owner, key, origin = unit.compile(node.value), unit.compile(node.slice), unit.origin(node)
    write = item_writer(unit.meter)

    def assign(f: Frame, value: Any) -> None:
        target = owner(f)
        index = key(f)
        state.origin = origin
        write(target, index, value)

    return assign


def item_writer(meter: Meter) -> Callable[[Any, Any, Any], None]:
    """Return the function that sets an item, charged for the hash of a tuple and the change of a slice."""

    def write(target: Any, index: Any, value: Any) -> None:
        if type(index) is tuple:
            charge_key(index, meter)
        elif type(index) is slice:
            charge_change(target, index, meter)
            charge_visit(value, meter)
        set_item(target, index, value)

    return write


def unpacking(elements: Sequence[ast.expr], unit: Unit, origin: int) -> Store:
    """Compile `a, b = value` and `a, *b = value`."""
    star = next((i for i, e in enumerate(elements) if isinstance(e, ast.Starred)), None)
    stores = [compile_store(e.value if isinstance(e, ast.Starred) else e, unit) for e in elements]
    if star is not None:
        return starred(stores, star, origin, unit.meter)
    n = len(stores)

    def assign(f: Frame, value: Any) -> None:
        if type(value) is not tuple or len(value) != n:
            state.origin = origin
            value = exactly(n, value)
        for store, item in zip(stores, value):
            store(f, item)

    return assign


def exactly(n: int, value: Any) -> list[Any]:
    """Return the items of a value; raise ValueError with Python's message if there are not n of them."""
    items: list[Any] = []
    for item in iterator(value):
        if len(items) == n:
            raise ValueError(f"too many values to unpack (expected {n})")
        items.append(item)
    if len(items) < n:
        raise ValueError(f"not enough values to unpack (expected {n}, got {len(items)})")
    return items


def starred(stores: list[Store], star: int, origin: int, meter: Meter) -> Store:
    n, after = len(stores), len(stores) - 1 - star

    def assign(f: Frame, value: Any) -> None:
        state.origin = origin
        charge_visit(value, meter, 3)
        items = list(iterator(value))
        if len(items) < n - 1:
            raise ValueError(f"not enough values to unpack (expected at least {n - 1}, got {len(items)})")
        end = len(items) - after
        for store, item in zip(stores, [*items[:star], items[star:end], *items[end:]], strict=True):
            store(f, item)

    return assign


def iterator(value: Any) -> Any:
    try:
        return iter(value)
    except TypeError as error:
        if "not iterable" not in str(error):
            raise
        raise TypeError(f"cannot unpack non-iterable {type(value).__name__} object") from None


def compile_delete(node: ast.AST, unit: Unit) -> Code:
    """Return the closure that deletes a target of `del`."""
    if isinstance(node, ast.Name):
        return unit.delete(node)
    origin = unit.origin(node)
    if isinstance(node, ast.Attribute):
        owner, key, remove = unit.compile(node.value), node.attr, unit.gate.remove

        def attribute(f: Frame) -> None:
            target = owner(f)
            state.origin = origin
            remove(target, key)

        return attribute
    if isinstance(node, ast.Subscript):
        owner, item, meter = unit.compile(node.value), unit.compile(node.slice), unit.meter

        def element(f: Frame) -> None:
            target = owner(f)
            index = item(f)
            state.origin = origin
            if type(index) is tuple:
                charge_key(index, meter)
            charge_change(target, index, meter)
            del target[index]

        return element
    assert isinstance(node, (ast.Tuple, ast.List))
    parts = [compile_delete(e, unit) for e in node.elts]

    def delete_all(f: Frame) -> None:
        for part in parts:
            part(f)

    return delete_all
