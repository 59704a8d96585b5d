"""Select the rows, their order, and the columns of a table: --only, --sort, --columns of `eval`.

chosen = Selection(columns=("name", "grad"), sort="-grad", only="leaf")
"""

from __future__ import annotations

from gradtrace.annotations import Any, NamedTuple, Sequence
from gradtrace.errors import UsageError
from gradtrace.trace.record import TensorRecord, Value
from gradtrace.views.pick import SYNONYMS

ONLY = ("leaf", "nonleaf", "param")
COLUMNS = ("name", "value", "shape", "dtype", "is_leaf", "requires_grad", "grad_fn", "grad")


class Selection(NamedTuple):
    """The chosen columns, order and rows of a table.

    `sort` is a column's name; with a - before it the largest values come first. Numbers sort by
    value, arrays by their norm.
    """

    columns: tuple[str, ...] = ()
    sort: str = ""
    only: str = ""

    def tensors(self, among: Sequence[TensorRecord]) -> list[TensorRecord]:
        """Return the tensors that --only selects, sorted; those without the sort key are last."""
        selected = [t for t in among if not self.only or self.means(t)]
        by = self.sort.removeprefix("-")
        if not by:
            return selected
        there = [(key, t) for t in selected if (key := key_of(t, by)) is not None]
        there.sort(key=lambda pair: pair[0], reverse=self.sort.startswith("-"))
        return [t for _, t in there] + [t for t in selected if key_of(t, by) is None]

    def means(self, tensor: TensorRecord) -> bool:
        if self.only == "param":
            return tensor.is_parameter
        return tensor.is_leaf == (self.only == "leaf")

    def places(self, titles: Sequence[str]) -> list[int]:
        """Return the positions of the selected columns among `titles`; all positions without
        --columns.
        """
        if not self.columns:
            return list(range(len(titles)))
        for name in self.columns:
            if name not in titles:
                raise unknown(name, titles, "--columns")
        return [list(titles).index(name) for name in self.columns]


def selection(columns: Sequence[str], sort: str | None, only: str | None, format: str) -> Selection:
    """Return the selection that the options describe. UsageError for an unknown column, or for a
    format without columns.
    """
    if columns and format in ("json", "jsonl", "value"):
        raise UsageError(f"--columns is for tables, not for {format}", "take csv, or jq for JSON")
    if sort and sort.removeprefix("-") not in COLUMNS:
        raise unknown(sort.removeprefix("-"), COLUMNS, "--sort")
    return Selection(tuple(columns), sort or "", only or "")


def unknown(name: str, titles: Sequence[str], option: str) -> UsageError:
    import difflib

    near = (
        [SYNONYMS[name]]
        if SYNONYMS.get(name) in titles
        else difflib.get_close_matches(name, titles, 1)
    )
    return UsageError(
        f"{option}: no column '{name}'",
        f"did you mean {near[0]}?" if near else f"there are {', '.join(titles)}",
    )


def key_of(tensor: TensorRecord, by: str) -> Any:
    """Return the sort key of a tensor; None if it lacks the value."""
    if by in ("value", "grad"):
        return size_of(tensor.value if by == "value" else tensor.grad)
    if by == "shape":
        return None if tensor.value is None else (tensor.value.numel, tensor.value.shape)
    if by == "dtype":
        return None if tensor.value is None else tensor.value.dtype
    return tensor.label if by == "name" else getattr(tensor, by)


def size_of(value: Value | None) -> float | None:
    """Return a scalar's number or an array's norm; None if it cannot be compared (NaN, meta)."""
    if value is None or not value.is_measured:
        return None
    if value.shape:
        size = value.norm
    else:
        size = float(value.data)
    return size if size == size else None
