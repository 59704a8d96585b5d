"""Find where the wrong dtype, shape or gradient behind a failure was made, which may be long before
the failure.
"""

from __future__ import annotations

import re

from gradtrace.analysis import places
from gradtrace.analysis.cause import Cause, Evidence, Fix
from gradtrace.analysis.causes.loops import rebound
from gradtrace.analysis.causes.shapes import failed_statements, tensors_at, wrong_shape
from gradtrace.analysis.facts import Facts
from gradtrace.analysis.rewrites import span_of, with_line_after
from gradtrace.analysis.terms import is_place, made_at, method_of, named, operator
from gradtrace.analysis.why import explain
from gradtrace.analysis.words import brief
from gradtrace.annotations import Any
from gradtrace.program import syntax as ast
from gradtrace.trace.operands import record_of
from gradtrace.trace.record import Failure, Operation, Span, TensorRecord

DTYPES = {
    "Double": "float64",
    "Float": "float32",
    "Half": "float16",
    "Long": "int64",
    "Int": "int32",
    "Bool": "bool",
    "Byte": "uint8",
}
DTYPES |= {name.lower(): dtype for name, dtype in DTYPES.items()} | {
    dtype: dtype for dtype in DTYPES.values()
}
CAST = {
    "float32": ".float()",
    "float64": ".double()",
    "int64": ".long()",
    "float16": ".half()",
    "int32": ".int()",
}
TYPE = re.compile(r"\b(" + "|".join(DTYPES) + r")(?:Tensor)?\b")
GRADIENT = re.compile(
    r"Function (\w+)Backward returned an invalid gradient at index (\d+) - "
    r"got \[([^]]*)\] but expected shape compatible with \[([^]]*)\]"
)
HALF = 65504  # the largest float16
TARGET = re.compile(r"Target (-?\d+) is out of bounds")


def failure_cause(facts: Facts, failure: Failure) -> Cause | None:
    """Find where the value that a program failed with was made; None if only the place of the error
    is known.
    """
    for ask in ASKED:
        cause = ask(facts, failure)
        if cause is not None:
            return cause._replace(symptom="the program failed")
    return no_gradient(facts, failure)


def source_of(facts: Facts, record: TensorRecord) -> TensorRecord:
    """Return the first tensor on the path to this one that has its dtype."""
    while record.value is not None and (maker := facts.maker(record.id)) is not None:
        same = [t for i in maker.tensors if (t := facts.tensors[i]).dtype == record.dtype]
        if not same:
            return record
        record = same[0]
    return record


# ---- dtypes


def beyond_half(facts: Facts, failure: Failure) -> Cause | None:
    """Explain a constant that float16 does not hold."""
    if "value cannot be converted to type" not in failure.message or "Half" not in failure.message:
        return None
    statement = facts.text.statement(failure.span)
    numbers = (
        [facts.text.cut(node) for node in ast.walk(statement) if is_number(node)]
        if statement is not None
        else []
    )
    value = next(
        (text for text in numbers if abs(float(text.replace(" ", ""))) > HALF), "the constant"
    )
    line = facts.at_line(failure.span)
    return Cause(
        "wrong dtype",
        f"{value}{line} is more than float16 holds, which is {HALF}",
        (facts.at("a constant is written into a tensor of float16", failure.span),),
        (
            f"torch.finfo(x.dtype).min in place of {value}{line}, or float('-inf'), for a mask of "
            "scores",
            "or bfloat16 in place of float16, which has the range of float32",
        ),
    )


def is_number(node: Any) -> bool:
    """Whether a syntax node is a number, or minus a number."""
    inner = (
        node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node
    )
    return isinstance(inner, ast.Constant) and type(inner.value) in (int, float)


