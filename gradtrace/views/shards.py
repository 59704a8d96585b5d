"""The norms of whole parameters that several ranks hold in parts, as text or data."""

from __future__ import annotations

from gradtrace.analysis.ranks import WholeNorms
from gradtrace.annotations import Iterator, Sequence
from gradtrace.lazy_names import words
from gradtrace.views import layout, numbers, rows
from gradtrace.views.cells import counted, visible
from gradtrace.views.layout import LayoutOptions, right

COLUMNS = words("name shape placement norm grad_norm missing")
MANY = 24  # the table has at most this many rows, unless all are asked for


def shards_text(norms: Sequence[WholeNorms], options: LayoutOptions) -> str:
    """Return a table of the parameters, and sentences about what its norms are."""
    left = 0 if options.all else max(0, len(norms) - MANY)
    lines = layout.table(
        norms[: len(norms) - left],
        {
            "parameter": lambda parameter: visible(parameter.name),
            "shape": lambda parameter: str(parameter.shape),
            "parts": lambda parameter: parameter.placement,
            "norm": lambda parameter: cell(parameter.norm),
            "grad norm": lambda parameter: cell(parameter.grad_norm),
        },
        options,
        {"parameter": 16},
    )
    lines += [*layout.left_out(left, "parameters", options), ""]
    for sentence in sentences(norms):
        lines += layout.wrapped(sentence, "", options, options.width or 80)
    return layout.joined(lines)


def cell(x: float | None) -> layout.Cell:
    return right("" if x is None else numbers.number(x, 7))


def sentences(norms: Sequence[WholeNorms]) -> Iterator[str]:
    """Yield sentences that say whose norms these are, and why some are missing."""
    missing = max(parameter.missing for parameter in norms)
    if missing:
        yield f"Norms are not known: the records of {counted(missing, 'rank')} are missing."
    else:
        yield (
            "Norms are those of whole parameters when the run ended, from the parts that the "
            "ranks held."
        )
    if any(parameter.norm is None and not parameter.missing for parameter in norms):
        yield (
            "A parameter without a norm has parts that the ranks would add, or no elements in "
            "memory."
        )


def shards_data(norms: Sequence[WholeNorms], format: str) -> str:
    document = {"parameters": norms}
    return rows.write(
        rows.Results("gradtrace/shards", document, "parameters", COLUMNS, norms), format
    )
