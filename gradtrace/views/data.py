"""Trace -> JSON, JSON Lines, CSV, TSV, Markdown, LaTeX or bare values, with every digit.

JSON is strict (NaN and infinities are the strings "NaN", "Infinity", "-Infinity"). The document of
`eval`:

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
        kind              "leaf", "data" (a leaf without grad), "constant", "nonleaf", "result" (no
                          grad history)
        op                the operation that made it ("mul"), or null
        value             a number, bool, or nested lists; null if an in-place operation overwrote
                          it
        shape, dtype      [2, 3], "float64"; null if overwritten
        is_leaf, requires_grad, retains_grad, is_output, is_parameter
        grad_fn           "MulBackward0", or null
        grad              a number or nested lists, or null
        grad_note         why grad is null, or ""
        grad_fn_of_grad   the gradient's own grad_fn (--create-graph), or null
        in_place          in-place changes behind it
        line, column      where it was made, from 1; null for inputs
        digits, grad_digits   with --precision: the correct decimal digits of value and grad, or
                              null if not measured

JSON Lines hold one tensor for each line, with `schema` "gradtrace/eval/tensor" and `version`. CSV,
TSV, Markdown and LaTeX have the columns of COLUMNS; an array stands in its cell as nested lists.
`value` gives the result alone.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, Mapping, Sequence
from gradtrace.lazy_names import words
from gradtrace.trace.record import TensorRecord, Trace
from gradtrace.views import numbers, rows

if TYPE_CHECKING:
    from gradtrace.views.selection import Selection

COLUMNS = words("name value shape dtype is_leaf requires_grad grad_fn grad grad_note")
DIGITS = words("digits grad_digits")


def render(
    trace: Trace,
    format: str,
    selection: Selection | None = None,
    digits: Mapping[int, Sequence[Any]] | None = None,
) -> str:
    """Return the trace in any format but the table; with a `selection` its tensors, in its order
    and columns.

    With `digits` (of `analysis.precision`) each tensor also has the correct decimal digits of its
    value and gradient.
    """
    if format == "value":
        values = (trace.tensors[i].value for i in trace.outputs)
        return "".join(numbers.full(value) + "\n" for value in values if value is not None)
    tensors = list(trace.tensors) if selection is None else selection.tensors(trace.tensors)
    places = range(len(COLUMNS)) if selection is None else selection.places(COLUMNS)
    body = [[line[i] for i in places] for line in map(row, tensors)]
    columns = [COLUMNS[i] for i in places]
    whole = document(trace, tensors)
    if digits is not None:
        columns += DIGITS
        for t, line, fields in zip(tensors, body, whole["tensors"], strict=True):
            line += digits[t.id]
            fields.update(zip(DIGITS, digits[t.id], strict=True))
    return rows.write(rows.Results("gradtrace/eval", whole, "tensors", columns, body), format)


def document(trace: Trace, tensors: Sequence[TensorRecord]) -> dict[str, Any]:
    return {
        "source": {"name": trace.source_name, "text": trace.source_text},
        **rows.fields(trace, "backward_runs outputs roots"),
        "gradients": {t.name: t.grad for t in trace.tensors if t.name and t.grad is not None},
        "tensors": list(map(tensor, tensors)),
    }


def tensor(t: TensorRecord) -> dict[str, Any]:
    return {
        **rows.fields(t, "id name names label kind op value"),
        "shape": t.value.shape if t.value is not None else None,
        "dtype": t.value.dtype if t.value is not None else None,
        **rows.fields(
            t, "is_leaf requires_grad retains_grad is_output is_parameter grad_fn grad grad_note"
        ),
        **rows.fields(t, "grad_fn_of_grad in_place=version line=span"),
        "column": t.span.column + 1 if t.span else None,
    }


def row(t: TensorRecord) -> list[Any]:
    shape, dtype = (numbers.shape(t.value), t.value.dtype) if t.value is not None else (None, None)
    return [
        t.label,
        t.value,
        shape,
        dtype,
        t.is_leaf,
        t.requires_grad,
        t.grad_fn,
        t.grad,
        t.grad_note,
    ]
