"""A run's graph as a TensorBoard event file, written by tensorboardX (the extra `tensorboard`).

    write(trace, "runs/one")         then:  tensorboard --logdir runs

The graph has a node for each operation, each leaf that an operation uses and each result, in the
boxes of the modules and functions that they were called in. Names contain only characters that
TensorBoard accepts, and are unique. An operation's number stands before its name ("op12_sin"),
since TensorBoard folds names that end in numbers into series. Every input names a node that exists.
"""

from __future__ import annotations

import io
import os
import re

from gradtrace import files
from gradtrace.annotations import Any
from gradtrace.errors import UsageError
from gradtrace.sandbox import channel
from gradtrace.trace.record import Operation, TensorRecord, Trace
from gradtrace.views import event_files, flow, numbers

LONGEST = 1000  # bytes of an attribute; TensorBoard leaves out those of 1,024 and more
KINDS = {"leaf": "Leaf", "constant": "Const"}
SCOPES = 12  # names of scopes within one another


class Named:
    """The names of the nodes in TensorBoard's graph."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.taken: set[str] = set()
        self.tensors: dict[int, str] = {}
        self.operations = {
            o.id: self.unique(self.within(o.scope, f"op{o.id}_{o.name}")) for o in trace.operations
        }
        homes: dict[int, set[int | None]] = {}
        for operation in trace.operations:
            for operand in operation.inputs:
                if operand.tensor is not None:
                    homes.setdefault(operand.tensor, set()).add(operation.scope)
        for tensor in trace.tensors:
            if tensor.operation is not None:
                self.tensors[tensor.id] = self.operations[tensor.operation]
            elif tensor.id in homes:
                self.tensors[tensor.id] = self.unique(self.leaf(tensor, homes[tensor.id]))

    def leaf(self, tensor: TensorRecord, homes: set[int | None]) -> str:
        """Return the name of a leaf: a parameter is in the box of the one module that uses it,
        others under "input" or "constant".
        """
        if tensor.is_parameter and len(homes) == 1:
            scope = next(iter(homes))
            box = None if scope is None else self.trace.scopes[scope]
            short = tensor.label if box is None else tensor.label.removeprefix(box.name + ".")
            return self.within(
                scope, f"{short}/{short}" if box is not None else f"parameter/{short}"
            )
        if tensor.is_parameter:
            group = "parameter"
        else:
            group = "constant" if tensor.kind == "constant" else "input"
        return f"{group}/{clean(tensor.label)}"

    def within(self, scope: int | None, name: str) -> str:
        parts = ["/".join(map(clean, name.split("/")))]
        while scope is not None and len(parts) <= SCOPES:
            record = self.trace.scopes[scope]
            shown = f"pass{record.turn}" if record.kind == "pass" else record.name
            outer = None if record.parent is None else self.trace.scopes[record.parent]
            if outer is not None and outer.kind == "module" and record.kind == "module":
                shown = shown.removeprefix(outer.name + ".")
            parts.append(
                clean(shown if record.detail in ("", shown) else f"{shown}_{record.detail}")
            )
            scope = record.parent
        return "/".join(reversed(parts))

    def unique(self, name: str) -> str:
        candidate = name
        number = 1
        while candidate in self.taken:
            number += 1
            candidate = f"{name}.n{number}"
        self.taken.add(candidate)
        return candidate


def clean(text: str) -> str:
    """Replace the characters that a TensorFlow name cannot hold (all but letters, digits and _.-);
    the result is never empty.
    """
    safe = re.sub(r"[^A-Za-z0-9_.\-]+", "_", text)[:80]
    return safe if re.match(r"[A-Za-z0-9.]", safe) else f"n{safe}"


def write(trace: Trace, folder: str) -> None:
    """Write one event file into `folder`, which is created if it is missing.

    RenderError if tensorboardX is not installed, UsageError if the folder cannot be written.
    """
    stream = io.BytesIO()
    event_files.EventFile(stream, event_files.Messages()).add_graph(graph_def(trace))
    if channel.is_open():
        files.write_output(folder, stream.getvalue())  # the broker has chosen the file's name
        return
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(
            f"cannot write into '{folder}': {reason}", "choose another --tensorboard"
        ) from error
    files.write_output(os.path.join(folder, event_files.new_name()), stream.getvalue())


def graph_def(trace: Trace) -> Any:
    """Return the graph as TensorFlow's message."""
    from tensorboardX.proto.graph_pb2 import GraphDef
    from tensorboardX.proto.versions_pb2 import VersionDef

    names = Named(trace)
    flowed = flow.gradients(trace)
    nodes = []
    for tensor in trace.tensors:
        if tensor.operation is None and tensor.id in names.tensors:
            kind = "Parameter" if tensor.is_parameter else KINDS.get(tensor.kind, "Input")
            facts = {**tensor_facts(tensor, flowed), "source": tensor.label}
            nodes.append(node(names.tensors[tensor.id], kind, [], [tensor], facts))
    for operation in trace.operations:
        inputs = [names.tensors[o.tensor] for o in operation.inputs if o.tensor is not None]
        outputs = [trace.tensors[t] for t in operation.outputs]
        facts = facts_of(operation, outputs, flowed)
        nodes.append(node(names.operations[operation.id], operation.name, inputs, outputs, facts))
    for tensor_id in trace.outputs or trace.roots:
        tensor = trace.tensors[tensor_id]
        if tensor_id in names.tensors:
            name = names.unique(f"output/{clean(tensor.label)}")
            nodes.append(
                node(
                    name,
                    "Output",
                    [names.tensors[tensor_id]],
                    [tensor],
                    tensor_facts(tensor, flowed),
                )
            )
    return GraphDef(node=nodes, versions=VersionDef(producer=22))


def facts_of(
    operation: Operation, results: list[TensorRecord], flowed: dict[int, Any]
) -> dict[str, str]:
    facts = tensor_facts(results[0], flowed) if len(results) == 1 else {}
    constants = ", ".join(o.text for o in operation.inputs if o.tensor is None)
    line = "" if operation.span is None else f"{operation.span.line}: {operation.text}"
    return {**facts, "constants": constants, "source": line}


def tensor_facts(tensor: TensorRecord, flowed: dict[int, Any]) -> dict[str, str]:
    return {
        "value": numbers.short(tensor.value),
        "grad": numbers.short(tensor.grad if tensor.grad is not None else flowed.get(tensor.id)),
        "grad_fn": tensor.grad_fn or "",
        "requires_grad": str(tensor.requires_grad),
    }


def node(
    name: str, op: str, inputs: list[str], results: list[TensorRecord], facts: dict[str, str]
) -> Any:
    from tensorboardX.proto.attr_value_pb2 import AttrValue
    from tensorboardX.proto.node_def_pb2 import NodeDef
    from tensorboardX.proto.tensor_shape_pb2 import TensorShapeProto

    Dim = TensorShapeProto.Dim
    shapes = [
        TensorShapeProto(dim=[Dim(size=n) for n in t.value.shape])
        for t in results
        if t.value is not None
    ]
    attributes = {key: AttrValue(s=shortened(text)) for key, text in facts.items() if text}
    attributes["_output_shapes"] = AttrValue(list=AttrValue.ListValue(shape=shapes))
    return NodeDef(name=name, op=op, input=inputs, attr=attributes)


def shortened(text: str) -> bytes:
    content = text.encode("utf-8", "replace")
    if len(content) <= LONGEST:
        return content
    return (content[: LONGEST - 3].decode("utf-8", "ignore") + "…").encode()
