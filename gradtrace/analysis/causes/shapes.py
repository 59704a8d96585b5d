"""Explain shapes that do not fit, by the place where each of them was made, and find the tensors at
a failure.
"""

from __future__ import annotations

import re

from gradtrace.analysis.cause import Cause, Evidence
from gradtrace.analysis.facts import Facts
from gradtrace.analysis.rewrites import arguments, expression, instead, span_of
from gradtrace.analysis.terms import made_at, named, operator, scopes_of
from gradtrace.annotations import Any
from gradtrace.engine.operators.tables import function_table
from gradtrace.program import syntax as ast
from gradtrace.trace.record import Failure, Operation, Span, TensorRecord

SHAPES = re.compile(r"\((\d+(?:x\d+)+) and (\d+(?:x\d+)+)\)")
SIZES = re.compile(r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\)")
BATCHES = re.compile(r"input batch_size \((\d+)\) to match target batch_size \((\d+)\)")
RESHAPES = function_table(
    "analysis.causes.shapes.RESHAPES",
    (
        "view",
        "reshape",
        "flatten",
        "squeeze",
        "unsqueeze",
        "permute",
        "transpose",
        "t",
        "cat",
        "stack",
        "expand",
    ),
)


def latest_of_shape(facts: Facts, shape: tuple[int, ...]) -> TensorRecord | None:
    """Return the last tensor of a shape that the program made."""
    return next((t for t in reversed(facts.tensors) if t.shape == shape), None)


def reshaped_by(facts: Facts, record: TensorRecord) -> Operation | None:
    """Return the operation that gave a tensor its shape, a few operations before; None if it was
    created in this shape.
    """
    for _ in range(4):
        maker = facts.maker(record.id)
        if maker is None or operator(maker) in RESHAPES:
            return maker
        before = [facts.tensors[i] for i in maker.tensors]
        same = next((t for t in before if t.value is not None and t.shape == record.shape), None)
        if same is None:
            return None
        record = same
    return None


def shaped_at(facts: Facts, record: TensorRecord) -> Span | None:
    operation = reshaped_by(facts, record)
    return operation.span if operation is not None else made_at(facts, record)


def wrong_shape(facts: Facts, failure: Failure) -> Cause | None:
    """Explain two tensors whose shapes do not fit: which they are, and where each got its shape."""
    matrices = SHAPES.search(failure.message)
    if matrices is not None:
        shapes = [tuple(map(int, text.split("x"))) for text in matrices.groups()]
        product = product_at(facts, failure)
        left, right = (
            operand_at(facts, product, place) or latest_of_shape(facts, shape)
            for place, shape in enumerate(shapes)
        )
        return None if left is None else of_product(facts, left, right, shapes, product)
    sizes = SIZES.search(failure.message) or BATCHES.search(failure.message)
    if sizes is None:
        return None
    numbers = {int(x) for x in sizes.groups()}
    tensors = [t for t in tensors_at(facts, failure) if numbers & set(t.shape)]
    tensors = [t for t in tensors if not t.is_leaf or not t.requires_grad][:3] or tensors[:3]
    if len(tensors) < 2:
        return None
    shaped = next((o for t in tensors if (o := reshaped_by(facts, t)) is not None), None)
    span = shaped.span if shaped is not None else made_at(facts, tensors[-1])
    pair = " and ".join(f"{named(facts, t.id)} has the shape {t.shape}" for t in tensors[:2])
    clause = (
        f", made by {operator(shaped)}{facts.at_line(shaped.span)}"
        if shaped is not None
        else lines_made(facts, tensors)
    )
    return Cause(
        "wrong shape",
        f"{pair}{clause}, which do not fit together",
        [shape_evidence(facts, t) for t in tensors],
        (
            f"give them one shape where they are made{facts.at_line(span)}: view, unsqueeze(1), or "
            "the other size",
        ),
        name=named(facts, tensors[0].id),
    )


def lines_made(facts: Facts, records: list[TensorRecord]) -> str:
    """Return " (made on lines 3 and 5)" or " (made at line 3 and layers.py:5)" for the first two
    tensors; "" unless both places are recorded.
    """
    lines = [facts.where(span) for t in records[:2] if (span := made_at(facts, t)) is not None]
    numbers = [line.removeprefix("line ") for line in lines if line.startswith("line ")]
    joined = " and ".join(numbers if len(numbers) == 2 else lines)
    return (
        f" (made {'on lines' if len(numbers) == 2 else 'at'} {joined})" if len(lines) == 2 else ""
    )


def shape_evidence(facts: Facts, record: TensorRecord) -> Evidence:
    return facts.at(
        f"{named(facts, record.id)} gets the shape {record.shape} here", shaped_at(facts, record)
    )


