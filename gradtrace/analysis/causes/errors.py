"""Find where the wrong dtype, shape or gradient behind a failure was made, which may be long before the failure."""

from __future__ import annotations

import re

from gradtrace.analysis import places
from gradtrace.analysis.answer import Answer, Evidence, Facts
from gradtrace.analysis.causes.cause import Cause, at_line, made_at, method_of, named, operator
from gradtrace.analysis.causes.loops import rebound
from gradtrace.analysis.causes.scene import statements, tensors_at
from gradtrace.analysis.causes.shapes import wrong_shape
from gradtrace.analysis.why import explain
from gradtrace.lang import syntax as ast
from gradtrace.trace.record import Failure, TensorRecord

DTYPES = {
    "Double": "float64",
    "Float": "float32",
    "Half": "float16",
    "Long": "int64",
    "Int": "int32",
    "Bool": "bool",
    "Byte": "uint8",
}
DTYPES |= {name.lower(): dtype for name, dtype in DTYPES.items()} | {dtype: dtype for dtype in DTYPES.values()}
CAST = {"float32": ".float()", "float64": ".double()", "int64": ".long()", "float16": ".half()", "int32": ".int()"}
TYPE = re.compile(r"\b(" + "|".join(DTYPES) + r")(?:Tensor)?\b")
GRADIENT = re.compile(
    r"Function (\w+)Backward returned an invalid gradient at index (\d+) - "
    r"got \[([^]]*)\] but expected shape compatible with \[([^]]*)\]"
)
TARGET = re.compile(r"Target (-?\d+) is out of bounds")


def failure_cause(facts: Facts, failure: Failure) -> Cause | None:
    """Find where the value that a program failed with was made; None if only the place of the error is known."""
    for ask in ASKED:
        found = ask(facts, failure)
        if found is not None:
            return found._replace(status="failed")
    return None


def source_of(facts: Facts, record: TensorRecord) -> TensorRecord:
    """Return the first tensor on the path to this one that has its dtype."""
    while record.operation is not None and record.value is not None:
        before = [
            facts.trace.tensors[o.tensor]
            for o in facts.trace.operations[record.operation].inputs
            if o.tensor is not None
        ]
        dtype = record.value.dtype
        same = [t for t in before if t.value is not None and t.value.dtype == dtype]
        if not same:
            return record
        record = same[0]
    return record


# ---- dtypes


def wrong_dtype(facts: Facts, failure: Failure) -> Cause | None:
    """Explain a tensor whose dtype the operation, or the rest of the program, does not accept."""
    message = failure.message
    told = [DTYPES[word] for word in TYPE.findall(message)]
    if not told or not re.search(r"dtype|scalar type|type", message):
        return None
    target = "target" in message or "expected scalar type Long" in message
    wanted = "int64" if target else "float32"
    odd = [dtype for dtype in told if dtype != wanted]
    if target and "Float" in message:
        odd = ["float32"]
    at_hand = [t for t in tensors_at(facts, failure) if not t.requires_grad and t.value is not None]
    wrong = [t for t in at_hand if t.value is not None and t.value.dtype in odd]
    if not wrong and not target:
        wrong = [t for t in facts.trace.tensors if t.value is not None and t.value.dtype in odd and t.operation is None]
    if not wrong:
        return None
    record = source_of(facts, wrong[0])
    name, dtype = named(facts, record.id), record.value.dtype if record.value is not None else odd[0]
    span = made_at(facts, record)
    what = "class labels" if target and "target" in message.lower() else "the rest of the computation"
    cast = CAST[wanted]
    made = facts.text.line(span)
    fix = f"{name} = {name}{cast}" if name.isidentifier() else f"{name}{cast}"
    literal = f"dtype=torch.{dtype}" in made
    return Cause(
        "wrong dtype",
        "the program failed",
        f"{name}, made{at_line(span)}, is {dtype}, and {what} need{'' if target else 's'} {wanted}",
        span,
        (facts.at(f"{name} is made as {dtype}", span),),
        (f"dtype=torch.{wanted}{at_line(span)}" if literal else fix, *((f"or {fix}",) if literal else ())),
        None,
        "failed",
        name,
    )


# ---- custom Functions, labels, rows


