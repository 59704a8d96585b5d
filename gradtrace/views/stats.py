"""Statistics as text or data.

The JSON document has `schema` "gradtrace/stats", `version`, device, structure {operations, tensors,
leaves, levels, width, depth, common, dead}, memory {saved_bytes, saved_tensors, freed,
leaf_gradient_bytes, retained_bytes}, verdict, depths [{depth, nodes, mean, smallest}], modules
[{name, parameters, norm, largest, zeros, nan, inf}], bad [{where, label, op, line, inputs [{label,
value}]}], nodes [{tensor, label, op, module, level, depth, line, value, grad}] with value and grad
{norm, mean, largest, zeros, nan, inf} or null. JSON Lines have a node each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gradtrace.analysis.stats import (
    Bad,
    Module,
    Numbers,
    Stats,
    TensorStats,
    has_nothing_finite,
)
from gradtrace.lazy_names import words
from gradtrace.views import layout, numbers, rows
from gradtrace.views.cells import bytes_text, counted, visible
from gradtrace.views.layout import Cell, Column, LayoutOptions, right

MANY = 40  # rows of a table
FEW = 6  # names of a level that are written out
COLUMNS = (
    *words("label op module level depth line"),
    *Numbers._fields,
    *(f"grad_{name}" for name in Numbers._fields),
)
BRIEF = ("node", "op", "norm", "max", "grad norm", "grad max", "bad")
SHRINK = {"op": 6, "module": 12}
# what is left out of a narrow table, in this order
SPARE = ("zeros", "mean", "module", "grad zeros", "max", "op")
BRIEF_SPARE = ("max", "grad max")


def text(stats: Stats, options: LayoutOptions, anomaly: bool = False) -> str:
    blocks = (
        [told(anomalies(stats), options)]
        if anomaly
        else [*tables(stats, options), told(reports(stats), options)]
    )
    return "\n".join(layout.joined(block) for block in blocks if block)


def told(said: Sequence[tuple[str, str]], options: LayoutOptions) -> list[str]:
    """Return texts in their styles as lines."""
    width = min(options.width or 100, 100)
    return [line for text, style in said for line in layout.wrapped(text, style, options, width)]


def brief(stats: Stats, options: LayoutOptions, nodes: int) -> str:
    """Return the statistics of a few nodes, and what is wrong: the details of one step of a
    training loop.
    """
    shown = (
        list(stats.nodes)
        if options.all or len(stats.nodes) <= nodes
        else outstanding(stats.nodes, nodes)
    )
    columns = [c for c in node_columns(shown) if c.title in BRIEF]
    shrink = {"node": layout.SHORT_NAME, "op": 6, "bad": 10}
    lines = layout.lines(columns, options, shrink, BRIEF_SPARE)
    lines += layout.left_out(len(stats.nodes) - len(shown), "nodes", options)
    page = options._replace(width=options.width or layout.WIDE)
    return layout.joined([*lines, *told(warnings(stats), page)])


def warnings(stats: Stats) -> list[tuple[str, str]]:
    return [(text, "red") for text in (stats.verdict, *map(bad_text, stats.bad)) if text]


def tables(stats: Stats, options: LayoutOptions) -> Iterator[list[str]]:
    shown = (
        list(stats.nodes) if options.all or len(stats.nodes) <= MANY else outstanding(stats.nodes)
    )
    columns = node_columns(shown)
    yield layout.lines(columns, options, {**SHRINK, "node": layout.SHORT_NAME}, SPARE)
    left = len(stats.nodes) - len(shown)
    if left:
        yield told([(f"{left} more nodes are not shown (--all)", "dim")], options)
    if stats.modules:
        names = layout.named("module", [m.name for m in stats.modules], options)
        columns = layout.columns(
            stats.modules,
            {
                "parameters": lambda m: right(f"{m.parameters:,}"),
                "grad norm": lambda m: number_cell(m, "norm"),
                "largest": lambda m: number_cell(m, "largest"),
                "zeros": percent,
                "bad": lambda m: Cell(not_finite(m), "red"),
            },
        )
        yield layout.lines([names, *columns], options, {names.title: layout.SHORT_NAME}, ("zeros",))
    if stats.verdict:
        yield layout.table(
            depth_rows(stats),
            {
                "depth": lambda d: right(d.depth),
                "nodes": lambda d: right(d.nodes),
                "mean |grad|": lambda d: cell(d.mean),
                "smallest": lambda d: cell(d.smallest),
            },
            options,
        )


def depth_rows(stats: Stats) -> Sequence[Any]:
    """Return rows for all depths, or for twelve spread evenly."""
    depths = stats.depths
    return depths if len(depths) <= 12 else [depths[(len(depths) - 1) * i // 11] for i in range(12)]


def outstanding(nodes: Sequence[TensorStats], most: int = MANY) -> list[TensorStats]:
    """Return the nodes with bad elements, then those with the largest and smallest gradients, in
    their order.
    """
    bad = [n for n in nodes if n.is_bad][: most // 2]
    sized = sorted((n for n in nodes if n.grad is not None), key=lambda n: n.grad.largest)  # type: ignore[union-attr]
    room = max(1 if most < MANY else 2, (most - len(bad)) // 2)
    chosen = {n.tensor for n in [*bad, *sized[:room], *sized[-room:]]} or {
        n.tensor for n in nodes[:most]
    }
    return [n for n in nodes if n.tensor in chosen]


def node_columns(shown: Sequence[TensorStats]) -> list[Column]:
    return layout.columns(
        shown,
        {
            "node": lambda n: visible(n.label),
            "op": lambda n: n.op or "",
            "module": lambda n: visible(n.module),
            "norm": lambda n: number_cell(n.value, "norm"),
            "mean": lambda n: number_cell(n.value, "mean"),
            "max": lambda n: number_cell(n.value, "largest"),
            "zeros": lambda n: percent(n.value),
            "grad norm": lambda n: number_cell(n.grad, "norm"),
            "grad max": lambda n: number_cell(n.grad, "largest"),
            "grad zeros": lambda n: percent(n.grad),
            "bad": bad_cell,
        },
    )


def number_cell(row: Numbers | Module | None, field: str) -> Cell:
    if row is None:
        return right("")
    if has_nothing_finite(row):
        return Cell("nan" if row.nan else "inf", "red", True)
    return cell(getattr(row, field))


def cell(x: float) -> Cell:
    return right(numbers.number(x, 4))


def percent(row: Numbers | Module | None) -> Cell:
    if row is None:
        return right("")
    return Cell(f"{100 * row.zeros:.3g}%" if row.zeros else "0", "" if row.zeros else "dim", True)


def bad_cell(node: TensorStats) -> Cell:
    pairs = (("value ", node.value), ("grad ", node.grad)) if node.is_bad else ()
    parts = [not_finite(x, name) for name, x in pairs if x is not None]
    return Cell(", ".join(filter(None, parts)), "red")


def not_finite(row: Numbers | Module, prefix: str = "") -> str:
    return ", ".join(f"{prefix}{n} {word}" for n, word in ((row.nan, "NaN"), (row.inf, "Inf")) if n)


# ---- reports


def reports(stats: Stats) -> list[tuple[str, str]]:
    s = stats.structure
    m = stats.memory
    leaves = f"{s.leaves} {'leaf that requires' if s.leaves == 1 else 'leaves that require'} grad"
    device = f"device {stats.device}{'' if stats.engine or stats.device != 'cpu' else ' (the only one here)'}"
    levels = [f"{{{some(level)}}}" for level in s.levels]
    shown = levels if len(levels) <= 8 else [*levels[:3], "...", *levels[-3:]]
    common = "; ".join(same(group) for group in s.common[:FEW])
    saved = f"{bytes_text(m.saved)} in {counted(m.saved_tensors, 'tensor')}"
    return [
        (
            f"{counted(s.operations, 'operation')}, {counted(s.tensors, 'tensor')}, {leaves}; "
            f"{device}",
            "",
        ),
        (f"levels (each can run at once): {' '.join(shown)}", ""),
        (f"depth {len(s.levels)}, width {s.width}", ""),
        (f"computed more than once: {common}", "yellow")
        if s.common
        else ("no common subexpressions", ""),
        (f"not needed for the result: {some(s.dead)}", "yellow")
        if s.dead
        else ("no dead nodes", ""),
        (f"saved for backward: {saved} ({'freed by backward' if m.freed else 'still kept'})", ""),
        (
            f"gradients of leaves: {bytes_text(m.leaf_gradients)}; retain_grad on every non-leaf "
            f"would keep {bytes_text(m.retained)} more",
            "",
        ),
        *warnings(stats),
    ]


def some(names: Sequence[str]) -> str:
    return f"{', '.join(names[:FEW])}{', ...' if len(names) > FEW else ''}"


def same(group: Sequence[str]) -> str:
    """Replace numbered labels of one expression by it and their number: "x+w (2 times)"."""
    base = group[0].rpartition(" #")[0] or group[0]
    differing = [label for label in group if (label.rpartition(" #")[0] or label) != base]
    return f"{base} ({len(group)} times)" if not differing else " = ".join(group)


def anomalies(stats: Stats) -> list[tuple[str, str]]:
    if stats.bad:
        return [(bad_text(bad), "red") for bad in stats.bad]
    if any(x is not None and (x.nan or x.inf) for n in stats.nodes for x in (n.value, n.grad)):
        return [("no value that is not finite reaches a result or a gradient", "green")]
    return [("every value and every gradient is finite", "green")]


def bad_text(bad: Bad) -> str:
    where = f" {bad.span.at}" if bad.span else ""
    shown = "; ".join(f"{label} is {numbers.short(value)}" for label, value in bad.inputs)
    cause = (
        f"{bad.op}{where} makes {bad.label} not finite"
        if bad.where == "forward"
        else (f"the derivative of {bad.op}{where} is not finite")
    )
    return f"first bad node in {bad.where}: {cause}" + (f" ({shown})" if shown else "")


# ---- data


def render(stats: Stats, format: str) -> str:
    return rows.write(
        rows.Results("gradtrace/stats", document(stats), "nodes", COLUMNS, map(row, stats.nodes)),
        format,
    )


def document(stats: Stats) -> dict[str, Any]:
    structure = rows.fields(stats.structure, "operations tensors leaves levels width")
    nodes = "tensor label op module level depth line=span value grad"
    return {
        "device": stats.device,
        "structure": {
            **structure,
            "depth": len(stats.structure.levels),
            **rows.fields(stats.structure, "common dead"),
        },
        "memory": rows.fields(
            stats.memory,
            "saved_bytes=saved saved_tensors freed leaf_gradient_bytes=leaf_gradients "
            "retained_bytes=retained",
        ),
        **rows.fields(stats, "verdict depths modules"),
        "bad": [
            {
                **rows.fields(bad, "where label op line=span"),
                "inputs": [{"label": label, "value": value} for label, value in bad.inputs],
            }
            for bad in stats.bad
        ],
        "nodes": [rows.fields(node, nodes) for node in stats.nodes],
    }


def row(node: TensorStats) -> list[Any]:
    blank = (None,) * 6
    line = node.span.short if node.span else ""
    start = [node.label, node.op, node.module, node.level, node.depth, line]
    return [*start, *(node.value or blank), *(node.grad or blank)]
