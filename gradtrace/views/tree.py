"""A model as a tree of text: the results at the top, below each the nodes that it was computed
from.

    y = a * b   6   MulBackward0
    ├─ a = x + w   3   AddBackward0
    │  ├─ x   2   leaf   grad 2
    │  └─ w   1   leaf   grad 5
    └─ b = w + 1   2   AddBackward0
       ← w   (above)

A node's only input stands below it at the same depth (←), so that a long chain fits the terminal. A
node that was shown already appears only by its name. In the style `autograd` the tree is that of
next_functions.
"""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.views import cells, layout, nodes
from gradtrace.views.layout import Branch, LayoutOptions
from gradtrace.views.model import Model

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
    branches: list[Branch] = []
    seen: set[str] = set()
    waiting = [(key, branches) for key in reversed(starts)]
    while waiting:
        key, siblings = waiting.pop()
        branch = Branch([], [])
        siblings.append(branch)
        below = [(key, 1)]
        while len(below) == 1:
            key = below[0][0]
            branch.lines.append(line(rows[key], key in seen))
            below = [] if key in seen else inputs.get(key, [])
            seen.add(key)
        waiting += [(source, branch.children) for source, _ in reversed(below)]
    return layout.tree(branches, options)


def inputs_of(drawn: Model, rows: dict[str, Any]) -> dict[str, list[tuple[str, int]]]:
    """Return for each node its inputs, with their counts; an operation with a single result is
    merged into this result.
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


def line(row: dict[str, Any], is_shown: bool) -> list[tuple[str, str]]:
    """Return the parts of a node's line with their styles; a node that was shown already is only
    named.
    """
    name = row["label"]
    maker = row.get("made")
    if maker is not None and maker.get("text", row["label"]) not in row["label"]:
        name += f" = {maker['text']}"
    if row["kind"] == "group":
        name = f"[{name}]"
    parts = [(name, "bold" if row["kind"] != "operation" else "")]
    parts += [("(above)", "dim")] if is_shown else rest(row)
    return [(cells.visible(text), style) for text, style in parts if text]


def rest(row: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the parts after the name, each with its colour."""
    parts: list[tuple[str, str]] = []
    if row["kind"] == "group":
        return [(row["text"], "dim")]
    if "value" in row:
        shape = (
            f"  {tuple(row['shape'])}" if row["shape"] and row["value_text"].startswith("[") else ""
        )
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
