"""A model as a tree of text: the results at the top, below each the nodes that it was computed from.

    y = a * b   6   MulBackward0
    ├─ a = x + w   3   AddBackward0
    │  ├─ x   2   leaf   grad 2
    │  └─ w   1   leaf   grad 5
    └─ b = w + 1   2   AddBackward0
       ← w   (above)

A node's only input stands below it at the same depth (←), so that a long chain fits the terminal. A node that was shown
already appears only by its name. In the style `autograd` the tree is that of next_functions.
"""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.views import cells, nodes
from gradtrace.views.layout import LayoutOptions
from gradtrace.views.model import Model

FORK, LAST, LINE, NEXT = "├─ ", "└─ ", "│  ", "← "
ASCII = str.maketrans({"├": "|", "└": "`", "─": "-", "│": "|", "←": "<", "…": "...", "−": "-", "×": "*", "÷": "/"})
GAP = "   "  # between the parts of a line
SHORTEST = 6  # columns of a name
LEAST = 8  # columns of a value: in fewer it is left out
WORDS = {
    "leaf": "leaf",
    "data": "leaf without grad",
    "constant": "constant",
    "result": "no grad",
    "retained": "grad retained",
    "accumulate": "AccumulateGrad",
    "freed": "freed",
    "failed": "failed",
}


def render(drawn: Model, options: LayoutOptions = LayoutOptions()) -> str:
    """Return the tree, ended by a line break."""
    rows = {row["id"]: row for row in nodes.facts_of(drawn)}
    inputs = inputs_of(drawn, rows)
    used = {source for sources in inputs.values() for source, _ in sources}
    starts = [key for key in rows if key not in used and rows[key]["kind"] != "operation"]
    lines: list[str] = []
    seen: set[str] = set()
    waiting = [(key, "", "", "") for key in reversed(starts)]
    while waiting:
        key, mark, before, under = waiting.pop()
        lines.append(line(drawn, rows[key], before + mark, "" if key not in seen else "(above)", options))
        if key in seen:
            continue
        seen.add(key)
        below = inputs.get(key, [])
        if len(below) == 1:
            waiting.append((below[0][0], NEXT, under, under))
            continue
        for i, (source, _) in reversed(list(enumerate(below))):
            last = i == len(below) - 1
            waiting.append((source, LAST if last else FORK, under, under + ("   " if last else LINE)))
    text = "\n".join(lines) + "\n"
    return text.translate(ASCII) if options.ascii else text


def inputs_of(drawn: Model, rows: dict[str, Any]) -> dict[str, list[tuple[str, int]]]:
    """Return for each node its inputs, with their counts; an operation with a single result is merged into this
    result.
    """
    inputs: dict[str, list[tuple[str, int]]] = {}
    for edge in drawn.edges:
        inputs.setdefault(edge.target, []).append((edge.source, edge.times))
    maker = {
        key: sources[0][0]
        for key, sources in inputs.items()
        if rows[key]["kind"] == "tensor" and rows[sources[0][0]]["kind"] == "operation"
    }
    counts: dict[str, int] = {}
    for source in maker.values():
        counts[source] = counts.get(source, 0) + 1
    for key, source in maker.items():
        if counts[source] == 1:
            rows[key]["made"] = rows[source]
            inputs[key] = inputs.get(source, [])
    return {key: merged(sources) for key, sources in inputs.items()}


def merged(sources: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return each source once, with its total count."""
    counts: dict[str, int] = {}
    for source, times in sources:
        counts[source] = counts.get(source, 0) + times
    return list(counts.items())


def line(drawn: Model, row: dict[str, Any], before: str, note: str, options: LayoutOptions) -> str:
    name = row["label"]
    maker = row.get("made")
    if maker is not None and maker.get("text", row["label"]) not in row["label"]:
        name += f" = {maker['text']}"
    if row["kind"] == "group":
        name = f"[{name}]"
    parts = [(name, "bold" if row["kind"] != "operation" else "")]
    if note:
        parts.append((note, "dim"))
    else:
        parts += rest(row)
    width = None if options.width is None else options.width - cells.width(before)
    texts = [cells.visible(part) for part, _ in parts]
    fitted = texts if width is None else fitted_to(texts, width, "...." if options.ascii else "…")
    shown = [
        cells.paint(text, style) if options.color else text
        for text, (_, style) in zip(fitted, parts, strict=True)
        if text
    ]
    return (before + GAP.join(shown)).rstrip()


def fitted_to(texts: list[str], width: int, ellipsis: str) -> list[str]:
    """Return the name and the other parts within `width`; "" for a part that is left out.

    The least informative part is left out first: the role, the grad_fn, then the value. The gradient always stays; the
    name is shortened for it, down to a few letters.
    """
    fitted = list(texts)
    last = len(fitted) - 1
    has_gradient = last > 0 and fitted[last].startswith("grad ")
    for i in range(last - has_gradient, 0, -1):
        if total(fitted) > width:
            room = cells.width(fitted[i]) + width - total(fitted)
            fitted[i] = cells.clip(fitted[i], room, ellipsis) if i == 1 and room >= LEAST else ""
    if has_gradient and total(fitted) > width:
        room = width - min(cells.width(fitted[0]), SHORTEST) - len(GAP)
        fitted[last] = cells.clip(fitted[last], max(room, least_gradient(fitted[last])), ellipsis)
    over = total(fitted) - width
    if over > 0:
        fitted[0] = cells.clip_middle(fitted[0], max(cells.width(fitted[0]) - over, 2), ellipsis)
    return fitted


def total(texts: list[str]) -> int:
    shown = [text for text in texts if text]
    return sum(map(cells.width, shown)) + len(GAP) * (len(shown) - 1)


def least_gradient(text: str) -> int:
    """Return the width of "grad 0.25", or of "grad (16, 8)" where more text follows."""
    end = text.find("  ")
    return cells.width(text if end < 0 and "[" not in text else text[: max(end, 8)]) + 1


def rest(row: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the parts after the name, each with its colour."""
    parts: list[tuple[str, str]] = []
    if row["kind"] == "group":
        return [(row["text"], "dim")]
    if "value" in row:
        shape = f"  {tuple(row['shape'])}" if row["shape"] and row["value_text"].startswith("[") else ""
        parts.append((row["value_text"] + shape, ""))
    if "grad_fn" in row and row["label"] != row["grad_fn"]:
        parts.append((row["grad_fn"], "cyan"))
    if row.get("of"):
        parts.append((f"of {row['of']}", "dim"))
    if row.get("role") in WORDS and WORDS[row["role"]] != row.get("grad_fn"):
        parts.append((WORDS[row["role"]], "dim"))
    if row.get("role") == "failed":
        return [(row["grad_note"], "red")]
    if "grad" in row:
        parts.append((f"grad {row['grad_text']}", "yellow"))
    elif "flowed" in row:
        parts.append((f"grad {row['grad_text']} passed, not kept", "dim"))
    return parts