def wrong_gradient(facts: Facts, failure: Failure) -> Cause | None:
    """Find the line that made the gradient of a wrong shape that a Function's backward returned."""
    match = GRADIENT.search(failure.message)
    if match is None:
        return None
    name, index = match.group(1), int(match.group(2))
    got, wanted = (tuple(int(x) for x in text.split(",") if x.strip()) for text in match.groups()[2:])
    method = method_of(facts, name, "backward")
    returned = None if method is None else next(
        (n for n in ast.walk(method) if isinstance(n, ast.Return) and n.value is not None), None
    )  # fmt: skip
    if returned is None:
        return None
    values = returned.value.elts if isinstance(returned.value, ast.Tuple) else [returned.value]
    value = values[min(index, len(values) - 1)]
    text, head = facts.text.cut(value), places.head_of(returned)
    if isinstance(value, ast.Name):
        bound = [s for s in facts.text.assignments(value.id) if method.lineno <= s.lineno <= (method.end_lineno or 0)]
        if bound:
            head = places.head_of(bound[-1])
            text = facts.text.cut(bound[-1].value) if hasattr(bound[-1], "value") else text
    what = text if len(text) < 40 else "the gradient"
    fix = f"return ({text}).sum_to_size({wanted})"
    if got == wanted[::-1]:
        fix = f"transpose it: ({text}).t()"
        left, at, right = text.partition(" @ ")
        if at and left.endswith(".t()"):
            fix = f"{right}.t() @ {left.removesuffix('.t()')}, which has the shape {wanted}"
    return Cause(
        "wrong gradient shape",
        "the program failed",
        f"{name}.backward returns {what}{at_line(head)} for input {index}, of shape {got}; the input has the shape "
        f"{wanted}",
        head,
        (facts.at(f"the gradient for input {index} is made here, with the shape {got}", head),),
        (fix,),
        None,
        "failed",
        name,
    )


def out_of_bounds(facts: Facts, failure: Failure) -> Cause | None:
    """Explain a class label that has no score, or an index beyond an embedding's rows."""
    match = TARGET.search(failure.message)
    if match is None and "index out of range" not in failure.message:
        return None
    whole = [t for t in tensors_at(facts, failure) if t.value is not None and t.value.dtype == "int64"]
    if not whole:
        return None
    rows = [(t, w) for t in whole for w in facts.trace.tensors if beyond(t, w)] if match is None else []
    record = rows[0][0] if rows else whole[0]
    if rows:
        return beyond_rows(facts, *rows[0])
    name, span, top = (
        named(facts, record.id),
        made_at(facts, record),
        record.value.summary.maximum if record.value else 0,
    )
    scores = next((t.value for t in tensors_at(facts, failure) if t.value is not None and len(t.value.shape) == 2 and
                   t.value.is_float), None)  # fmt: skip
    there = f" there are {scores.shape[1]} scores, for 0 to {scores.shape[1] - 1}" if scores is not None else (
        " there are fewer rows than that"
    )  # fmt: skip
    return Cause(
        "out of range",
        "the program failed",
        f"{name}, made{at_line(span)}, goes up to {top}, and{there}",
        span,
        (facts.at(f"{name} is made here", span),),
        (f"as many outputs as classes: nn.Linear(..., {int(top or 0) + 1})", "labels count from 0: labels - 1"),
        None,
        "failed",
        name,
    )


def beyond(record: TensorRecord, weight: TensorRecord) -> bool:
    """Whether the largest index exceeds the rows of a parameter that the failed lookup may have read."""
    if not weight.is_parameter or weight.value is None or len(weight.value.shape) != 2 or record.value is None:
        return False
    top = record.value.summary.maximum
    return top is not None and top >= weight.value.shape[0] and ("emb" in weight.label.lower() or top < 10**6)


def beyond_rows(facts: Facts, record: TensorRecord, weight: TensorRecord) -> Cause:
    name, span = named(facts, record.id), made_at(facts, record)
    top = int(record.value.summary.maximum or 0) if record.value is not None else 0
    rows = weight.value.shape[0] if weight.value is not None else 0
    begun = next((b.span for b in facts.trace.begun if b.tensor == weight.id), None)
    owner = named(facts, weight.id).removesuffix(".weight")
    return Cause(
        "out of range",
        "the program failed",
        f"{name}, made{at_line(span)}, goes up to {top}, and {owner}, made{at_line(begun)}, has {rows} rows: 0 to "
        f"{rows - 1}",
        span,
        (facts.at(f"{name} goes up to {top}", span), facts.at(f"{owner} has {rows} rows", begun)),
        (f"nn.Embedding({top + 1}, ...){at_line(begun)}: one more than the largest index",),
        None,
        "failed",
        name,
    )


