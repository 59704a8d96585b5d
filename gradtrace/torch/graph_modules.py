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
    trace = with_results(trace, nodes, results)
    inputs = inputs_of(trace)
    chains = [modules_of([o.text for o in inputs[node.id]], modules) for node in nodes]
    scopes, innermost = scopes_of(filled(chains), modules)
    operations = tuple(
        Operation(
            number,
            operator_of(node),
            operator_of(node),
            tuple(inputs[node.id]),
            trace.functions[node.id].outputs,
            node.name,
            node.id,
            None,
            scope=scope,
        )
        for number, (node, scope) in enumerate(zip(nodes, innermost, strict=True))
    )
    return trace._replace(operations=operations, scopes=tuple(scopes))


def with_results(
    trace: Trace, nodes: Sequence[FunctionRecord], results: Mapping[int, Sequence[Value]]
) -> Trace:
    """Return the trace with a tensor for each result of the nodes, whose operations are numbered in
    this order.
    """
    tensors = list(trace.tensors)
    functions = list(trace.functions)
    for number, node in enumerate(nodes):
        name = operator_of(node)
        outputs = list(node.outputs)
        template = tensors[outputs[0] if outputs else trace.roots[0]]
        # of some nodes an older PyTorch does not tell what they gave
        for value in (results.get(node.id) or (None,))[len(outputs) :]:
            outputs.append(len(tensors))
            tensors.append(
                template._replace(
                    id=outputs[-1],
                    first=outputs[-1],
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
        for i in outputs:
            tensors[i] = tensors[i]._replace(op=name, operation=number)
        functions[node.id] = node._replace(outputs=tuple(outputs))
    return trace._replace(tensors=tuple(tensors), functions=tuple(functions))


def inputs_of(trace: Trace) -> dict[int, list[Operand]]:
    """Return the operands of each node's operation, by the node's id."""
    inputs: dict[int, list[Operand]] = {node.id: [] for node in trace.functions}
    for edge in trace.function_edges:
        target = trace.functions[edge.target]
        outputs = target.outputs if target.variable is None else (target.variable,)
        tensor = outputs[min(edge.output_nr, len(outputs) - 1)]
        inputs[edge.source].append(
            Operand(tensor, trace.tensors[tensor].label, edge.input_index, edge=edge.input_index)
        )
    return inputs


def operator_of(node: FunctionRecord) -> str:
    """Return the operator of a node: "native_layer_norm" of NativeLayerNormBackward0."""
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
    """Return the modules of each node. A node without parameters is in the modules that the nodes
    with parameters before and after it share.
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
    """Return a scope for each call of a module, and the innermost scope of each node."""
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
