"""What stands left of an assignment: names, attributes, items, and unpacking."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from gradtrace.engine.state import state
from gradtrace.lang import attributes
from gradtrace.lang.expressions import compile_expression
from gradtrace.lang.scope import Frame, Unit

Store = Callable[[Frame, Any], None]


def store_target(node: ast.AST, unit: Unit) -> Store:
    if isinstance(node, ast.Name):
        return unit.store(node.id)
    if isinstance(node, ast.Attribute):
        owner, key = compile_expression(node.value, unit), node.attr
        return lambda f, value: attributes.put(owner(f), key, value)
    if isinstance(node, ast.Subscript):
        return store_item(node, unit)
    if isinstance(node, ast.Starred):
        return store_target(node.value, unit)
    assert isinstance(node, (ast.Tuple, ast.List))
    return unpacking(node, unit)


def store_item(node: ast.Subscript, unit: Unit) -> Store:
    owner, key, origin = compile_expression(node.value, unit), compile_expression(node.slice, unit), unit.origin(node)

    def run(f: Frame, value: Any) -> None:
        target = owner(f)
        index = key(f)
        state.origin = origin
        if isinstance(target, attributes.Frozen) and not hasattr(type(target), "__setitem__"):
            raise TypeError(f"'{type(target).__name__}' object does not support item assignment")
        target[index] = value

    return run


def unpacking(node: ast.Tuple | ast.List, unit: Unit) -> Store:
    stores = [store_target(e, unit) for e in node.elts]
    star = next((i for i, e in enumerate(node.elts) if isinstance(e, ast.Starred)), None)
    n = len(stores)

    def run(f: Frame, value: Any) -> None:
        items = list(value)
        if star is None:
            if len(items) > n:
                raise ValueError(f"too many values to unpack (expected {n})")
            if len(items) < n:
                raise ValueError(f"not enough values to unpack (expected {n}, got {len(items)})")
        else:
            if len(items) < n - 1:
                raise ValueError(f"not enough values to unpack (expected at least {n - 1}, got {len(items)})")
            end = len(items) - (n - 1 - star)
            items = [*items[:star], items[star:end], *items[end:]]
        for store, item in zip(stores, items, strict=True):
            store(f, item)

    return run
