"""Fold graphs that have no scopes to fold: a long formula, or thousands of consecutive statements.

    taken_together(trace, fold, lines) -> Fold

A stretch of operations that repeats one block becomes a box with a count, like the iterations of a
loop; the others are divided into runs of about the same length, each named by its lines. A box
always holds consecutive operations, so that the graph of boxes has no cycles.
"""

from __future__ import annotations

import re
from itertools import pairwise

from gradtrace.annotations import Any, Iterable, NamedTuple, Sequence
from gradtrace.trace.record import Trace
from gradtrace.views.fold import FITS, LINES, LONGEST, SERIES, Fold, Group

PERIOD = 500  # operations of the longest block whose repetition is looked for
NAMED = 3  # operations that a box of no pattern names


class Stretch(NamedTuple):
    """A run of `length` operations from index `start`, made of `copies` equal blocks (1: no
    repetition).
    """

    start: int
    length: int
    copies: int


def ranges(names: Iterable[str]) -> list[range]:
    """Return the line ranges that "line 7" and "lines 7-20" stand for."""
    matches = (re.match(LINES, name.strip()) for name in names)
    return [range(int(m[1]), int(m[2] or m[1]) + 1) for m in matches if m is not None]


def taken_together(trace: Trace, fold: Fold, lines: Sequence[range] = ()) -> Fold:
    """Return the fold with the operations that are still shown put into chains of one scope each,
    except those of `lines`.
    """
    room = max(6, LONGEST // 2 - len(fold.groups))
    pieces = [
        (place, part)
        for place, ids in loose(trace, fold, lines)
        for part in independent(trace, ids, FITS // 4)
    ]
    size = max(2, -(-sum(len(ids) for _, ids in pieces) // room))
    member = list(fold.member)
    groups = list(fold.groups)
    for place, ids in pieces:
        for stretch in stretches([trace.operations[i].name for i in ids], size):
            part = ids[stretch.start : stretch.start + stretch.length]
            chain = chain_of(trace, len(groups), part, stretch.copies, place)
            groups.append(chain)
            for index in part:
                member[index] = chain.id
    return fold._replace(groups=tuple(groups), member=tuple(member))


def opened(trace: Trace, fold: Fold, group: Group) -> Fold:
    """Return the fold with one chain open: its operations, its first copy, or shorter runs of a
    long chain.
    """
    member = list(fold.member)
    groups = list(fold.groups)
    ids = list(group.operations)
    size = max(2, -(-len(ids) // (LONGEST // 2)))
    if group.copies > 1:
        first = len(ids) // group.copies
        parts = [Stretch(first, len(ids) - first, group.copies - 1)]
    elif len(ids) > FITS + LONGEST * 2:
        parts = stretches([trace.operations[i].name for i in ids], size)
    else:
        parts = []
    for index in ids:
        member[index] = None
    chains = [
        chain_of(trace, 0, ids[p.start : p.start + p.length], p.copies, group.scope) for p in parts
    ]
    others = [g for g in groups if g.id != group.id] + chains
    numbered = [g._replace(id=i) for i, g in enumerate(others)]
    for folded_group in numbered:
        for index in folded_group.operations:
            member[index] = folded_group.id
    return fold._replace(groups=tuple(numbered), member=tuple(member))


def loose(trace: Trace, fold: Fold, lines: Sequence[range]) -> list[tuple[int | None, list[int]]]:
    """Return the runs of consecutive operations in one scope that no group hides, each with its
    scope.
    """
    pieces: list[tuple[int | None, list[int]]] = []
    broken = True
    for operation, group in zip(trace.operations, fold.member, strict=True):
        line = 0 if operation.span is None else operation.span.line
        if group is not None or any(line in open_lines for open_lines in lines):
            broken = True
            continue
        place = fold.places[operation.id]
        if broken or pieces[-1][0] != place:
            pieces.append((place, []))
        pieces[-1][1].append(operation.id)
        broken = False
    return pieces


def independent(trace: Trace, ids: list[int], most: int) -> list[list[int]]:
    """Return the parts of a run of operations that share no tensor, if these are at most `most`, of
    more than one operation each; else the whole run.
    """
    parts: list[list[int]] = []
    numbers: dict[int, int] = {}  # of the part that a tensor is in
    for index in ids:
        tensors = tensors_of(trace, index)
        number = min((numbers[i] for i in tensors if i in numbers), default=len(parts))
        if number == len(parts):
            parts.append([])
        # what came after a part with a common tensor is between two operations of one part
        for later in parts[number + 1 :]:
            parts[number] += later
            numbers.update((i, number) for part in later for i in tensors_of(trace, part))
        del parts[number + 1 :]
        parts[number].append(index)
        numbers.update(dict.fromkeys(tensors, number))
    fits = len(parts) <= most and all(len(part) > 1 for part in parts)
    return parts if fits else [ids]


def tensors_of(trace: Trace, index: int) -> tuple[int, ...]:
    operation = trace.operations[index]
    return (*operation.tensors, *operation.outputs)


def stretches(names: list[str], size: int) -> list[Stretch]:
    """Return the repetitions of `size` operations or more, and between them runs of about `size`,
    but at least two.
    """
    runs: list[Stretch] = []
    at = 0
    for repeated in (*repetitions(names, size), Stretch(len(names), 0, 1)):
        parts = max(1, -(-(repeated.start - at) // size))
        cuts = [at + (repeated.start - at) * i // parts for i in range(parts + 1)]
        runs += [Stretch(a, b - a, 1) for a, b in pairwise(cuts) if b - a > 1]
        if repeated.length:
            runs.append(repeated)
        at = repeated.start + repeated.length
    return runs


def repetitions(names: list[str], size: int) -> list[Stretch]:
    """Return the longest stretches of `size` operations or more that repeat one block, in order."""
    import numpy as np

    codes: dict[str, int] = {}
    keys = np.array([codes.setdefault(name, len(codes)) for name in names], np.int64)
    candidates: list[tuple[int, int, int]] = []
    for every in range(1, min(PERIOD, len(names) // SERIES) + 1):
        breaks = np.flatnonzero(keys[every:] != keys[:-every])
        ends = np.append(breaks, len(names) - every)
        starts = np.append(0, breaks + 1)
        lengths = ends - starts + every
        for i in np.flatnonzero(lengths >= max(size, SERIES * every)):
            candidates.append((-int(lengths[i] // every * every), every, int(starts[i])))
    chosen: list[Stretch] = []
    for negative, every, start in sorted(candidates):
        stretch = Stretch(start, -negative, -negative // every)
        if all(
            stretch.start + stretch.length <= c.start or c.start + c.length <= stretch.start
            for c in chosen
        ):
            chosen.append(stretch)
    return sorted(chosen)


def chain_of(
    trace: Trace, index: int, operations: list[int], copies: int, place: int | None
) -> Group:
    """Return the box of a run of operations, named by the repeated block or by its lines."""
    spans = [span for i in operations if (span := trace.operations[i].span) is not None]
    # of several files the program's own lines, else those of the first file
    file = min((span.file for span in spans), key=bool, default="")
    lines = [span.line for span in spans if span.file == file]
    if not lines:
        where = ""
    elif min(lines) == max(lines):
        where = f"line {lines[0]}"
    else:
        where = f"lines {min(lines)}–{max(lines)}"
    if file:
        where += f" of {file.rpartition('/')[2]}"
    if copies > 1:
        name = ", ".join(block_names(trace, operations, copies))
        detail = where
    elif where.startswith("lines"):
        name = where
        detail = ""
    else:
        shown = [label_part(trace.operations[i].label) for i in operations]
        name = ", ".join(shown[:NAMED]) + (", …" if len(shown) > NAMED else "")
        detail = where
    return Group(index, "chain", name, detail, tuple(operations), copies, place)


def block_names(trace: Trace, operations: list[int], copies: int) -> list[str]:
    """Return the names of the repeated block's operations, with the constants that are the same in
    every copy.
    """
    size = len(operations) // copies
    names = []
    for i in range(size):
        labels: Any = {trace.operations[o].label for o in operations[i::size]}
        names.append(
            label_part(labels.pop()) if len(labels) == 1 else trace.operations[operations[i]].name
        )
    return names


def label_part(label: str) -> str:
    return label if len(label) <= 14 else label.partition(" ")[0]
