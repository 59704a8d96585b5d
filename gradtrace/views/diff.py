"""The verdict of a comparison as text, data, or DOT in which colours mark the differences.

The JSON document has `schema` "gradtrace/diff", `version`, `verdict` ("equal" or "differ"),
`bit_equal`, `largest` {relative, tensor} within the tolerance, `first` (null, or {kind, only, step,
a, b, before, relative, reason}), `others` (the same of up to five more places), `operations` of A
and of B, `complete` (whether all could be compared), `compared` (values, gradients and updates) of
`total`, `by_statistics` (those of which the records keep only statistics, which agree), and
`notes`. `kind` is one of `KINDS` in analysis/compare/reasons.py, `only` "A" or "B" if it is "only".
The places a and b are null or {file, line, module, op, made}; `made` is the line that made the
module or the optimiser. The formats with rows have one for each difference.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

from gradtrace.analysis.compare.differences import Difference, DifferencePlace
from gradtrace.analysis.compare.rows import CHANGED, FIRST, SAME, SECOND, Row
from gradtrace.analysis.compare.verdict import DIFFER, EQUAL, PARTLY, Verdict
from gradtrace.lazy_names import words
from gradtrace.trace.record import Trace, Value
from gradtrace.views import labels, layout, numbers, rows
from gradtrace.views.cells import counted, visible
from gradtrace.views.layout import Cell, LayoutOptions, right

COLUMNS = words(
    "kind step file_a line_a module_a op_a file_b line_b module_b op_b before relative reason"
)
SHRINK = {"tensor": 10, "value A": 8, "value B": 8, "grad A": 8, "grad B": 8}
MARKS = {SAME: " ", CHANGED: "~", FIRST: "-", SECOND: "+"}
STYLES = {SAME: "dim", CHANGED: "yellow", FIRST: "red", SECOND: "green"}
FILLS = {SAME: "#eeeeee", CHANGED: "#fff3c4", FIRST: "#ffd6d6", SECOND: "#d5f5d5"}
MANY = 60
WIDTH = 78
INDENT = "     "


def text(verdict: Verdict, a: Trace, b: Trace, options: LayoutOptions) -> str:
    return layout.joined(lines(verdict, a, b, options))


def lines(verdict: Verdict, a: Trace, b: Trace, options: LayoutOptions) -> Iterator[str]:
    """Yield the verdict, the places, and of small runs the table of tensors."""
    for said in (*verdict_lines(verdict, a, b), *map(visible, verdict.notes)):
        indent = said[: len(said) - len(said.lstrip())]
        yield from (
            textwrap.wrap(said, options.width, subsequent_indent=indent)
            if options.width and said
            else [said]
        )
    if len(verdict.rows) > MANY and not options.all:
        return
    shown = verdict.rows if options.all else [r for r in verdict.rows if r.status != SAME]
    if verdict.same and not options.all:
        return
    yield ""
    yield from layout.table(
        shown,
        {
            "": lambda r: Cell(MARKS[r.status], STYLES[r.status]),
            "tensor": lambda r: Cell(visible(r.label), STYLES[r.status]),
            "op": lambda r: r.op,
            "value A": lambda r: short(r.values[0]),
            "value B": lambda r: short(r.values[1]),
            "grad A": lambda r: short(r.grads[0]),
            "grad B": lambda r: short(r.grads[1]),
        },
        options,
        SHRINK,
        ("op",),
    )


def short(value: Value | None) -> Cell:
    return right("") if value is None else Cell(numbers.short(value), "", not value.shape)


def verdict_lines(verdict: Verdict, a: Trace, b: Trace) -> Iterator[str]:
    """Yield what `verdict.verdict` says, its first difference, and the others."""
    if verdict.verdict != DIFFER:
        compared = counted(verdict.compared, "value") + ", gradients and updates included,"
        runs = f"{counted(verdict.operations[0], 'operation')} in A, {verdict.operations[1]:,} in B"
        if verdict.verdict == EQUAL:
            yield f"equal: {compared} to the bit ({runs})"
            return
        if verdict.verdict == PARTLY:
            yield from kept_lines(verdict, a, b, runs)
            return
        size, label = verdict.largest
        yield (
            f"equal within tolerance: the largest relative difference is {amount(size)}, of "
            f"{visible(label)}"
        )
        yield f"({compared} were compared; {runs})"
        return
    first, *others = verdict.differences
    yield f"differ: {heading(first)}"
    yield from place_lines(first, a, b)
    yield from reason_lines(first)
    if others:
        yield ""
        yield "then, of independent origin:"
    for difference in others:
        yield f"  {heading(difference)}"
        yield from place_lines(difference, a, b)
        yield from reason_lines(difference)


def kept_lines(verdict: Verdict, a: Trace, b: Trace, runs: str) -> Iterator[str]:
    """Yield what two records keep that is equal, and what they do not keep."""
    size, label = verdict.largest
    how = (
        "to the bit"
        if verdict.bit_equal
        else f"within tolerance (at most {amount(size)}, of {visible(label)})"
    )
    kept = f"equal in what both keep: {verdict.compared:,} of {counted(verdict.total, 'value')}"
    yield f"{kept}, gradients and updates included{f', {how}' if verdict.compared else ''} ({runs})"
    if verdict.by_statistics:
        yield (
            f"of {verdict.by_statistics:,} more only ranges, means and norms are kept, which agree "
            "within the tolerance"
        )
    if a.engine and b.engine:
        yield 'to compare the others, record with level="compare"'


HEADINGS = {
    "input": "an input",
    "parameter": "a parameter",
    "update": "an update",
    "backward": "backward only",
    "random": "a random draw",
    "shape": "a shape",
}


def heading(difference: Difference) -> str:
    """Return kind, step and tensor of a difference in a line."""
    sides = difference.a, difference.b
    place = (sides[1] or sides[0]) if difference.only == "B" else (sides[0] or sides[1])
    kind = HEADINGS.get(difference.kind, difference.kind)
    if difference.only:
        is_error = None in sides
        kind = "an error" if is_error else f"an operation that only {difference.only} has"
    step = "" if difference.step is None else f" in step {difference.step}"
    label = "" if place is None or not place.label else f": {visible(place.label)}"
    return f"{kind}{step}{label}"


def place_lines(difference: Difference, a: Trace, b: Trace) -> Iterator[str]:
    """Yield for each run the place, the operation with its module, and the line of the program."""
    for name, place, trace in (("A", difference.a, a), ("B", difference.b, b)):
        if place is None:
            yield f"  {name}  does not have it"
            continue
        where = place.file if place.line is None else f"{place.file}:{place.line}"
        operation = place.op + (f" in {place.module}" if place.module and place.op else "")
        if place.made_on is not None and place.made_on != place.line:
            operation = f"{operation or place.module}, made on line {place.made_on}"
        yield "  ".join(filter(None, (f"  {name}", visible(where), visible(operation))))
        source = source_line(place, trace)
        if source:
            yield INDENT + visible(labels.clip(source, WIDTH - len(INDENT)))


def source_line(place: DifferencePlace, trace: Trace) -> str:
    """Return the line of the program that a place is in; "" if its text is not known."""
    content = dict(trace.files).get(
        place.file, trace.source_text if place.file == trace.source_name else ""
    )
    source_lines = content.splitlines()
    return (
        source_lines[place.line - 1].strip()
        if place.line is not None and 0 < place.line <= len(source_lines)
        else ""
    )


def reason_lines(difference: Difference) -> Iterator[str]:
    if difference.relative is not None:
        equal = "equal in what both keep" if difference.is_partly_known else "equal"
        before = equal if difference.before == 0 else f"within {amount(difference.before)}"
        before = "of another shape, or not finite" if difference.before == float("inf") else before
        of = (
            "" if difference.kind in ("input", "parameter") else f"what it comes from is {before}; "
        )
        yield f"{INDENT}{of}{how_far(difference)}"
    for line in textwrap.wrap(visible(difference.reason), WIDTH - len(INDENT)):
        yield INDENT + line


def how_far(difference: Difference) -> str:
    """Return how far apart the values of a difference are, in words."""
    if difference.values.count(None) == 1:
        holder, lacking = ("A", "B") if difference.values[1] is None else ("B", "A")
        return f"{holder} has a gradient, {lacking} has none"
    assert difference.relative is not None
    return f"the relative difference is {amount(difference.relative)}"


def amount(relative: float) -> str:
    """Return a relative difference with two digits."""
    return "infinite" if relative == float("inf") else numbers.number(relative, 2)


# ---- data


def render(verdict: Verdict, a: Trace, b: Trace, format: str) -> str:
    differences = [document_of(difference) for difference in verdict.differences]
    size, label = verdict.largest
    document: dict[str, Any] = {
        "verdict": "differ" if verdict.verdict == DIFFER else "equal",
        "bit_equal": verdict.verdict == EQUAL,
        "complete": verdict.compared == verdict.total,
        "first": differences[0] if differences else None,
        "others": differences[1:],
        "largest": {"relative": size, "tensor": label},
        **rows.fields(verdict, "operations compared total by_statistics notes"),
    }
    if format != "json":
        document = {"differences": differences}
    body = (
        (
            difference.kind,
            difference.step,
            *cells_of(difference.a),
            *cells_of(difference.b),
            difference.before,
            difference.relative,
            difference.reason,
        )
        for difference in verdict.differences
    )
    return rows.write(
        rows.Results("gradtrace/diff", document, "differences", COLUMNS, body), format
    )


def document_of(difference: Difference) -> dict[str, Any]:
    sides = [
        None if side is None else {**rows.fields(side, "file line module op"), "made": side.made_on}
        for side in (difference.a, difference.b)
    ]
    return {
        "kind": difference.kind,
        "only": difference.only or None,
        "step": difference.step,
        "a": sides[0],
        "b": sides[1],
        **rows.fields(difference, "before relative reason"),
    }


def cells_of(place: DifferencePlace | None) -> tuple[Any, ...]:
    return (None,) * 4 if place is None else (place.file, place.line, place.module, place.op)


# ---- drawing


def dot(verdict: Verdict, a: Trace, b: Trace) -> str:
    """Return the DOT text of both graphs in one: parts of A only are red, parts of B only green,
    changed ones yellow.
    """
    node = {("a", r.first): k for k, r in enumerate(verdict.rows)} | {
        ("b", r.second): k for k, r in enumerate(verdict.rows)
    }
    out = [
        "digraph diff {",
        '  rankdir="LR"; bgcolor="white";',
        '  node [shape="box" style="filled" fontname="DejaVu Sans" fontsize="11" color="#555555"];',
    ]
    out += [
        f'  n{k} [fillcolor="{FILLS[r.status]}" label=<{content(r)}>];'
        for k, r in enumerate(verdict.rows)
    ]
    drawn: dict[tuple[int, int], str] = {}
    for side, trace in (("a", a), ("b", b)):
        for operation in trace.operations:
            for target in operation.outputs:
                for operand in operation.inputs:
                    source = (
                        node.get((side, operand.tensor)) if operand.tensor is not None else None
                    )
                    if source is not None and (side, target) in node:
                        edge = (source, node[side, target])
                        drawn[edge] = "ab" if drawn.get(edge, side) != side else side
    colors = {"a": "#c03030", "b": "#208020", "ab": "#555555"}
    out += [
        f'  n{source} -> n{target} [color="{colors[side]}"];'
        for (source, target), side in drawn.items()
    ]
    return "\n".join([*out, "}", ""])


def content(r: Row) -> str:
    name = labels.text(labels.clip(r.label))
    said = [
        f"<B>{name}</B>" if name else "",
        labels.text(change("", r.values)),
        labels.text(change("grad ", r.grads)),
    ]
    return "<BR/>".join(part for part in said if part)


def change(word: str, pair: tuple[Value | None, Value | None]) -> str:
    """Return "2 → 3", or the number if only one of the runs has it."""
    first, second = (None if v is None else numbers.short(v) for v in pair)
    if first is None and second is None:
        return ""
    if first is None or second is None or first == second:
        return f"{word}{second if first is None else first}"
    return f"{word}{first} → {second}"
