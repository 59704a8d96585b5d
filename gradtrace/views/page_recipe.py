"""The operations of a run as data, for a page that computes them again when a reader changes an
input.

    recipe(trace) -> {"inputs": [0, 1], "roots": [4], "steps": [...], ...}, or with the "reason" why there are no steps

Only runs of numbers of one dtype, also in tensors of one element, are given, whose operations do
not depend on values: no branch, no loop, no write in place. Which operations a page can compute,
its script knows (page_files/teach.js, `RULES`).
"""

from __future__ import annotations

import ast

from gradtrace.annotations import Any
from gradtrace.trace.record import DATA, LEAF, Operand, TensorRecord, Trace, Value

MOST = 400  # operations: more than a reader follows by hand
INPUTS = 12  # fields
FIXED = (
    ast.Module,
    ast.Expr,
    ast.Assign,
    ast.AnnAssign,
    ast.Import,
    ast.ImportFrom,
    ast.alias,
    ast.Name,
    ast.Constant,
    ast.Attribute,
    ast.Call,
    ast.List,
    ast.keyword,
    ast.BinOp,
    ast.UnaryOp,
    ast.operator,
    ast.unaryop,
    ast.expr_context,
)


def recipe(trace: Trace) -> dict[str, Any]:
    """Return the inputs that are numbers, and the steps from them to the root or the `reason` why
    there are none.
    """
    leaves = [t for t in trace.tensors if t.operation is None and t.kind in (LEAF, DATA) and t.name]
    inputs = [t.id for t in leaves if is_number(t)]
    fields = {"inputs": inputs[:INPUTS], "roots": trace.roots}
    reason = hindrance(trace)
    if reason:
        return {**fields, "reason": reason}
    done = trace.passes[0]
    return {
        **fields,
        "steps": [
            [o.name, [operand(source) for source in o.inputs], o.outputs[0]]
            for o in trace.operations
        ],
        "values": {t.id: number_in(t.value) for t in trace.tensors if t.value is not None},
        "single": trace.tensors[0].dtype == "float32",
        "requires": [t.id for t in trace.tensors if t.requires_grad],
        "root": done.roots[0],
        "seed": number_in(done.vectors[0]),
    }


def is_number(tensor: TensorRecord) -> bool:
    value = tensor.value
    return (
        value is not None
        and value.is_whole
        and {*value.shape} <= {1}
        and value.dtype in ("float64", "float32")
    )


def number_in(value: Value) -> float:
    return float(value.data.item() if hasattr(value.data, "item") else value.data)


def operand(operand: Operand) -> int | str | dict[str, float]:
    """Return a tensor's id, a number, or the text of another argument."""
    if operand.tensor is not None:
        return operand.tensor
    try:
        return {"number": float(operand.text)}
    except ValueError:
        return operand.text


def hindrance(trace: Trace) -> str:
    """Return why the operations of a run may not be computed again for other inputs; "" if they
    may.
    """
    odd = next((t.label for t in trace.tensors if not is_number(t)), None)
    if odd is not None:
        return f"{odd} is not one number of type float64 or float32"
    if len({t.dtype for t in trace.tensors}) > 1:
        return "its numbers have two dtypes"
    if trace.failure is not None:
        return "the program failed"
    if len(trace.operations) > MOST:
        return f"the run has more than {MOST} operations"
    if not is_straight(trace.source_text):
        return "the program has a branch, a loop or a function"
    if (
        trace.changes
        or any(t.version for t in trace.tensors)
        or any(len(o.outputs) != 1 for o in trace.operations)
    ):
        return "the program changes a value in place"
    if trace.escapes or not all(o.grad_enabled for o in trace.operations):
        return "a value leaves the graph"
    if any(step.hooks for step in trace.steps):
        return "a hook sees a gradient"
    if len(trace.passes) != 1 or len(trace.passes[0].roots) != 1 or not is_plain(trace):
        return "it takes one plain call of backward"
    return ""


def is_plain(trace: Trace) -> bool:
    done = trace.passes[0]
    return done.stores and not done.error and not done.create_graph and done.inputs is None


def is_straight(text: str) -> bool:
    """Whether a program is a list of statements and expressions, so that it runs the same
    operations for any input.
    """
    try:
        return all(isinstance(node, FIXED) for node in ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError):
        return False