def wrong_dtype(facts: Facts, failure: Failure) -> Cause | None:
    """Explain a tensor whose dtype the operation, or the rest of the program, does not accept."""
    message = failure.message
    dtypes = [DTYPES[word] for word in TYPE.findall(message)]
    if not dtypes or not re.search(r"dtype|scalar type|type", message):
        return None
    target = "target" in message or "expected scalar type Long" in message
    wanted = "int64" if target else "float32"
    odd = (
        ["float32"]
        if target and "Float" in message
        else [dtype for dtype in dtypes if dtype != wanted]
    )
    wrong = [t for t in tensors_at(facts, failure) if not t.requires_grad and t.dtype in odd]
    if not wrong and not target:
        wrong = [t for t in facts.tensors if t.dtype in odd and t.operation is None]
    if not wrong:
        return None
    record = source_of(facts, wrong[0])
    name = named(facts, record.id)
    span = made_at(facts, record)
    dtype = record.dtype
    reader = (
        "class labels" if target and "target" in message.lower() else "the rest of the computation"
    )
    fix = f"{name} = {name}{CAST[wanted]}" if name.isidentifier() else f"{name}{CAST[wanted]}"
    literal = f"dtype=torch.{dtype}" in facts.text.line(span)
    return Cause(
        "wrong dtype",
        f"{name}, made{facts.at_line(span)}, is {dtype}, and {reader} need{'' if target else 's'} "
        f"{wanted}",
        (facts.at(f"{name} is made as {dtype}", span),),
        (as_dtype(facts, span, dtype, wanted), f"or {fix}")
        if literal
        else (converted(facts, span, name, fix),),
        name=name,
    )


def as_dtype(facts: Facts, span: Span | None, dtype: str, wanted: str) -> str:
    """Return the advice to make a tensor with another dtype where the text names its dtype."""
    text = f"dtype=torch.{wanted}{facts.at_line(span)}"
    nodes = ast.walk(facts.text.statement(span) or ast.Module([], []))
    dtypes = [
        n.value
        for n in nodes
        if isinstance(n, ast.keyword) and facts.text.cut(n.value) == f"torch.{dtype}"
    ]
    return Fix(text, [(span_of(node), f"torch.{wanted}") for node in dtypes]) if dtypes else text


def converted(facts: Facts, span: Span | None, name: str, fix: str) -> str:
    """Return the advice to convert a variable after the statement that makes it."""
    statement = facts.text.statement(span)
    is_bound = statement is not None and name in places.targets(statement)
    return with_line_after(facts, statement, fix, fix) if is_bound else fix


# ---- custom Functions, labels, rows


def wrong_gradient(facts: Facts, failure: Failure) -> Cause | None:
    """Find the line that made the gradient of a wrong shape that a Function's backward returned."""
    match = GRADIENT.search(failure.message)
    if match is None:
        return None
    name = match.group(1)
    index = int(match.group(2))
    got, wanted = (
        tuple(int(x) for x in text.split(",") if x.strip()) for text in match.groups()[2:]
    )
    method = method_of(facts, name, "backward")
    returns = (
        []
        if method is None
        else [n for n in ast.walk(method) if isinstance(n, ast.Return) and n.value is not None]
    )
    if not returns:
        return None
    value: Any = returns[0].value
    if isinstance(value, ast.Tuple):
        value = value.elts[min(index, len(value.elts) - 1)]
    text = facts.text.cut(value)
    head = places.head_of(returns[0])
    if isinstance(value, ast.Name):
        bound = [
            s
            for s in facts.text.assignments(value.id)
            if method.lineno <= s.lineno <= (method.end_lineno or 0)
        ]
        if bound:
            head = places.head_of(bound[-1])
            text = facts.text.cut(bound[-1].value) if hasattr(bound[-1], "value") else text
    returned = text if len(text) < 40 else "the gradient"
    fix = f"return ({text}).sum_to_size({wanted})"
    if got == wanted[::-1]:
        left, at, right = text.partition(" @ ")
        fix = f"transpose it: ({text}).t()"
        if at and left.endswith(".t()"):
            fix = f"{right}.t() @ {left.removesuffix('.t()')}, which has the shape {wanted}"
    return Cause(
        "wrong gradient shape",
        f"{name}.backward returns {returned}{facts.at_line(head)} for input {index}, of shape "
        f"{got}; the input has the shape {wanted}",
        (facts.at(f"the gradient for input {index} is made here, with the shape {got}", head),),
        (fix,),
        name=name,
    )


def out_of_bounds(facts: Facts, failure: Failure) -> Cause | None:
    """Explain a class label that has no score, or an index beyond an embedding's rows."""
    is_label = TARGET.search(failure.message) is not None
    if not is_label and "index out of range" not in failure.message:
        return None
    at_hand = tensors_at(facts, failure)
    whole = [t for t in at_hand if t.dtype == "int64"]
    row = None if is_label else lookup(facts, failure, whole)
    if row is not None:
        return beyond_rows(facts, *row)
    if not whole:
        return None
    name = named(facts, whole[0].id)
    span = made_at(facts, whole[0])
    top = largest(whole[0])
    label = TARGET.search(failure.message)
    if label is not None and int(label[1]) < 0:
        return negative_label(facts, name, span, label[1])
    scores = scores_for(facts, whole[0])
    there = (
        "there are fewer rows than that"
        if scores is None
        else f"there are {scores} scores, for 0 to {scores - 1}"
    )
    return Cause(
        "out of range",
        f"{name}, made{facts.at_line(span)}, goes up to {top}, and {there}",
        (facts.at(f"{name} is made here", span),),
        (
            f"as many outputs as classes: nn.Linear(..., {int(top or 0) + 1})",
            "labels count from 0: labels - 1",
        ),
        name=name,
    )


