"""Paths and the chain rule along them, as text or data.

    y to w: 2 paths
    path       local derivatives  product
    y → a → w  2 · 1                    2
    y → b → w  3 · 1                    3
    w.grad = 2*1 + 3*1 = 5

The JSON document has `schema` "gradtrace/paths", `version` and `results`, one for each tensor:
root, leaf, element (its index, or null), count (an exact integer), paths [{tensors, factors [{of,
by, local (null for a matrix), matrix (its shape)}], product}] (empty if too many), groups
[{through, count, total}], total, gradient (null if backward did not start at root), agrees, vector,
hooks (that changed a gradient on the way).
"""

from __future__ import annotations

from gradtrace.analysis.paths import Factor, Path, Paths
from gradtrace.annotations import Any, Callable, Iterator, Sequence
from gradtrace.trace.record import Value
from gradtrace.views import layout, numbers, rows
from gradtrace.views.cells import visible, wrap
from gradtrace.views.layout import Cell, LayoutOptions, paint, right, total

COLUMNS = ("root", "leaf", "path", "count", "factors", "product")
SHRINK = {"path": 16, "local derivatives": 12, "product": 9, "adds": 9, "through": 12}
LONGEST = 12  # paths whose sum is written out
# tensors of a path that are written out; of a longer one, those at its ends (JSON has them all)
STEPS = 24


def table(results: Sequence[Paths], options: LayoutOptions) -> str:
    return "\n".join(layout.joined(lines(paths, options)) for paths in results)


def lines(paths: Paths, options: LayoutOptions) -> Iterator[str]:
    noun = "path" if paths.ways == 1 else "paths"
    yield paint(visible(f"{paths.root} to {paths.leaf}: {paths.ways:,} {noun}"), "bold", options)
    if paths.paths:
        facts: dict[str, Callable[[Path], str | Cell]] = {
            "path": lambda p: visible(arrow(options).join(ends(p.tensors))),
            "local derivatives": lambda p: product_of(p, factor, options),
            "product": lambda p: cell(p.product),
        }
        columns = layout.columns(paths.paths, facts)
        if options.width is None or total(columns) <= options.width:
            yield from layout.lines(columns, options, SHRINK)
        else:
            yield from one_by_one(paths.paths, options)
    elif paths.ways:
        yield from layout.table(
            paths.groups,
            {
                "through": lambda g: visible(g.through),
                "paths": lambda g: right(f"{g.ways:,}"),
                "adds": lambda g: cell(g.total),
            },
            options,
            SHRINK,
        )
    for text, style in conclusions(paths):
        yield from layout.wrapped(text, style, options, options.width or 200)


def one_by_one(paths: Sequence[Path], options: LayoutOptions) -> Iterator[str]:
    """Yield each path on its own lines, with its derivatives and their product below."""
    width = options.width or 80
    for path in paths:
        yield from wrap(visible(arrow(options).join(ends(path.tensors))), width)
        factors = product_of(path, lambda f: layout.shape_of(factor(f)), options)
        for part in wrap(f"{factors} = {layout.shape_of(cell(path.product).text)}", width - 4):
            yield "    " + part


def product_of(path: Path, written: Callable[[Factor], str], options: LayoutOptions) -> str:
    """Return the local derivatives along a path as a product."""
    return dot(options).join(ends([written(f) for f in path.factors])) or "1"


def conclusions(paths: Paths) -> Iterator[tuple[str, str]]:
    """Yield the sum, and whether it equals the gradient."""
    if not paths.ways:
        yield f"{paths.root} does not depend on {paths.leaf}", "yellow"
        return
    if paths.vector.numel != 1 or the_one(paths.vector) != 1:
        yield f"backward started with {numbers.short(paths.vector)}", "dim"
    index = "" if paths.element is None else f"[{', '.join(map(str, paths.element))}]"
    is_grad = paths.gradient is not None and paths.is_kept
    name = f"{paths.leaf}.grad" if is_grad else f"d({paths.root})/d({paths.leaf})"
    name += index
    terms = sum_of(paths)
    total = short(paths.total)
    yield (
        f"{name} = {terms} = {total}" if terms and terms != total else f"{name} = {total}",
        "green",
    )
    if not paths.agrees and paths.gradient is not None:
        why = (
            f"the hook {', '.join(paths.hooks)} changed it on the way"
            if paths.hooks
            else "the paths do not add up"
        )
        yield f"but backward brought {short(paths.gradient)}: {why}", "red"


