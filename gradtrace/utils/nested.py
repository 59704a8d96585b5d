"""torch.utils._pytree: functions on nested lists, tuples and dicts of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtrace.func.pytree import LEAF, TreeSpec, flatten, unflatten

__all__ = [
    "LeafSpec",
    "PyTree",
    "TreeSpec",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_iter",
    "tree_leaves",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_structure",
    "tree_unflatten",
]

PyTree = Any
Leaf = Callable[[Any], bool]


def LeafSpec() -> TreeSpec:
    """Return the structure of a leaf."""
    return LEAF


def tree_flatten(tree: Any, is_leaf: Leaf | None = None) -> tuple[list[Any], TreeSpec]:
    """Return the leaves of a nested value from left to right, and its structure."""
    return flatten(tree, is_leaf)


def tree_unflatten(leaves: Any, treespec: TreeSpec) -> Any:
    """Rebuild a nested value from its leaves and structure. ValueError for a wrong number of
    leaves.
    """
    leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(
            f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to "
            f"a pytree that holds {treespec.num_leaves} items ({treespec})."
        )
    return unflatten(leaves, treespec)


def tree_leaves(tree: Any, is_leaf: Leaf | None = None) -> list[Any]:
    """Return the leaves of a nested value."""
    return flatten(tree, is_leaf)[0]


def tree_iter(tree: Any, is_leaf: Leaf | None = None) -> Any:
    """Return an iterator over the leaves of a nested value."""
    return iter(tree_leaves(tree, is_leaf))


def tree_structure(tree: Any, is_leaf: Leaf | None = None) -> TreeSpec:
    """Return the structure of a nested value."""
    return flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Leaf | None = None) -> Any:
    """Call a function with the leaves of nested values of the same structure, and nest the results
    in the same way.
    """
    leaves, spec = flatten(tree, is_leaf)
    columns = [leaves, *(subtrees_at_leaves(spec, rest) for rest in rests)]
    return unflatten([func(*row) for row in zip(*columns, strict=True)], spec)


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Leaf | None = None) -> Any:
    """Call a function with each leaf for its effect, and return the value itself."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_map_only(kind: Any, func: Any, tree: Any = None, is_leaf: Leaf | None = None) -> Any:
    """Like `tree_map`, for leaves of one type or those that satisfy a predicate; others stay."""

    def call(leaf: Any) -> Any:
        return func(leaf) if is_selected(leaf, kind) else leaf

    return tree_map(call, tree, is_leaf=is_leaf)


def tree_all(pred: Leaf, tree: Any, is_leaf: Leaf | None = None) -> bool:
    """Return whether a predicate holds for all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Leaf, tree: Any, is_leaf: Leaf | None = None) -> bool:
    """Return whether a predicate holds for any leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(kind: Any, pred: Leaf, tree: Any, is_leaf: Leaf | None = None) -> bool:
    """Return whether a predicate holds for all leaves of a type."""
    return all(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if is_selected(leaf, kind))


def tree_any_only(kind: Any, pred: Leaf, tree: Any, is_leaf: Leaf | None = None) -> bool:
    """Return whether a predicate holds for any leaf of a type."""
    return any(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if is_selected(leaf, kind))


def subtrees_at_leaves(spec: TreeSpec, tree: Any) -> list[Any]:
    """Return the parts of a nested value at the positions of a structure's leaves. ValueError if
    the value does not have this structure.
    """
    if spec.kind is None:
        return [tree]
    if type(tree) is not spec.kind:
        raise ValueError(f"Node type mismatch; expected {spec.kind!r}, but got {type(tree)!r}.")
    if len(tree) != len(spec.children):
        raise ValueError(
            f"Node arity mismatch; expected {len(spec.children)}, but got {len(tree)}."
        )
    parts = [tree[key] for key in spec.keys] if isinstance(tree, dict) else tree
    return [
        leaf
        for child, part in zip(spec.children, parts)
        for leaf in subtrees_at_leaves(child, part)
    ]


def is_selected(leaf: Any, kind: Any) -> bool:
    """Return whether a leaf is of a type, of one of several types, or satisfies a predicate."""
    return isinstance(leaf, kind) if isinstance(kind, (type, tuple)) else bool(kind(leaf))
