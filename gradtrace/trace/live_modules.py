"""Assign the operations of a live graph to modules, by the parameters that they use.

    scopes_of(nodes, variables) -> a Scope or None for each function

The modules' calls were not recorded. An operation that uses a parameter belongs to the parameter's
module, and so does one that only reshapes a parameter (a transpose). Operations on a path between
two operations of a module belong to that module too: the activations between two layers of a
network. So two calls of a module in sequence appear as one call, with all operations between them.
If some of these belong to other modules, each run of consecutive operations is a call.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Mapping, Sequence
from gradtrace.engine.data.node import AccumulateGrad, Node
from gradtrace.engine.data.state import Scope
from gradtrace.trace.names import Names
from gradtrace.trace.scopes import LIBRARY

MOST = 2_000_000  # modules times operations: beyond, only operations with parameters are looked for


def scopes_of(nodes: Sequence[Node], variables: Mapping[str, Any]) -> tuple[Scope | None, ...]:
    """Return the scope of each function of `nodes`, which are in order of creation; None for
    leaves.
    """
    functions = [node for node in nodes if not isinstance(node, AccumulateGrad)]
    modules = known_modules(variables)
    numbers = {id(node): i for i, node in enumerate(functions)}
    inputs = [[numbers[id(n)] for n in node.next if id(n) in numbers] for node in functions]
    own = own_operations(functions, inputs, modules)
    members = {path: set(operations) for path, operations in own.items()}
    for path in own:
        for outer in enclosing(path, modules):
            members.setdefault(outer, set()).update(own[path])
    calls = filled(members, inputs) if len(members) * len(functions) <= MOST else apart(members)
    deepest: list[Scope | None] = [None] * len(functions)
    for path in sorted(members, key=len):  # outer modules first
        for call in calls[path]:
            around = next((deepest[i] for i in call if deepest[i] is not None), None)
            scope = Scope(around, "module", modules[path])
            for i in call:
                deepest[i] = scope
    return tuple(deepest)


def known_modules(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the modules that variables hold, by the first path to each."""
    names = Names(variables, LIBRARY)
    paths = names.paths()
    return {path: module for path, module in names.modules if paths[id(module)] == path}


def enclosing(path: str, modules: Mapping[str, Any]) -> list[str]:
    """Return the paths of the modules around the module `path`, innermost first."""
    parts = path.split(".")
    return [
        outer for n in range(len(parts) - 1, 0, -1) if (outer := ".".join(parts[:n])) in modules
    ]


def own_operations(
    functions: Sequence[Node], inputs: Sequence[Sequence[int]], modules: Mapping[str, Any]
) -> dict[str, list[int]]:
    """Return for each module's path the operations that use its parameters, and no other
    module's.
    """
    owners: dict[int, str] = {}
    for path, module in modules.items():
        for parameter in module._parameters.values():
            if parameter is not None:
                owners.setdefault(id(parameter), path)
    # by function: the module whose parameters are all that it is computed from
    of_parameters: list[str] = []
    operations: dict[str, list[int]] = {}
    for i, node in enumerate(functions):
        ends = [owners.get(id(n.variable), "") for n in node.next if isinstance(n, AccumulateGrad)]
        ends += [of_parameters[n] for n in inputs[i]]
        named = {path for path in ends if path}
        of_parameters.append(
            min(named) if len(named) == 1 and all(ends) and keeps_to_itself(node) else ""
        )
        if len(named) == 1:
            operations.setdefault(min(named), []).append(i)
    return operations


def keeps_to_itself(node: Node) -> bool:
    """Whether an operation only reshapes or moves its one operand; its module is then that of its
    neighbours.
    """
    return len(node.next) == 1 and node.op is not None and node.op.kind in ("view", "structural")


def filled(
    members: Mapping[str, set[int]], inputs: Sequence[Sequence[int]]
) -> dict[str, list[list[int]]]:
    """Return the calls of each module: one with all operations between its own, or several if other
    modules lie between.
    """
    whole = {path: between(operations, inputs) for path, operations in members.items()}
    alone = apart(members)
    return {
        path: alone[path]
        if any(
            not related(path, neighbour) and operations & members[neighbour]
            for neighbour in members
        )
        else [sorted(operations)]
        for path, operations in whole.items()
    }


def apart(members: Mapping[str, set[int]]) -> dict[str, list[list[int]]]:
    """Return the calls of each module, where each run of consecutive operations is one call."""
    calls: dict[str, list[list[int]]] = {path: [] for path in members}
    for path, operations in members.items():
        for i in sorted(operations):
            if not calls[path] or calls[path][-1][-1] != i - 1:
                calls[path].append([])
            calls[path][-1].append(i)
    return calls


def related(path_a: str, path_b: str) -> bool:
    """Whether one of the two modules is the other, or contains it."""
    return path_a == path_b or path_a.startswith(path_b + ".") or path_b.startswith(path_a + ".")


def between(operations: set[int], inputs: Sequence[Sequence[int]]) -> set[int]:
    """Return the functions on paths between any two of `operations`, including these."""
    after = set(operations)
    for i, sources in enumerate(inputs):
        if not after.isdisjoint(sources):
            after.add(i)
    before = set(operations)
    for i in range(len(inputs) - 1, -1, -1):
        if i in before:
            before.update(inputs[i])
    return after & before