def product_at(facts: Facts, failure: Failure) -> Any:
    """Return the matrix product of two operands in the text that failed, or None."""
    node = expression(facts, failure.span)
    is_product = isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)
    is_call = isinstance(node, ast.Call) and facts.text.cut(node.func).rpartition(".")[2] in (
        "mm",
        "matmul",
    )
    return node if (is_product or is_call) and len(arguments(facts, node)) == 2 else None


def operand_at(facts: Facts, product: Any, place: int) -> TensorRecord | None:
    """Return the tensor of the first (`place` 0) or second operand; None unless it is a
    variable.
    """
    return None if product is None else facts.variable(arguments(facts, product)[place])


def transposed(facts: Facts, product: Any, shapes: list[tuple[int, ...]]) -> list[str]:
    """Return the products of the same two matrices whose shapes fit."""
    (rows, inner), (second_rows, columns) = shapes
    span = None if product is None else span_of(product)
    fixes = []
    if inner == columns:
        fixes.append(instead(facts, span, "{0} @ {1}.t()", "transpose the second: "))
    if rows == second_rows:
        fixes.append(instead(facts, span, "{0}.t() @ {1}", "or the first: "))
    return [fix for fix in fixes if fix is not None]


def of_product(
    facts: Facts,
    left: TensorRecord,
    right: TensorRecord | None,
    shapes: list[tuple[int, ...]],
    product: Any = None,
) -> Cause:
    """Explain a failed matrix product of a layer's input and its weight."""
    operation = reshaped_by(facts, left)
    span = shaped_at(facts, left)
    name = named(facts, left.id)
    width = shapes[0][-1]
    wanted = shapes[1][0]
    evidence = [facts.at(f"{name} has the shape {shapes[0]}", span)]
    fix: list[str] = []
    layer = weight_behind(facts, right)
    if layer is not None:
        begun = facts.begun.get(layer.id)
        owner = named(facts, layer.id).removesuffix(".weight")
        evidence.append(facts.at(f"{owner} takes {wanted} features", begun))
        taker = f"{owner}, made{facts.at_line(begun)}, takes {wanted}"
        fix.append(
            f"nn.Linear({width}, ...) in place of nn.Linear({wanted}, ...){facts.at_line(begun)}"
        )
    else:
        taker = f"the other matrix has {wanted} rows, shape {shapes[1]}"
        if right is not None:
            evidence.append(shape_evidence(facts, right))
    before = (
        None
        if operation is None or not operation.tensors
        else facts.tensors[operation.tensors[0]].value
    )
    if before is not None and before.shape and before.numel == wanted * before.shape[0]:
        fix.insert(
            0,
            f"x = x.flatten(1){facts.at_line(span)}: then it has {wanted} features for each sample",
        )
    elif layer is None and right is not None and width == shapes[1][-1]:
        second = f"transpose the second: {name} @ {named(facts, right.id)}.t()"
        fix = transposed(facts, product, shapes) or [second]
    return Cause(
        "wrong shape",
        f"{name}{facts.at_line(span)} has the shape {shapes[0]}, so {width} features for each row, "
        f"and {taker}",
        evidence,
        tuple(fix) or ("look at the sizes of both",),
        name=name,
    )


def weight_behind(facts: Facts, record: TensorRecord | None) -> TensorRecord | None:
    """Return the parameter that a transposed weight is a view of."""
    maker = None if record is None else facts.maker(record.id)
    if maker is not None:
        record = facts.tensors[maker.tensors[0]] if maker.tensors else None
    return record if record is not None and record.is_parameter else None


# ---- the place of a failure


def failed_statements(facts: Facts, failure: Failure) -> list[Any]:
    """Return the statement that failed, then the statements whose calls it ran in."""
    spans: list[Span | None] = [failure.span]
    for operation in facts.operations[-1:]:
        spans += [s.span for s in scopes_of(facts, operation) if s.kind in ("module", "function")]
    around = dict.fromkeys(map(facts.text.statement, spans))
    return [s for s in around if s is not None and not hasattr(s, "body")]


def tensors_at(facts: Facts, failure: Failure) -> list[TensorRecord]:
    """Return the tensors at the place of the failure: variables, and results of expressions."""
    tensors: dict[int, TensorRecord] = {}
    for statement in failed_statements(facts, failure):
        texts = {facts.text.cut(n) for n in ast.walk(statement) if isinstance(n, ast.expr)}
        for record in reversed(facts.tensors):
            if named(facts, record.id) in texts or record.name in texts:
                tensors.setdefault(record.first, record)
    return list(tensors.values())
