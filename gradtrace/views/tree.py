"""A model as a tree of text: the results at the top, below each what it was computed from.

    y = a * b   6   MulBackward0
    ├─ a = x + w   3   AddBackward0
    │  ├─ x   2   leaf   grad 2
    │  └─ w   1   leaf   grad 5
    └─ b = w + 1   2   AddBackward0
       ← w   (above)

What has one input goes on below it at the same depth (←), so that a chain does not run out of the terminal. What was
shown already is named again, not repeated. In the style `autograd` the tree is that of next_functions.
"""

from __future__ import annotations

from gradtrace.annotations import Any, NamedTuple
from gradtrace.views import cells, nodes
from gradtrace.views.model import Model

FORK, LAST, LINE, NEXT = "├─ ", "└─ ", "│  ", "← "
ASCII = str.maketrans({"├": "|", "└": "`", "─": "-", "│": "|", "←": "<", "…": "...", "−": "-", "×": "*", "÷": "/"})
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


class TreeOptions(NamedTuple):
    """`width` None means as wide as it gets."""

    width: int | None = None
    color: bool = False
    ascii: bool = False


def render(drawn: Model, options: TreeOptions = TreeOptions()) -> str:
    """The tree, ended by a line break."""
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
    """For each node what it was computed from, with how often; an operation with one result is left out between."""
    found: dict[str, list[tuple[str, int]]] = {}
    for edge in drawn.edges:
        found.setdefault(edge.target, []).append((edge.source, edge.times))
    maker = {
        key: sources[0][0]
        for key, sources in found.items()
        if rows[key]["kind"] == "tensor" and rows[sources[0][0]]["kind"] == "operation"
    }
    made: dict[str, int] = {}
    for source in maker.values():
        made[source] = made.get(source, 0) + 1
    for key, source in maker.items():
        if made[source] == 1:
            rows[key]["made"] = rows[source]
            found[key] = found.get(source, [])
    return {key: merged(sources) for key, sources in found.items()}


def merged(sources: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Each source once."""
    counts: dict[str, int] = {}
    for source, times in sources:
        counts[source] = counts.get(source, 0) + times
    return list(counts.items())


def line(drawn: Model, row: dict[str, Any], before: str, note: str, options: TreeOptions) -> str:
    name = row["label"]
    made = row.get("made")
    if made is not None and made.get("text", row["label"]) not in row["label"]:
        name += f" = {made['text']}"
    if row["kind"] == "group":
        name = f"[{name}]"
    parts = [(name, "bold" if row["kind"] != "operation" else "")]
    if note:
        parts.append((note, "dim"))
    else:
        parts += rest(row)
    width = None if options.width is None else options.width - cells.width(before)
    shown: list[str] = []
    used = 0
    for part, style in parts:
        text = cells.visible(part)
        room = None if width is None else width - used
        if room is not None and room < 8 and shown:
            break
        cut = text if room is None else cells.clip_middle(text, max(room, 8), "...." if options.ascii else "…")
        used += cells.width(cut) + 3
        shown.append(cells.paint(cut, style) if options.color else cut)
    return (before + "   ".join(shown)).rstrip()


def rest(row: dict[str, Any]) -> list[tuple[str, str]]:
    """What follows the name, each with its colour."""
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