def lookup(
    facts: Facts, failure: Failure, whole: list[TensorRecord]
) -> tuple[TensorRecord, TensorRecord] | None:
    """Return the indices and the rows of the lookup that failed; of a layer that the statement
    calls if it is known.
    """
    layers = set(re.findall(r"(\w+)\(", facts.text.line(failure.span)))
    called = [
        t
        for t in facts.tensors
        if t.is_parameter and layers.intersection(t.label.split(".")[-2:-1])
    ]
    unnamed = [
        t
        for t in reversed(facts.tensors)
        if called and t.dtype == "int64" and not facts.readers(t.id)
    ]
    # an index beyond that of an unknown layer may be something else
    most = None if called else 10**6
    pairs = ((t, w) for t in (*whole, *unnamed) for w in called or facts.tensors)
    return next(((t, w) for t, w in pairs if beyond(t, w, most)), None)


def negative_label(facts: Facts, name: str, span: Any, label: str) -> Cause:
    return Cause(
        "out of range",
        f"{name}, made{facts.at_line(span)}, has the label {label}, and labels count from 0",
        (facts.at(f"{name} is made here", span),),
        (
            f"ignore_index={label} in the loss, if such labels mark what does not count",
            "else look at the labels",
        ),
        name=name,
    )


def scores_for(facts: Facts, labels: TensorRecord) -> int | None:
    """Return the number of scores for each label: of the last result that nothing has read, in the
    labels' number.
    """
    top = largest(labels)
    for t in reversed(facts.tensors):
        fits = (
            len(t.shape) > 1 and t.dtype.startswith(("float", "bfloat")) and t.operation is not None
        )
        if fits and t.shape[0] == labels.shape[:1][0] and top is not None and t.shape[1] <= top:
            return t.shape[1] if not facts.readers(t.id) else None
    return None


def largest(record: TensorRecord) -> Any:
    return None if record.value is None else record.value.summary.maximum


def beyond(record: TensorRecord, weight: TensorRecord, most: int | None) -> bool:
    """Whether the largest index exceeds the rows of a parameter that the failed lookup may have
    read.
    """
    top = largest(record)
    if top is None or not weight.is_parameter or len(weight.shape) != 2:
        return False
    return bool(top >= weight.shape[0] and (most is None or top < most))


def beyond_rows(facts: Facts, record: TensorRecord, weight: TensorRecord) -> Cause:
    name = named(facts, record.id)
    span = made_at(facts, record)
    top = int(largest(record))
    rows = weight.shape[0]
    begun = facts.begun.get(weight.id)
    owner = named(facts, weight.id).removesuffix(".weight")
    clause = "" if begun is None else f", made{facts.at_line(begun)},"
    return Cause(
        "out of range",
        f"{name}, made{facts.at_line(span)}, goes up to {top}, and {owner}{clause} has {rows} "
        f"rows: 0 to {rows - 1}",
        (facts.at(f"{name} goes up to {top}", span), facts.at(f"{owner} has {rows} rows", begun)),
        (f"nn.Embedding({top + 1}, ...){facts.at_line(begun)}: one more than the largest index",),
        name=name,
    )


def operands_at(facts: Facts, failure: Failure) -> list[Evidence]:
    """Describe the tensors that the call which failed was given, and where they were made; of an
    error that no operator raised, those that its line names.
    """
    call = failure.call or "this line"
    records = [facts.tensors[i] for i in failure.inputs]
    if not failure.call and failure.kind in ("RuntimeError", "ValueError"):
        records = tensors_at(facts, failure)[:3]
    described = []
    for record in records:
        record = facts.tensors[viewed(facts, record.id)]
        span = made_at(facts, record)
        if span is not None and record.value is not None:
            text = f"{call} gets {named(facts, record.id)}, {brief(record.value)}"
            described.append(facts.at(f"{text}, {record.dtype}", span))
    return list(dict.fromkeys(described))


