"""The text of a tensor, exactly as PyTorch 2.13 prints it on the CPU.

Programs are compared by what they print, so this follows `torch/_tensor_str.py` to the last space,
quirks included. Three decisions make the text, in this order:

    1. which elements are shown        above `threshold` elements, `edgeitems` from both ends of
                                       every axis
    2. one style for all of them       digits, scientific or not, and the common width of a cell
    3. layout                          cells into lines of `linewidth`, lines into brackets, then
                                       the suffixes

Numbers are formatted as Python numbers, so a 0-d tensor held as a Python float never needs numpy;
an ndarray is asked only for its shape, its edges and `tolist()`.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gradtrace.engine.data.types import Array, Number, Raw, Shape

ELLIPSIS = "..."

_INF = float("inf")
_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": _INF, "edgeitems": 3, "linewidth": 80},
}
_options: dict[str, Any] = {**_PROFILES["default"], "sci_mode": None}


class Style(NamedTuple):
    """The format of a tensor's elements: a format spec, the suffix of a finite number, and a
    width.
    """

    spec: str
    point: str
    width: int


# ------------------------------------------------------------------------------------------------- options


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Change how tensors print, as torch.set_printoptions.

    `profile` ("default", "short", "full") sets the first four options at once, which other
    arguments override; an unknown profile changes nothing. Every call also sets `sci_mode`: to
    automatic if the argument is left out. Values are not checked here: as in PyTorch, a bad value
    raises when a tensor is printed.
    """
    if profile is not None:
        _options.update(_PROFILES.get(profile, {}))
    settings = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    _options.update({name: value for name, value in settings.items() if value is not None})
    _options["sci_mode"] = sci_mode


def get_printoptions() -> dict[str, Any]:
    """Return the current options as keyword arguments for `set_printoptions`."""
    return dict(_options)


# -------------------------------------------------------------------------------------------------- tensors


