"""Trace -> JSON, JSON Lines, CSV, TSV, Markdown, LaTeX or bare values, with every digit.

JSON is strict (NaN and infinities are the strings "NaN", "Infinity", "-Infinity"). The document of `eval`:

    schema          "gradtrace/eval"
    version         1; fields are only ever added to it
    source          {"name": of the file or "<expression>", "text": as given}
    backward_runs   how many times backward was called
    outputs         ids of the tensors that are the result
    roots           ids of the tensors that backward started from
    gradients       {name: gradient} of the named tensors that have one
    tensors         one object for each tensor, in creation order (inputs first):

        id                its number, the index in this list
        name              the variable, or null
        names             all variables bound to it
        label             the name, or the source text that made it
        kind              "leaf", "data" (a leaf without grad), "constant", "nonleaf", "result" (no grad history)
        op                the operation that made it ("mul"), or null
        value             a number, bool, or nested lists; null if an in-place operation overwrote it
        shape, dtype      [2, 3], "float64"; null if overwritten
        is_leaf, requires_grad, retains_grad, is_output, is_parameter
        grad_fn           "MulBackward0", or null
        grad              a number or nested lists, or null
        grad_note         why grad is null, or ""
        grad_fn_of_grad   the gradient's own grad_fn (--create-graph), or null
        in_place          in-place changes behind it
        line, column      where it was made, from 1; null for inputs

JSON Lines hold one tensor for each line, with `schema` "gradtrace/eval/tensor" and `version`. CSV, TSV, Markdown and
LaTeX have the columns of COLUMNS; an array stands in its cell as nested lists. `value` gives the result alone.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.trace.record import TensorRecord, Trace
from gradtrace.views import numbers
from gradtrace.views import rows as text_rows
from gradtrace.views.rows import dumps

if TYPE_CHECKING:
    from gradtrace.views.selection import Selection

SCHEMA, VERSION = "gradtrace/eval", 1
COLUMNS = ("name", "value", "shape", "dtype", "is_leaf", "requires_grad", "grad_fn", "grad", "grad_note")
FORMATS = ("json", "jsonl", "csv", "tsv", "md", "latex", "value")


def render(trace: Trace, format: str, selection: Selection | None = None) -> str:
    """Return the trace in one of FORMATS, ended by a line break; with a `selection` its tensors, in its order and
    columns.
    """
    tensors = list(trace.tensors) if selection is None else selection.tensors(trace.tensors)
    if format in text_rows.FORMATS:
        lines = [row(t) for t in tensors]
        places = range(len(COLUMNS)) if selection is None else selection.places(COLUMNS)
        return text_rows.render([COLUMNS[i] for i in places], [[line[i] for i in places] for line in lines], format)
    if format == "json":
        return dumps({**document(trace), "tensors": [tensor(t) for t in tensors]}) + "\n"
    return jsonl_text(tensors) if format == "jsonl" else value_text(trace)


# ---- JSON


def document(trace: Trace) -> dict[str, Any]:
    """Return the document of `eval` as plain data; render(trace, "json") is its text."""
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "source": {"name": trace.source_name, "text": trace.source_text},
        "backward_runs": trace.backward_runs,
        "outputs": list(trace.outputs),
        "roots": list(trace.roots),
        "gradients": {t.name: numbers.jsonable(t.grad) for t in trace.tensors if t.name and t.grad is not None},
        "tensors": [tensor(t) for t in trace.tensors],
    }


def tensor(t: TensorRecord) -> dict[str, Any]:
    """Return one tensor as plain data."""
    return {
        "id": t.id,
        "name": t.name,
        "names": list(t.names),
        "label": t.label,
        "kind": t.kind,
        "op": t.op,
        "value": numbers.jsonable(t.value),
        "shape": list(t.value.shape) if t.value is not None else None,
        "dtype": t.value.dtype if t.value is not None else None,
        "is_leaf": t.is_leaf,
        "requires_grad": t.requires_grad,
        "retains_grad": t.retains_grad,
        "is_output": t.is_output,
        "is_parameter": t.is_parameter,
        "grad_fn": t.grad_fn,
        "grad": numbers.jsonable(t.grad),
        "grad_note": t.grad_note,
        "grad_fn_of_grad": t.grad_fn_of_grad,
        "in_place": t.version,
        "line": t.span.line if t.span else None,
        "column": t.span.column + 1 if t.span else None,
    }


def jsonl_text(tensors: list[TensorRecord]) -> str:
    head = {"schema": SCHEMA + "/tensor", "version": VERSION}
    return "".join(dumps({**head, **tensor(t)}) + "\n" for t in tensors)


# ---- tables


def row(t: TensorRecord) -> list[str]:
    return [
        t.label,
        numbers.full(t.value) if t.value is not None else "",
        numbers.shape(t.value) if t.value is not None else "",
        t.value.dtype if t.value is not None else "",
        str(t.is_leaf),
        str(t.requires_grad),
        t.grad_fn or "",
        numbers.full(t.grad) if t.grad is not None else "",
        t.grad_note,
    ]


# ---- bare values


def value_text(trace: Trace) -> str:
    """Return the values of the outputs, one on each line."""
    return "".join(numbers.full(value) + "\n" for i in trace.outputs if (value := trace.tensors[i].value) is not None)
