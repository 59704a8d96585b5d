"""Which modules import which, by any kind of import: at the top, in functions, for types."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping

Graph = dict[str, set[str]]


def imported_modules(tree: ast.AST, modules: Collection[str]) -> Iterator[str]:
    """Yield the modules that a file imports: of `from package import module`, the module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name in modules else str(node.module)


def import_graph(trees: Mapping[str, ast.AST]) -> Graph:
    """Return, for each module, those of the same modules that it imports. Imports are absolute."""
    return {
        module: {name for name in imported_modules(tree, trees) if name in trees and name != module}
        for module, tree in trees.items()
    }


def cycles(graph: Graph) -> list[list[str]]:
    """Return the strongly connected components of more than one module."""
    importers: Graph = {name: set() for name in graph}
    for name, imported in graph.items():
        for target in imported:
            importers[target].add(name)
    components = {frozenset(reachable(name, graph) & reachable(name, importers)) for name in graph}
    return sorted(sorted(component) for component in components if len(component) > 1)


def reachable(start: str, edges: Graph) -> set[str]:
    seen = {start}
    waiting = [start]
    while waiting:
        for name in edges[waiting.pop()] - seen:
            seen.add(name)
            waiting.append(name)
    return seen