def viewed(facts: Facts, tensor: int) -> int:
    """Return the tensor that a view shows, also a view of a view; else the tensor itself."""
    while (maker := facts.maker(tensor)) is not None and is_view(maker):
        tensor = maker.tensors[0]
    return tensor


def is_view(operation: Operation) -> bool:
    record = record_of(operation.name)
    return record is not None and record.kind == "view"


def one_value(facts: Facts, failure: Failure) -> Cause | None:
    """Explain a batch of one sample, which has no variance for batch normalisation."""
    if "Expected more than 1 value per channel" not in failure.message:
        return None
    data = next((t for t in tensors_at(facts, failure) if t.shape[:1] == (1,)), None)
    if data is None:
        return None
    name = named(facts, data.id)
    span = made_at(facts, data)
    return Cause(
        "spread of one",
        f"{name}, made{facts.at_line(span)}, is a batch of 1 sample, and batch normalisation "
        "needs the spread of at least 2",
        (facts.at(f"{name} has the shape {data.shape}", span),),
        ("a batch of at least 2 samples (drop_last=True); or eval mode where it is not trained",),
        name=name,
    )


def other_dimensions(facts: Facts, failure: Failure) -> Cause | None:
    """Explain gather with an index of fewer dimensions."""
    if "Index tensor must have the same number of dimensions" not in failure.message:
        return None
    index = next((t for t in tensors_at(facts, failure) if t.dtype == "int64"), None)
    if index is None:
        return None
    name = named(facts, index.id)
    span = made_at(facts, index)
    return Cause(
        "wrong shape",
        f"{name}, made{facts.at_line(span)}, has the shape {index.shape}, and gather needs an "
        "index of as many dimensions as its input",
        (facts.at(f"{name} has {len(index.shape)} dimension", span),),
        (f"{name}.unsqueeze(1), and .squeeze(1) of the result",),
        name=name,
    )


def rows_of(facts: Facts, failure: Failure) -> Cause | None:
    """Explain an in-place change of a row that was taken by iterating over a tensor."""
    if "is a view and is being modified inplace" not in failure.message:
        return None
    statement = facts.text.statement(failure.span)
    split = next(
        (o for o in reversed(facts.operations) if len(o.outputs) > 1 or operator(o) == "unbind"),
        None,
    )
    if split is None or statement is None:
        return None
    whole = named(facts, split.tensors[0]) if split.tensors else "the tensor"
    if not is_place(whole):
        return None
    head = places.head_of(statement)
    target = "the row"
    update = f"torch.stack([... for {target} in {whole}])"
    if isinstance(statement, ast.AugAssign):
        target = facts.text.cut(statement.target)
        sign = facts.text.cut(statement).partition("=")[0].split()[-1]
        update = (
            f"{whole} = torch.stack([{target} {sign} {facts.text.cut(statement.value)} for "
            f"{target} in {whole}])"
        )
    return Cause(
        "row in place",
        f"line {head.line} changes {target} in place, one of several views that "
        f"{operator(split)}{facts.at_line(split.span)} gives of {whole}",
        (
            facts.at(f"{target} is a view of {whole}, taken while iterating", split.span),
            facts.at("it is changed in place here", head),
        ),
        (update, f"or change by index, of a clone: {whole} = {whole}.clone(); {whole}[i] = ..."),
        name=target,
    )


def no_gradient(facts: Facts, failure: Failure) -> Cause | None:
    """Explain a None used as a gradient: w.grad of a tensor that has none."""
    if "does not require grad" in failure.message:
        return rebound(facts)
    if "NoneType" not in failure.message:
        return None
    bound = rebound(facts)
    if bound is not None:
        return bound
    for statement in failed_statements(facts, failure)[:1]:
        for node in ast.walk(statement):
            name = (
                facts.text.cut(node.value)
                if isinstance(node, ast.Attribute) and node.attr == "grad"
                else ""
            )
            record = facts.variable(name)
            if record is not None and record.grad is None:
                cause = explain(facts, record)
                return cause._replace(
                    symptom=f"{name}.grad is None{facts.at_line(failure.span)}", name=name
                )
    return None


ASKED = (
    beyond_half,
    wrong_gradient,
    wrong_dtype,
    wrong_shape,
    out_of_bounds,
    rows_of,
    one_value,
    other_dimensions,
)
