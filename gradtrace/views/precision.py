"""The answer about precision, as text or as data.

    sqrt(x+1)-sqrt(x) has 5.1 of 16.0 decimal digits of float64: cancellation: ... on line 1.

      line 1  sqrt(x+1)-sqrt(x) sub: it adds no error and inherits an error that leaves 5.1 of 16.0
              decimal digits; ...
    To fix it (tried):
      - (x + 1 - x) / (sqrt(x + 1) + sqrt(x)): 16.0 decimal digits

The JSON document has `schema` "gradtrace/precision", `version`, `targets` [{name, dtype, gradient,
error, digits, possible, lost}], `losses` [{name, cause, sentence, operation, gradient, digits,
part, evidence, advice, tried}] and `notes`, a list of sentences; `dtypes` [{dtype, results,
operations, modules}] of a run in more than one floating dtype, and `largest`, sentences about which
operation in a short one adds most to an error; with --all also `operations`, the measured results
[{operation, result, gradient, dtype, elements, added, inherited, error, line}]. Errors are
relative, in units of the dtype's rounding.
"""

from __future__ import annotations

from gradtrace.analysis.precision import Loss, PrecisionAnswer, Target
from gradtrace.analysis.words import folded
from gradtrace.annotations import Any, Mapping
from gradtrace.trace.precision import Measured
from gradtrace.trace.record import TensorRecord, Trace
from gradtrace.views import layout, rows, why
from gradtrace.views.cells import visible, wrap
from gradtrace.views.layout import Cell, Column, LayoutOptions, right

SHOWN = 4  # operations of a dtype
COLUMNS = ("name", "cause", "sentence", "digits", "part", "evidence", "advice")
Digits = tuple[float | None, float | None]


def report(trace: Trace, answer: PrecisionAnswer, options: LayoutOptions) -> str:
    """Return the answer as text for a terminal; with `options.all` also a table of the measured
    results.
    """
    width = min(options.width or why.WIDEST, why.WIDEST)
    if answer.losses:
        parts = [why.report([loss.cause for loss in answer.losses], [], options)]
        parts += [layout.joined(wrap(visible(note), width)) for note in answer.notes]
    else:
        parts = [why.healthy([answer.sentence, *answer.notes], options)]
    if answer.dtypes:
        parts.append(
            layout.joined(layout.lines(dtypes(answer), options, {"operations": 16, "modules": 16}))
        )
        parts += [layout.joined(wrap(visible(sentence), width)) for sentence in answer.largest]
    if options.all:
        parts.append(
            layout.joined(layout.lines(table(trace), options, {"operation": 12, "result": 12}))
        )
    return "\n".join(parts)


def table(trace: Trace) -> list[Column]:
    """Return the measured results as the columns of a table."""
    assert trace.precision is not None
    measured = trace.precision.measured
    facts = {
        "operation": lambda row: visible(str(operation_of(trace, row))),
        "result": lambda row: (
            visible(trace.tensors[row.tensor].label) + ("" if row.passed is None else ".grad")
        ),
        "dtype": lambda row: row.dtype,
        "added": lambda row: right(f"{row.added:.3g}"),
        "inherited": lambda row: right(f"{row.inherited:.3g}"),
        "error": lambda row: right(f"{row.error:.3g}"),
        "line": lambda row: right(str(line_of(trace, row) or "")),
    }
    return layout.columns(measured, facts)


def dtypes(answer: PrecisionAnswer) -> list[Column]:
    """Return which operations and modules ran in which dtype, as the columns of a table."""
    facts = {
        "dtype": lambda use: use.dtype,
        "results": lambda use: right(f"{use.results:,}"),
        "operations": lambda use: visible(
            ", ".join(use.operations[:SHOWN]) + ", …" * (len(use.operations) > SHOWN)
        ),
        "modules": lambda use: visible(folded(use.modules, "modules") if use.modules else ""),
    }
    return layout.columns(answer.dtypes, facts)


def operation_of(trace: Trace, row: Measured) -> str:
    return "sum of gradients" if row.operation is None else trace.operations[row.operation].name


def line_of(trace: Trace, row: Measured) -> int | None:
    span = (
        trace.tensors[row.tensor].span
        if row.operation is None
        else trace.operations[row.operation].span
    )
    return None if span is None else span.line


# ---- data


def as_data(trace: Trace, answer: PrecisionAnswer, format: str, everything: bool = False) -> str:
    """Return the answer in any format except the table."""
    document = {
        "targets": [target(tensor) for tensor in answer.targets],
        "losses": [loss(lost) for lost in answer.losses],
        "notes": list(answer.notes),
        "dtypes": [
            rows.fields(usage, "dtype results operations modules") for usage in answer.dtypes
        ],
        "largest": list(answer.largest),
    }
    if everything and trace.precision is not None:
        document["operations"] = [measured(trace, row) for row in trace.precision.measured]
    results = rows.Results(
        "gradtrace/precision", document, "losses", COLUMNS, map(row, answer.losses)
    )
    return rows.write(results, format)


def target(target: Target) -> dict[str, Any]:
    return {
        **rows.fields(target, "name dtype error digits possible lost"),
        "gradient": target.passed is not None,
    }


def loss(loss: Loss) -> dict[str, Any]:
    return {
        **rows.fields(loss.cause, "name cause=code sentence evidence advice tried"),
        **rows.fields(loss, "operation digits part"),
        "gradient": loss.passed is not None,
    }


def measured(trace: Trace, row: Measured) -> dict[str, Any]:
    return {
        "operation": operation_of(trace, row),
        "result": trace.tensors[row.tensor].label,
        "gradient": row.passed is not None,
        **rows.fields(row, "dtype elements added inherited error"),
        "line": line_of(trace, row),
    }


def row(loss: Loss) -> list[Any]:
    cause = why.row(loss.cause)
    return [
        loss.cause.name,
        loss.cause.code,
        loss.cause.sentence,
        loss.digits,
        loss.part,
        *cause[-2:],
    ]


# ---- beside values


def columns(shown: list[TensorRecord], digits: Mapping[int, Digits]) -> list[Column]:
    """Return two columns: the correct decimal digits of each tensor's value and gradient."""
    unknown = (None, None)
    pairs = [
        digits.get(t.id, unknown) if t.value is not None and t.value.is_measured else unknown
        for t in shown
    ]
    return [
        Column(
            title,
            [Cell("", "dim") if pair[i] is None else right(f"{pair[i]:.1f}") for pair in pairs],
        )
        for i, title in enumerate(("digits", "grad digits"))
    ]
