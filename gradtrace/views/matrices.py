"""Jacobians and Hessians as text, data, or arrays in a file.

    d y / d x       2 x 3
          x[0]  x[1]  x[2]
    y[0]     2     0     1
    y[1]     0     4     1

The JSON document of `jacobian` has `schema` "gradtrace/jacobian", `version` and `blocks` [{of, by,
of_shape, by_shape, matrix (rows), weights, product (of weights and rows; both null without
--grad-tensors)}]. That of `hessian` has `schema` "gradtrace/hessian", `version`, of, by [{name,
shape}], labels, matrix, symmetric, asymmetry, eigenvalues, definiteness.
"""

from __future__ import annotations

import io

from gradtrace.analysis.matrices import Block, Hessian, element_names
from gradtrace.annotations import Any, Iterator, Sequence
from gradtrace.errors import UsageError
from gradtrace.trace.record import Value
from gradtrace.views import layout, numbers, rows
from gradtrace.views.cells import visible, wrap
from gradtrace.views.layout import Cell, Column, LayoutOptions, paint, right, total

MANY = 400  # elements up to which a matrix is written out
COLUMNS = ("of", "by", "derivative")


def jacobian_text(blocks: Sequence[Block], options: LayoutOptions) -> str:
    return "\n".join(layout.joined(block_lines(block, options)) for block in blocks)


def block_lines(block: Block, options: LayoutOptions) -> Iterator[str]:
    size = " x ".join(map(str, block.matrix.shape))
    yield paint(visible(f"d {block.of} / d {block.by}: {size}"), "bold", options)
    names = element_names(block.of, block.of_shape)
    weights = None if block.weights is None else [numbers.number(w) for w in flat(block.weights)]
    sums = None if block.product is None else [numbers.number(p) for p in flat(block.product)]
    titles = element_names(block.by, block.by_shape)
    if (
        len(names) == 1
        and weights is None
        and len(names[0]) + sum(len(t) + 2 for t in titles) > (options.width or 200)
    ):
        yield from upright(block, names[0], titles, options)
        return
    yield from matrix_lines(block.matrix, names, titles, options, weights, sums)


def upright(
    block: Block, name: str, titles: Sequence[str], options: LayoutOptions
) -> Iterator[str]:
    """Return the derivatives of one number, which are too wide as a row, in the input's shape or
    one below another.
    """
    if len(block.by_shape) == 2:
        rows_, columns = ([str(i) for i in range(n)] for n in block.by_shape)
        data = block.matrix.data.reshape(block.by_shape)
        yield from matrix_lines(
            Value(block.by_shape, block.matrix.dtype, data),
            [f"[{i}]" for i in rows_],
            [f"[:, {j}]" for j in columns],
            options,
        )
        return
    turned = block.matrix.data.reshape(-1, 1)
    yield from matrix_lines(
        Value(tuple(turned.shape), block.matrix.dtype, turned), titles, [name], options
    )


def flat(value: Value) -> list[float]:
    return [value.data] if not value.shape else value.data.reshape(-1).tolist()


def matrix_lines(
    matrix: Value,
    names: Sequence[str],
    titles: Sequence[str],
    options: LayoutOptions,
    weights: list[str] | None = None,
    sums: list[str] | None = None,
) -> Iterator[str]:
    """Return the matrix in pieces as wide as the terminal; only its range if it is too large."""
    if matrix.numel > MANY and not options.all:
        yield f"{numbers.summary(matrix)}  (--all writes it out; -o FILE.npy keeps it)"
        return
    first = [
        Column("", [Cell(visible(name), "bold") for name in [*names, *(["sum"] if sums else [])]])
    ]
    if weights is not None:
        first.append(
            Column(
                "weight", [Cell(w, "dim", True) for w in weights] + ([right("")] if sums else [])
            )
        )
    columns = [
        Column(
            visible(title),
            [right(numbers.number(row[j])) for row in matrix.data.tolist()]
            + ([Cell(sums[j], "green", True)] if sums else []),
        )
        for j, title in enumerate(titles)
    ]
    for i, piece in enumerate(pieces(first, columns, options.width)):
        if i:
            yield ""
        yield from layout.lines([*first, *piece], options)


