"""Pytrees: flatten nested lists, tuples and dicts of tensors into leaves and a structure, and
back.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from gradtrace.ops import api, find


class TreeSpec(NamedTuple):
    """The structure of a nested value. `kind` is the container's type, or None for a leaf; `keys`
    are a dict's keys.
    """

    kind: Any
    keys: tuple[Any, ...]
    children: tuple[TreeSpec, ...]

    def __repr__(self) -> str:
        """Return the repr that PyTorch prints for a TreeSpec."""
        if self.kind is None:
            return "*"
        context = list(self.keys) if issubclass(self.kind, dict) else None
        children = ",\n".join(repr(child) for child in self.children).replace("\n", "\n  ")
        return f"TreeSpec({self.kind.__name__}, {context!r}, [{children}])"

    @property
    def num_leaves(self) -> int:
        """The number of leaves."""
        return 1 if self.kind is None else sum(child.num_leaves for child in self.children)

    @property
    def num_children(self) -> int:
        """The number of items of the outermost container."""
        return len(self.children)

    def is_leaf(self) -> bool:
        """Return whether this is the structure of a leaf."""
        return self.kind is None

    def outline(self) -> str:
        """Return the structure as a Python value with `*` for leaves."""
        if self.kind is None:
            return "*"
        inner = [child.outline() for child in self.children]
        if issubclass(self.kind, dict):
            return (
                "{" + ", ".join(f"{k!r}: {v}" for k, v in zip(self.keys, inner, strict=True)) + "}"
            )
        if issubclass(self.kind, list):
            return "[" + ", ".join(inner) + "]"
        return "(" + ", ".join(inner) + ("," if len(inner) == 1 else "") + ")"


LEAF = TreeSpec(None, (), ())


def flatten(value: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """Return the leaves of a nested value from left to right, and its structure.

    A container for which `is_leaf` returns True is a leaf.
    """
    leaves: list[Any] = []
    return leaves, _take_apart(value, leaves, is_leaf)


def _take_apart(value: Any, leaves: list[Any], is_leaf: Callable[[Any], bool] | None) -> TreeSpec:
    kind = type(value)
    if is_leaf is not None and is_leaf(value):
        leaves.append(value)
        return LEAF
    if kind in (dict, OrderedDict):
        return TreeSpec(
            kind, tuple(value), tuple(_take_apart(v, leaves, is_leaf) for v in value.values())
        )
    if kind in (list, tuple) or (
        isinstance(value, tuple) and (hasattr(value, "_fields") or hasattr(value, "_item_names"))
    ):
        return TreeSpec(kind, (), tuple(_take_apart(v, leaves, is_leaf) for v in value))
    leaves.append(value)
    return LEAF


def unflatten(leaves: Any, spec: TreeSpec) -> Any:
    """Rebuild a nested value from its leaves and structure."""
    return _put_together(iter(leaves), spec)


def _put_together(leaves: Iterator[Any], spec: TreeSpec) -> Any:
    if spec.kind is None:
        return next(leaves)
    children = [_put_together(leaves, child) for child in spec.children]
    if issubclass(spec.kind, dict):
        return spec.kind(zip(spec.keys, children, strict=True))
    return spec.kind._make(children) if hasattr(spec.kind, "_make") else spec.kind(children)


def apply(function: Callable[[Any], Any], value: Any) -> Any:
    """Apply `function` to every leaf of a nested value."""
    leaves, spec = flatten(value)
    return unflatten([function(leaf) for leaf in leaves], spec)


def broadcast(prefix: Any, spec: TreeSpec) -> list[Any] | None:
    """Return an entry of `prefix` for every leaf of `spec`, or None if the structures do not match.

    A leaf of the prefix applies to a whole subtree.
    """
    if type(prefix) not in (list, tuple, dict, OrderedDict):
        return [prefix] * spec.num_leaves
    entries = list(prefix.values()) if isinstance(prefix, dict) else list(prefix)
    if type(prefix) is not spec.kind or len(entries) != len(spec.children):
        return None
    if isinstance(prefix, dict) and tuple(prefix) != spec.keys:
        return None
    parts = [broadcast(entry, child) for entry, child in zip(entries, spec.children, strict=True)]
    results = [part for part in parts if part is not None]
    return [x for part in results for x in part] if len(results) == len(parts) else None


def torch_function(name: str) -> Any:
    """Return the public function `torch.NAME`, importing its family if necessary."""
    return find(api.functions, name)