def operands_at(facts: Facts, failure: Failure) -> list[Evidence]:
    """Describe the tensors at the place of a failure, and where they were made."""
    found = []
    for record in tensors_at(facts, failure)[:3]:
        span = made_at(facts, record)
        if record.value is not None and span is not None:
            shape = f"the shape {record.value.shape}"
            found.append(facts.at(f"{named(facts, record.id)} has {shape} and is {record.value.dtype}", span))
    return found


def one_value(facts: Facts, failure: Failure) -> Cause | None:
    """Explain a batch of one sample, which has no variance for batch normalisation."""
    if "Expected more than 1 value per channel" not in failure.message:
        return None
    data = [t for t in tensors_at(facts, failure) if t.value is not None and t.value.shape[:1] == (1,)]
    if not data:
        return None
    name, span = named(facts, data[0].id), made_at(facts, data[0])
    return Cause(
        "spread of one",
        "the program failed",
        f"{name}, made{at_line(span)}, is a batch of 1 sample, and batch normalisation needs the spread of at least 2",
        span,
        (facts.at(f"{name} has the shape {data[0].value.shape if data[0].value is not None else ()}", span),),
        ("a batch of at least 2 samples (drop_last=True); or model.eval() where it is not trained",),
        None,
        "failed",
        name,
    )


def other_dimensions(facts: Facts, failure: Failure) -> Cause | None:
    """Explain gather with an index of fewer dimensions."""
    if "Index tensor must have the same number of dimensions" not in failure.message:
        return None
    index = next((t for t in tensors_at(facts, failure) if t.value is not None and t.value.dtype == "int64"), None)
    if index is None or index.value is None:
        return None
    name, span = named(facts, index.id), made_at(facts, index)
    return Cause(
        "wrong shape",
        "the program failed",
        f"{name}, made{at_line(span)}, has the shape {index.value.shape}, and gather needs an index of as many "
        "dimensions as its input",
        span,
        (facts.at(f"{name} has {len(index.value.shape)} dimension", span),),
        (f"{name}.unsqueeze(1), and .squeeze(1) of the result",),
        None,
        "failed",
        name,
    )


def rows_of(facts: Facts, failure: Failure) -> Cause | None:
    """Explain an in-place change of a row that was taken by iterating over a tensor."""
    if "is a view and is being modified inplace" not in failure.message:
        return None
    statement = facts.text.statement(failure.span)
    split = next((o for o in reversed(facts.trace.operations) if len(o.outputs) > 1 or operator(o) == "unbind"), None)
    if split is None or statement is None:
        return None
    tensor = next((o.tensor for o in split.inputs if o.tensor is not None), None)
    whole = "the tensor" if tensor is None else named(facts, tensor)
    head = places.head_of(statement)
    target = facts.text.cut(statement.target) if isinstance(statement, ast.AugAssign) else "the row"
    update = f"torch.stack([... for {target} in {whole}])"
    if isinstance(statement, ast.AugAssign):
        sign = facts.text.cut(statement).partition("=")[0].split()[-1]
        update = f"{whole} = torch.stack([{target} {sign} {facts.text.cut(statement.value)} for {target} in {whole}])"
    return Cause(
        "row in place",
        "the program failed",
        f"line {head.line} changes {target} in place, one of several views that {operator(split)}{at_line(split.span)} "
        f"gives of {whole}",
        head,
        (
            facts.at(f"{target} is a view of {whole}, taken while iterating", split.span),
            facts.at("it is changed in place here", head),
        ),
        (update, f"or change by index, of a clone: {whole} = {whole}.clone(); {whole}[i] = ..."),
        None,
        "failed",
        target,
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
    known = dict(facts.trace.names)
    for statement in statements(facts, failure)[:1]:
        for node in ast.walk(statement):
            name = facts.text.cut(node.value) if isinstance(node, ast.Attribute) and node.attr == "grad" else ""
            record = facts.trace.tensors[known[name]] if name in known else None
            if record is not None and record.grad is None:
                return of_none(explain(facts, record), f"{name}.grad is None{at_line(failure.span)}", name)
    return None


def of_none(own: Answer, what: str, name: str) -> Cause:
    """Return the cause of a failure that came from a gradient of None."""
    because = own.sentence.partition(": ")[2].removesuffix(".")
    span = next((e.span for e in own.evidence if e.span is not None), None)
    return Cause(own.cause, what, because, span, own.evidence, own.advice, None, "failed", name)


ASKED = (*(wrong_gradient, wrong_dtype, wrong_shape, out_of_bounds, rows_of, one_value, other_dimensions, no_gradient),)