def sum_of(paths: Paths) -> str:
    """Return "2*1 + 3*1" for a few scalar paths; "" for others."""
    scalar = all(f.local is not None and f.local.numel == 1 for p in paths.paths for f in p.factors)
    whole = paths.vector.numel == 1 and the_one(paths.vector) == 1 and paths.total.numel == 1
    short_enough = all(len(p.factors) <= STEPS for p in paths.paths)
    if not 0 < len(paths.paths) <= LONGEST or not scalar or not whole or not short_enough:
        return ""
    return " + ".join("*".join(signed(factor(f)) for f in p.factors) or "1" for p in paths.paths)


def ends(items: Sequence[str]) -> list[str]:
    """Return all items, or the first and the last with the number of those between."""
    if len(items) <= STEPS:
        return list(items)
    part = STEPS // 4
    return [*items[:part], f"... {len(items) - 2 * part:,} more ...", *items[-part:]]


def signed(text: str) -> str:
    return f"({text})" if text.startswith("-") else text


def factor(factor: Factor) -> str:
    """Return a derivative for a cell: its number, a few numbers, or the size of its matrix."""
    if factor.local is not None:
        return short(factor.local)
    return f"J({'x'.join(map(str, factor.shape))})"


def the_one(value: Value) -> float:
    """Return the only element of a value."""
    return float(value.data) if not value.shape else float(value.data.reshape(-1)[0])


def short(value: Value) -> str:
    if value.numel == 1:
        return numbers.number(the_one(value))
    text = numbers.summary(value) if value.numel > 1 else ""
    return text if text.startswith("all ") else numbers.short(value)


def cell(value: Value) -> Cell:
    return Cell(short(value), "", value.numel == 1)


def arrow(options: LayoutOptions) -> str:
    return " -> " if options.ascii else " → "


def dot(options: LayoutOptions) -> str:
    return " * " if options.ascii else " · "


# ---- data


def render(results: Sequence[Paths], format: str) -> str:
    if format == "jsonl":
        paths = [
            {**rows.fields(r, "root leaf"), **path_fields(p)} for r in results for p in r.paths
        ]
        return rows.write(
            rows.Results("gradtrace/paths", {"paths": paths}, "paths", (), ()), format
        )
    document = {"results": list(map(document_of, results))}
    body = [line for r in results for line in text_rows(r)]
    return rows.write(rows.Results("gradtrace/paths", document, "results", COLUMNS, body), format)


def document_of(paths: Paths) -> dict[str, Any]:
    return {
        **rows.fields(paths, "root leaf element count=ways"),
        "paths": list(map(path_fields, paths.paths)),
        "groups": [rows.fields(group, "through count=ways total") for group in paths.groups],
        **rows.fields(paths, "total gradient agrees vector hooks"),
    }


def path_fields(path: Path) -> dict[str, Any]:
    factors = [{**rows.fields(f, "of by local"), "matrix": f.shape or None} for f in path.factors]
    return {"tensors": path.tensors, "factors": factors, "product": path.product}


def text_rows(paths: Paths) -> Iterator[list[Any]]:
    for p in paths.paths:
        factors = " * ".join(
            numbers.full(f.local) if f.local is not None else factor(f) for f in p.factors
        )
        yield [paths.root, paths.leaf, " -> ".join(p.tensors), 1, factors, p.product]
    for g in () if paths.paths else paths.groups:
        yield [paths.root, paths.leaf, f"... -> {g.through} -> {paths.leaf}", g.ways, "", g.total]
    yield [paths.root, paths.leaf, "sum", paths.ways, "", paths.total]
