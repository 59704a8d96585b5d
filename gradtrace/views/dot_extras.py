"""Additions to a drawing: levels of operations that could run in parallel, and colours by a size at
each node.
"""

from __future__ import annotations

import itertools
import math

from gradtrace.trace.record import Value
from gradtrace.views import flow, numbers
from gradtrace.views.drawing import Box, Drawing, Part, Wire
from gradtrace.views.frame import longest_paths
from gradtrace.views.labels import Words
from gradtrace.views.model import OPERATION, TENSOR, DrawnNode, Model
from gradtrace.views.style import TEXT_SIZE, Theme


def level_of(drawn: Model) -> dict[str, int]:
    """Return each node's level: the number of operations before it. An operation has the level of
    its result.
    """
    free = frozenset(
        node.key for node in drawn.nodes if node.kind == TENSOR and drawn.style != "autograd"
    )
    edges = [(edge.source, edge.target) for edge in drawn.edges]
    return longest_paths([node.key for node in drawn.nodes], edges, free)


def levels(drawing: Drawing, drawn: Model, theme: Theme) -> None:
    """Draw a column for each level (a row if the graph goes down), with its number and size."""
    level = level_of(drawn)
    columns: dict[int, list[str]] = {}
    for node in drawn.nodes:
        if node.kind != OPERATION:
            columns.setdefault(level[node.key], []).append(node.key)
    for number, keys in sorted(columns.items()):
        many = f"{len(keys)} at once" if len(keys) > 1 else "1"
        caption = (
            Words(f"level {number}", TEXT_SIZE, theme.faint, bold=True),
            Words(many, color=theme.faint),
        )
        column = Part({"rank": "same"})
        column.items = [Box(f"level{number}", {"shape": "plaintext"}, caption=caption), *keys]
        drawing.items.append(column)
    dotted = {"color": theme.idle, "style": "dotted", "arrowhead": "none", "weight": "100"}
    for here, there in itertools.pairwise(sorted(columns)):
        drawing.items.append(Wire(f"level{here}", f"level{there}", dotted))


def norms(drawn: Model, flowed: dict[int, Value]) -> dict[str, float]:
    """Return the gradient norm at each node: of a tensor, of a function's input, of the last
    operation of a group.
    """
    steps = flow.last_steps(drawn.trace)
    by_node: dict[str, float] = {}
    for node in drawn.nodes:
        if node.kind == "function":
            step = steps.get(node.record)
            values = [] if step is None else [value for value in step.upstream if value is not None]
            if values:
                by_node[node.key] = max(value.norm for value in values)
                continue
        lengths = [flowed[t].norm for t in tensors_of(drawn, node) if t in flowed]
        if lengths:
            by_node[node.key] = max(lengths)
    return by_node


def errors(drawn: Model) -> dict[str, float]:
    """Return the relative error at each node, in roundings of its dtype: of a result, or of a
    leaf's gradient.
    """
    precision = drawn.trace.precision
    by_tensor: dict[int, float] = {}
    for row in () if precision is None else precision.measured:
        if row.passed is None or drawn.trace.tensors[row.tensor].is_leaf:
            by_tensor[row.tensor] = row.error
    sizes: dict[str, float] = {}
    for node in drawn.nodes:
        measured = [by_tensor[t] for t in tensors_of(drawn, node) if t in by_tensor]
        if measured:
            sizes[node.key] = max(measured)
    return sizes


def tensors_of(drawn: Model, node: DrawnNode) -> tuple[int, ...]:
    """Return the tensors that a node shows: itself, a group's result, or those that a function
    made.
    """
    if node.kind == "tensor":
        return (node.record,)
    if node.kind == "group":
        group = drawn.groups[node.record]
        return group.leaves or drawn.trace.operations[group.operations[0]].outputs
    if node.kind != "function":
        return ()
    function = drawn.trace.functions[node.record]
    return function.outputs or (() if function.variable is None else (function.variable,))


def bounds(lengths: dict[str, float]) -> tuple[float, float] | None:
    finite = [x for x in lengths.values() if x > 0 and math.isfinite(x)]
    return (min(finite), max(finite)) if finite else None


def fills(drawn: Model, theme: Theme, lengths: dict[str, float]) -> dict[str, str]:
    """Return each node's fill colour by its size (logarithmic); white for none, a warning colour
    for NaN.
    """
    ends = bounds(lengths)
    colours: dict[str, str] = {}
    for node in drawn.nodes:
        length = lengths.get(node.key)
        if length is None or length == 0:
            colours[node.key] = theme.background
        elif not math.isfinite(length):
            colours[node.key] = theme.bad
        elif ends is not None:
            colours[node.key] = theme.scale[step_of(length, *ends, len(theme.scale))]
    return colours


def step_of(length: float, low: float, high: float, steps: int) -> int:
    if high <= low:
        return steps - 1
    share = (math.log(length) - math.log(low)) / (math.log(high) - math.log(low))
    return min(steps - 1, int(share * steps))


def scale(theme: Theme, lengths: dict[str, float], quantity: str) -> str:
    """Return the label that explains the fill colours, from the smallest size to the largest; ""
    without sizes.
    """
    ends = bounds(lengths)
    if ends is None:
        return ""
    low, high = (numbers.number(end, 3) for end in ends)
    samples = "".join(
        f'<TD BGCOLOR="{color}" WIDTH="22" HEIGHT="12"></TD>' for color in theme.scale
    )
    word, left, right = (
        Words(text, color=theme.faint).markup for text in (f"{quantity}, logarithmic", low, high)
    )
    return (
        f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0"><TR><TD COLSPAN="{len(theme.scale) + 2}">{word}</TD></TR>'
        f"<TR><TD>{left}&#160;</TD>{samples}<TD>&#160;{right}</TD></TR></TABLE>"
    )
