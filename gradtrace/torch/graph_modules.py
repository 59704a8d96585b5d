"""Give the graph behind a tensor operations and modules, so that a large one folds as a recorded
run does.

An operation stands for each node. Its module is that of the parameters that it reads; a node that
reads none is in the innermost module around the nodes before and after it, in the order in which
PyTorch made them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import takewhile

from gradtrace.trace.record import FunctionRecord, Operand, Operation, ScopeRecord, Trace, Value


def with_modules(
    trace: Trace, modules: Mapping[str, str], results: Mapping[int, Sequence[Value]]
) -> Trace:
    """Return the trace with operations and the scopes of modules. `modules` has classes by path,
    `results` the shapes of what each node's operation gave, by the node's id.
    """
    nodes = [node for node in trace.functions if node.variable is None]
    nodes.sort(key=lambda node: node.sequence)
    tensors = list(trace.tensors)
    functions = list(trace.functions)
    outputs: dict[int, list[int]] = {
        node.id: [node.variable] for node in trace.functions if node.variable is not None
    }
    inputs: dict[int, list[Operand]] = {node.id: [] for node in nodes}
    operations: list[Operation] = []
    for number, node in enumerate(nodes):
        name = operator_of(node)
        own = list(node.outputs)
        template = tensors[own[0] if own else trace.roots[0]]
        for value in results.get(node.id, ())[len(own) :]:
            own.append(len(tensors))
            tensors.append(
                template._replace(
                    id=own[-1],
                    first=own[-1],
                    name=None,
                    names=(),
                    label=name,
                    value=value,
                    grad=None,
                    grad_note="",
                    is_output=False,
                    is_root=False,
                    function=node.id,
                    grad_fn=node.name,
                )
            )
        for i in own:
            tensors[i] = tensors[i]._replace(op=name, operation=number)
        outputs[node.id] = own
        functions[node.id] = node._replace(outputs=tuple(own))
    for edge in trace.function_edges:
        results_of_target = outputs[edge.target]
        tensor = results_of_target[min(edge.output_nr, len(results_of_target) - 1)]
        inputs[edge.source].append(
            Operand(tensor, tensors[tensor].label, edge.input_index, edge=edge.input_index)
        )
    chains = [
        modules_of(
            [tensors[o.tensor].label for o in inputs[node.id] if o.tensor is not None], modules
        )
        for node in nodes
    ]
    scopes, innermost = scopes_of(filled(chains), modules)
    for number, node in enumerate(nodes):
        name = operator_of(node)
        operations.append(
            Operation(
                number,
                name,
                name,
                tuple(inputs[node.id]),
                tuple(outputs[node.id]),
                node.name,
                node.id,
                None,
                scope=innermost[number],
            )
        )
    return trace._replace(
        tensors=tuple(tensors),
        operations=tuple(operations),
        functions=tuple(functions),
        scopes=tuple(scopes),
    )


def operator_of(node: FunctionRecord) -> str:
    """Return the operator that a node is of: "native_layer_norm" of NativeLayerNormBackward0."""
    name = node.name.rpartition("Backward")[0] or node.name
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def modules_of(labels: Sequence[str], modules: Mapping[str, str]) -> list[str] | None:
    """Return the modules around the parameters with these labels, the outermost first; None if
    there are no parameters.
    """
    paths = [label for label in labels if label.rpartition(".")[0] in modules]
    if not paths:
        return None
    parts = paths[-1].split(".")[:-1]
    around = [".".join(parts[:end]) for end in range(1, len(parts) + 1)]
    return [path for path in around if path in modules]


def filled(chains: Sequence[list[str] | None]) -> list[list[str]]:
    """Return the modules of each node: what is unknown is common to the known ones before and
    after it.
    """
    following: list[list[str]] = []
    after: list[str] = []
    for chain in reversed(chains):
        after = after if chain is None else chain
        following.append(after)
    before: list[str] = []
    whole = []
    for chain, after in zip(chains, reversed(following), strict=True):
        whole.append(common(before, after) if chain is None else chain)
        before = before if chain is None else chain
    return whole


def scopes_of(
    chains: Sequence[list[str]], modules: Mapping[str, str]
) -> tuple[list[ScopeRecord], list[int | None]]:
    """Return the calls of modules, and each node's innermost one."""
    scopes: list[ScopeRecord] = []
    innermost: list[int | None] = []
    open_scopes: list[ScopeRecord] = []
    for chain in chains:
        shared = len(common([scope.name for scope in open_scopes], chain))
        del open_scopes[shared:]
        for path in chain[shared:]:
            parent = open_scopes[-1].id if open_scopes else None
            scope = ScopeRecord(len(scopes), parent, "module", path, modules[path], None, None)
            scopes.append(scope)
            open_scopes.append(scope)
        innermost.append(open_scopes[-1].id if open_scopes else None)
    return scopes, innermost


def common(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """Return the beginning that two sequences share."""
    pairs = zip(first, second, strict=False)
    return [path for path, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]
