"""Two runs side by side, as text, data, or DOT in which colours mark the differences.

The JSON document has `schema` "gradtrace/diff", `version`, same, same_structure, operations (of A and of B), and `rows`
[{status, label, op, first, second (ids), values, grads (of A and of B), value_gap, grad_gap}]. Status: "same",
"changed", "only A", "only B".
"""

from __future__ import annotations

from collections.abc import Iterator

from gradtrace.analysis.diff import CHANGED, FIRST, SAME, SECOND, Diff
from gradtrace.lazy_names import words
from gradtrace.trace.record import Trace, Value
from gradtrace.views import labels, layout, numbers, rows
from gradtrace.views.cells import counted, visible
from gradtrace.views.layout import Cell, LayoutOptions, right

COLUMNS = words("status label op value_a value_b grad_a grad_b value_gap grad_gap")
SHRINK = {"tensor": 10, "value A": 8, "value B": 8, "grad A": 8, "grad B": 8}
MARKS = {SAME: " ", CHANGED: "~", FIRST: "-", SECOND: "+"}
STYLES = {SAME: "dim", CHANGED: "yellow", FIRST: "red", SECOND: "green"}
FILLS = {SAME: "#eeeeee", CHANGED: "#fff3c4", FIRST: "#ffd6d6", SECOND: "#d5f5d5"}
MANY = 60


def text(found: Diff, options: LayoutOptions) -> str:
    return layout.joined(lines(found, options))


def lines(found: Diff, options: LayoutOptions) -> Iterator[str]:
    shown = [r for r in found.rows if r.status != SAME] if len(found.rows) > MANY and not options.all else found.rows
    left = shown if options.all else shown[:MANY]
    if left:
        yield from layout.table(
            left,
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
        yield ""
    yield from layout.left_out(len(found.rows) - len(left), "tensors", options)
    yield from conclusions(found)


def short(value: Value | None) -> Cell:
    return right("") if value is None else Cell(numbers.short(value), "", not value.shape)


def conclusions(found: Diff) -> Iterator[str]:
    a, b = found.operations
    if found.same:
        yield f"no difference: {counted(a, 'operation')}, the same values and gradients"
        return
    counts = {status: sum(r.status == status for r in found.rows) for status in (CHANGED, FIRST, SECOND)}
    if found.same_structure:
        yield (
            f"the same graph of {counted(a, 'operation')}; {counted(counts[CHANGED], 'tensor')} with other values "
            "or gradients"
        )
    else:
        yield (
            f"A has {counted(a, 'operation')}, B has {b}: {counted(counts[FIRST], 'tensor')} only in A, "
            f"{counts[SECOND]} only in B, {counts[CHANGED]} changed"
        )
    gaps = [r.value_gap for r in found.rows if r.value_gap]
    grads = [r.grad_gap for r in found.rows if r.grad_gap]
    if gaps or grads:
        yield (
            f"largest difference: of a value {numbers.number(max(gaps, default=0.0), 4)}, "
            f"of a gradient {numbers.number(max(grads, default=0.0), 4)}"
        )


# ---- data


def render(found: Diff, format: str) -> str:
    names = "status label op first second values grads value_gap grad_gap"
    document = {
        **rows.fields(found, "same same_structure operations"),
        "rows": [rows.fields(r, names) for r in found.rows],
    }
    body = ((r.status, r.label, r.op, *r.values, *r.grads, r.value_gap, r.grad_gap) for r in found.rows)
    return rows.write(rows.Results("gradtrace/diff", document, "rows", COLUMNS, body), format)


# ---- drawing


def dot(found: Diff, a: Trace, b: Trace) -> str:
    """Return the DOT text of both graphs in one: parts of A only are red, parts of B only green, changed ones
    yellow.
    """
    node = {("a", r.first): k for k, r in enumerate(found.rows)} | {
        ("b", r.second): k for k, r in enumerate(found.rows)
    }
    out = [
        "digraph diff {",
        '  rankdir="LR"; bgcolor="white";',
        '  node [shape="box" style="filled" fontname="DejaVu Sans" fontsize="11" color="#555555"];',
    ]
    for k, r in enumerate(found.rows):
        said = [
            labels.font(labels.text(labels.clip(r.label)), bold=True),
            labels.text(change("", r.values)),
            labels.text(change("grad ", r.grads)),
        ]
        content = "<BR/>".join(part for part in said if part)
        out.append(f'  n{k} [fillcolor="{FILLS[r.status]}" label=<{content}>];')
    drawn: dict[tuple[int, int], str] = {}
    for side, trace in (("a", a), ("b", b)):
        for operation in trace.operations:
            for target in operation.outputs:
                for operand in operation.inputs:
                    source = node.get((side, operand.tensor)) if operand.tensor is not None else None
                    if source is not None:
                        edge = (source, node[side, target])
                        drawn[edge] = "ab" if drawn.get(edge, side) != side else side
    colors = {"a": "#c03030", "b": "#208020", "ab": "#555555"}
    out += [f'  n{source} -> n{target} [color="{colors[side]}"];' for (source, target), side in drawn.items()]
    return "\n".join([*out, "}", ""])


def change(word: str, pair: tuple[Value | None, Value | None]) -> str:
    """Return "2 → 3", or the number if only one of the runs has it."""
    first, second = (None if v is None else numbers.short(v) for v in pair)
    if first is None and second is None:
        return ""
    if first is None or second is None or first == second:
        return f"{word}{second if first is None else first}"
    return f"{word}{first} → {second}"