def pieces(first: list[Column], columns: list[Column], width: int | None) -> Iterator[list[Column]]:
    """Yield as many columns at a time as fit beside the first."""
    part: list[Column] = []
    for column in columns:
        if part and width is not None and total([*first, *part, column]) > width:
            yield part
            part = []
        part.append(column)
    yield part


def hessian_text(hessian: Hessian, options: LayoutOptions) -> str:
    return layout.joined(hessian_lines(hessian, options))


def hessian_lines(hessian: Hessian, options: LayoutOptions) -> Iterator[str]:
    names = ", ".join(name for name, _ in hessian.by)
    yield paint(
        visible(
            f"second derivatives of {hessian.of} by {names}: {len(hessian.labels)} x "
            f"{len(hessian.labels)}"
        ),
        "bold",
        options,
    )
    yield from matrix_lines(hessian.matrix, hessian.labels, hessian.labels, options)
    yield ""
    told = (
        "symmetric"
        if hessian.symmetric
        else f"NOT symmetric: elements differ by {numbers.number(hessian.asymmetry, 3)}"
    )
    yield paint(told, "green" if hessian.symmetric else "red", options)
    if hessian.eigenvalues:
        largest = max(map(abs, hessian.eigenvalues))
        shown = [
            numbers.number(v if abs(v) > 1e-12 * largest else 0.0, 5) for v in hessian.eigenvalues
        ]
        text = ", ".join(shown if len(shown) <= 12 else [*shown[:5], "...", *shown[-5:]])
        yield from wrap(f"eigenvalues: {text}", options.width or 200)
    yield hessian.definiteness


# ---- data


def render_jacobian(blocks: Sequence[Block], format: str) -> str:
    body = [
        row
        for b in blocks
        for row in element_rows(
            b.matrix, element_names(b.of, b.of_shape), element_names(b.by, b.by_shape)
        )
    ]
    document = {"blocks": [block._asdict() for block in blocks]}
    return rows.write(rows.Results("gradtrace/jacobian", document, "blocks", COLUMNS, body), format)


def render_hessian(hessian: Hessian, format: str) -> str:
    by = [{"name": name, "shape": shape} for name, shape in hessian.by]
    format = "json" if format == "jsonl" else format
    body = element_rows(hessian.matrix, hessian.labels, hessian.labels)
    return rows.write(
        rows.Results("gradtrace/hessian", {**hessian._asdict(), "by": by}, "by", COLUMNS, body),
        format,
    )


def element_rows(matrix: Value, names: Sequence[str], titles: Sequence[str]) -> list[list[Any]]:
    return [
        [name, title, row[j]]
        for name, row in zip(names, matrix.data.tolist(), strict=True)
        for j, title in enumerate(titles)
    ]


# ---- files


def jacobian_file(blocks: Sequence[Block], suffix: str) -> bytes:
    """Return the blocks as an .npy file (one block: output's shape, then input's) or an .npz file
    ("y/x").
    """
    arrays = {f"{b.of}/{b.by}": b.matrix.data.reshape(b.of_shape + b.by_shape) for b in blocks}
    return saved(arrays, suffix)


def hessian_file(hessian: Hessian, suffix: str) -> bytes:
    return saved({"hessian": hessian.matrix.data}, suffix)


def saved(arrays: dict[str, Any], suffix: str) -> bytes:
    import numpy as np

    out = io.BytesIO()
    if suffix == "npz":
        np.savez(out, **arrays)
        return out.getvalue()
    if len(arrays) != 1:
        raise UsageError(
            f"-o: an .npy holds one array, and there are {len(arrays)}",
            "take .npz, or choose with --wrt",
        )
    np.save(out, next(iter(arrays.values())), allow_pickle=False)
    return out.getvalue()