def tensor_text(
    array: Raw,
    *,
    dtype_name: str,
    default_dtype_name: str,
    requires_grad: bool,
    grad_fn_name: str | None,
    prefix: str = "tensor(",
) -> str:
    """Return the `repr` of a tensor.

    `array` is an ndarray of any shape, or a Python float, bool or int for a 0-d tensor.
    `dtype_name` is numpy's name ("float32"); `prefix` is the start of the text up to the
    parenthesis, with which lines are aligned. With a `grad_fn_name`, `requires_grad` is not shown.
    """
    shape = _shape(array)
    contents = _contents(array, shape, dtype_name.startswith("float"), len(prefix))
    suffixes = _size_and_dtype(shape, dtype_name, default_dtype_name)
    if grad_fn_name is not None:
        suffixes.append(f"grad_fn=<{grad_fn_name}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    return _with_suffixes(prefix + contents, suffixes, len(prefix))


def sparse_text(
    indices: Array,
    values: Raw,
    size: Shape,
    dtype_name: str,
    default_dtype_name: str,
    grad_fn_name: str,
) -> str:
    """Return the `repr` of a sparse tensor."""
    prefix = "tensor("
    parts = []
    for name, array, floating in (
        ("indices", indices, False),
        ("values", values, dtype_name.startswith("float")),
    ):
        start = f"{name}=tensor("
        text = start + _contents(array, _shape(array), floating, len(prefix) + len(start))
        parts.append(text + (f", size={_shape(array)})" if 0 in _shape(array) else ")"))
    suffixes = [f"size={size}", f"nnz={_shape(indices)[1]}"]
    if dtype_name not in (default_dtype_name, "int64", "bool"):
        suffixes.append(f"dtype=torch.{dtype_name}")
    suffixes.append("layout=torch.sparse_coo")
    if grad_fn_name:
        suffixes.append(f"grad_fn=<{grad_fn_name}>")
    return _with_suffixes(
        prefix + (",\n" + " " * len(prefix)).join(parts), suffixes, len(prefix), new_line=True
    )


def _shape(array: Raw) -> Shape:
    return () if isinstance(array, (float, int)) else array.shape


def _item(array: Raw) -> Number:
    if isinstance(array, (float, int)):
        return array
    return array.item()


def _contents(array: Raw, shape: Shape, floating: bool, indent: int) -> str:
    """The numbers with their brackets; `indent` is where the first bracket stands."""
    if isinstance(array, (float, int)) or not shape:
        values = [_item(array)]
        return _cells(values, _style(values, floating))[0]
    if not array.size:
        return "[]"
    edge = _options["edgeitems"]
    cut = (False,) * len(shape)
    if array.size > _options["threshold"]:
        if not edge:
            return f"[{ELLIPSIS}]"
        cut = tuple(size > 2 * edge for size in shape)
        array = _edges(array, cut, edge)
    values = array.reshape(-1).tolist()
    style = _style(values, floating)
    return _nested(_cells(values, style), array.shape, cut, style.width, indent)


def _edges(array: Array, cut: tuple[bool, ...], edge: int) -> Array:
    """The array with only the first and last `edge` items of each axis that is cut."""
    for axis, is_cut in enumerate(cut):
        if is_cut:
            array = array.take([*range(edge), *range(-edge, 0)], axis=axis)
    return array


# --------------------------------------------------------------------------------------------------- cells


def _style(values: Sequence[Number], floating: bool) -> Style:
    """The one style of all `values`. Zeros, infinities and nans have no say in it, not even in its
    width.
    """
    if not floating:
        return Style("", "", max(len(str(value)) for value in values))
    telling = [value for value in values if value and -_INF < value < _INF]
    if not telling:
        return Style(".0f", ".", 1)
    precision = _options["precision"]
    if _is_scientific(telling):
        spec = f".{precision}e"
        point = ""
    elif all(map(float.is_integer, telling)):
        spec = ".0f"
        point = "."
    else:
        spec = f".{precision}f"
        point = ""
    return Style(spec, point, max(len(format(value, spec)) for value in telling) + len(point))


def _is_scientific(telling: Sequence[float]) -> bool:
    forced = _options["sci_mode"]
    if forced is not None:
        return bool(forced)
    sizes = [abs(value) for value in telling]
    least = min(sizes)
    greatest = max(sizes)
    return greatest / least > 1000.0 or greatest > 1.0e8 or least < 1.0e-4


def _cells(values: Sequence[Number], style: Style) -> list[str]:
    """Each value as text, right-aligned to the style's width (a nan may still be wider than it)."""
    spec, point, width = style
    if point:
        return [_whole(value).rjust(width) for value in values]
    return [format(value, spec).rjust(width) for value in values]


def _whole(value: float) -> str:
    """A float without fraction, told from an int by its point: `3.`"""
    return f"{value:.0f}." if -_INF < value < _INF else f"{value:.0f}"


# --------------------------------------------------------------------------------------------------- layout


def _nested(cells: list[str], shape: Shape, cut: tuple[bool, ...], width: int, indent: int) -> str:
    """Cells in row-major order of `shape`, in brackets; an axis that is `cut` shows dots at its
    middle.
    """
    last = len(shape) - 1
    per_line = max(1, int((_options["linewidth"] - indent - last) // (width + 2)))
    rows = _groups(cells, shape[last], cut[last], " " + ELLIPSIS)
    blocks = [_row(row, per_line, indent + last) for row in rows]
    for axis in range(last - 1, -1, -1):
        gap = "," + "\n" * (last - axis) + " " * (indent + axis + 1)
        blocks = [
            f"[{gap.join(group)}]" for group in _groups(blocks, shape[axis], cut[axis], ELLIPSIS)
        ]
    return blocks[0]


def _groups(items: list[str], size: int, is_cut: bool, dots: str) -> Iterator[list[str]]:
    """Runs of `size` items, with `dots` halfway where the axis is cut."""
    for start in range(0, len(items), size):
        group = items[start : start + size]
        if is_cut:
            group.insert(size // 2, dots)
        yield group


def _row(cells: list[str], per_line: int, indent: int) -> str:
    """One innermost vector, in as many lines as it takes."""
    lines = [", ".join(cells[start : start + per_line]) for start in range(0, len(cells), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _size_and_dtype(shape: Shape, dtype_name: str, default_dtype_name: str) -> list[str]:
    """What the numbers do not tell. An empty tensor has none to tell int64 or bool from float."""
    empty = 0 in shape
    evident = (default_dtype_name,) if empty else (default_dtype_name, "int64", "bool")
    suffixes = []
    shows_size = len(shape) != 1 if empty else not _options["edgeitems"]
    if shows_size:
        suffixes.append(f"size={tuple(shape)}")
    if dtype_name not in evident:
        suffixes.append(f"dtype=torch.{dtype_name}")
    return suffixes


def _with_suffixes(text: str, suffixes: list[str], indent: int, new_line: bool = False) -> str:
    """`text` closed by its suffixes, each moved to a line of its own where it would pass
    `linewidth`.

    With `new_line` the first one begins a line.
    """
    parts = [text]
    # PyTorch's count of the last line is two too high, so ours is: suffixes wrap that much sooner.
    used = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if new_line or used + len(suffix) + 2 > _options["linewidth"]:
            parts.append(",\n" + " " * indent + suffix)
            used = indent + len(suffix)
            new_line = False
        else:
            parts.append(", " + suffix)
            used += len(suffix) + 2
    return "".join(parts) + ")"
