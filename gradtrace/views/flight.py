"""A flight log as text, data or a page.

The JSON document has `schema` "gradtrace/flight", `version`, steps {first, last, seconds}, curves
[{name, first, lowest, median, largest, largest_step, last}], spikes and bad [{step, name, value,
level}], and rows [{step, NAME: number}] with the numbers that were noted. JSON Lines have a row
each; CSV, TSV, Markdown and LaTeX have a column for each curve.
"""

from __future__ import annotations

import math
import time
from bisect import bisect_left
from html import escape
from itertools import pairwise, takewhile

from gradtrace.analysis.flight import Curve, Event, Flight
from gradtrace.annotations import Any, Iterator, Sequence
from gradtrace.engine.data.lazy import np
from gradtrace.trace.values import Value
from gradtrace.views import layout, numbers, rows
from gradtrace.views.cells import counted, visible
from gradtrace.views.layout import LayoutOptions, right

WIDTH = 80  # where nothing else is known
BLOCKS = 16  # characters of a curve
MANY = 24  # rows of a table
STEPS = 4  # with events, that have sentences
NAMES = 3  # of curves in a sentence
LONG = 12  # characters of what names have in common, from which on … stands for it
POINTS = 400  # of a drawn curve
HEIGHT = 90  # of a drawn curve, in pixels; its width is POINTS
MARK = 12  # of a mark of what is not finite
FRESH = 60  # seconds since the last step within which a page is loaded again
RELOADED = 10  # seconds between
DECADES = 2  # between a curve's ends, from which on its scale is logarithmic


def flight_text(flight: Flight, options: LayoutOptions) -> str:
    options = options._replace(width=options.width or WIDTH)
    if not len(flight.steps):
        return layout.joined(sentence for sentence, _ in sentences(flight))
    flight, common = shortened(flight)
    shown = [c for c in flight.curves if c.last is not None]
    left = 0 if options.all else max(0, len(shown) - MANY)
    lines = layout.table(
        shown[: len(shown) - left],
        {
            "curve": lambda c: visible(c.name),
            "first": lambda c: cell(c.first),
            "median": lambda c: cell(c.median),
            "largest": lambda c: cell(c.largest),
            "at step": lambda c: right("" if c.largest_step is None else c.largest_step),
            "last": lambda c: cell(c.last),
            "steps": lambda c: numbers.sparkline(value_of(c), BLOCKS),
        },
        options,
        {"curve": 12},
    )
    lines += [*layout.left_out(left, "curves", options), ""]
    for sentence, style in sentences(flight, common):
        lines += layout.wrapped(sentence, style, options, options.width or WIDTH)
    return layout.joined(lines)


def cell(x: float | None) -> layout.Cell:
    return right("" if x is None else numbers.number(x, 3))


def value_of(c: Curve) -> Value:
    """Return the numbers of a curve as a Value; their logarithms if they span decades."""
    if c.lowest == c.largest:  # the means of equal numbers may differ in the last place
        return Value(c.values.shape, "float64", np.where(np.isfinite(c.values), 0.0, c.values))
    return Value(c.values.shape, "float64", np.log(c.values) if spans_decades(c) else c.values)


def spans_decades(c: Curve) -> bool:
    """Whether a curve is drawn on a logarithmic scale."""
    return (
        c.lowest is not None
        and c.largest is not None
        and c.lowest > 0
        and c.largest >= c.lowest * 10**DECADES
    )


def shortened(flight: Flight) -> tuple[Flight, str]:
    """Return a flight in which … stands for what all names with dots begin with, and that
    beginning; "" if it is short.
    """
    paths = {c.name.partition(" ")[2] for c in flight.curves if "." in c.name}
    parts = zip(*(path.split(".")[:-1] for path in paths), strict=False)
    common = ".".join(part[0] for part in takewhile(lambda part: len({*part}) == 1, parts))
    if len(common) < LONG or len(paths) < 2:
        return flight, ""

    def renamed(rows: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(row._replace(name=row.name.replace(f" {common}.", " ….")) for row in rows)

    curves = renamed(flight.curves)
    return (
        flight._replace(curves=curves, spikes=renamed(flight.spikes), bad=renamed(flight.bad)),
        common,
    )


def sentences(flight: Flight, common: str = "") -> Iterator[tuple[str, str]]:
    """Yield sentences about the log, the first step that is not finite before others, each with its
    style.
    """
    if not len(flight.steps):
        yield "No step is in this flight log yet.", ""
        return
    many = (
        f"{counted(len(flight.steps), 'step')}, {flight.steps[0]} to {flight.steps[-1]}, in "
        f"{duration(flight.seconds)}."
    )
    yield many, ""
    missing = int(flight.steps[-1] - flight.steps[0]) + 1 - len(flight.steps)
    if missing:
        are = "is" if missing == 1 else "are"
        gap = f"{counted(missing, 'step')} in between {are} missing"
        yield f"{gap}: not noted, or the file is damaged.", "yellow"
    if common:
        yield f"… is {visible(common)}.", ""
    first = flight.bad[0].step if flight.bad else None
    steps = {event.step for event in (*flight.bad, *flight.spikes)}
    for step in sorted(steps, key=lambda step: (step != first, step))[:STEPS]:
        if bad := [event for event in flight.bad if event.step == step]:
            yield (
                f"Step {step}: {visible(bad[0].name)} is "
                f"{numbers.number(bad[0].value)}{others(bad)}.",
                "red",
            )
        if spikes := [event for event in flight.spikes if event.step == step]:
            spike = spikes[0]
            level = f"the median of the steps before, {numbers.number(spike.level, 3)}"
            level = (
                f"{numbers.number(spike.value / spike.level, 3)} times {level}"
                if spike.level > 0
                else f"far above {level}"
            )
            yield (
                f"Step {step}: {visible(spike.name)} is {numbers.number(spike.value, 3)}, "
                f"{level}{others(spikes)}.",
                "yellow",
            )


def others(events: Sequence[Event]) -> str:
    """Return how many curves have an event at the same step, with the names of the first."""
    if len(events) < 2:
        return ""
    names = ", ".join(visible(event.name) for event in events[1 : 1 + NAMES])
    return f"; likewise {names}" + (
        f" and {len(events) - 1 - NAMES} more" if len(events) > 1 + NAMES else ""
    )


def duration(seconds: float) -> str:
    """Return a time as text: "8.2 s", "12 min", "3.1 h"."""
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.3g} min" if seconds < 7200 else f"{seconds / 3600:.3g} h"


# ---- data


def flight_data(flight: Flight, format: str) -> str:
    names = [c.name for c in flight.curves]
    steps = flight.steps.tolist()
    noted = [dict(zip(c.steps.tolist(), c.values.tolist(), strict=True)) for c in flight.curves]
    ends = {
        "first": steps[0] if steps else None,
        "last": steps[-1] if steps else None,
        "seconds": flight.seconds,
    }
    document = {
        "steps": ends,
        "curves": [
            rows.fields(c, "name first lowest median largest largest_step last")
            for c in flight.curves
        ],
        "spikes": flight.spikes,
        "bad": flight.bad,
        "rows": [
            {
                "step": step,
                **{
                    name: values[step]
                    for name, values in zip(names, noted, strict=True)
                    if step in values
                },
            }
            for step in steps
        ],
    }
    cells = ([step, *(values.get(step) for values in noted)] for step in steps)
    return rows.write(
        rows.Results("gradtrace/flight", document, "rows", ("step", *names), cells), format
    )


# ---- page


def page(flight: Flight, name: str) -> str:
    """Return a page with all curves. While the log is being written, the page is loaded again every
    few seconds.
    """
    flight, common = shortened(flight)
    last = time.time() - flight.ended if len(flight.steps) else 0.0
    reload = f'<meta http-equiv="refresh" content="{RELOADED}">' if last < FRESH else ""
    said = "\n".join(
        f'<p class="{style or "plain"}">{escape(sentence)}</p>'
        for sentence, style in sentences(flight, common)
    )
    figures = "\n".join(figure(c, flight) for c in flight.curves if c.last is not None)
    title = escape(visible(name))
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">{reload}
<title>{title} – gradtrace</title>
<style>{STYLE}</style></head><body>
<h1>{title}</h1>
{said}
<main>
{figures}
</main></body></html>
"""


POLICY = "default-src 'none'; style-src 'unsafe-inline'"
STYLE = """
:root { color-scheme: light dark; --back: #fff; --ink: #1a1a1a; --faint: #595959; --line: #d0d0d0; --mark: #005a9c;
  --red: #b00020; --yellow: #8a5a00; }
@media screen and (prefers-color-scheme: dark) { :root { --back: #14171c; --ink: #f0f0f0; --faint: #b4b8bf;
  --line: #3a3f47; --mark: #6db6f2; --red: #ff7a85; --yellow: #ffb870; } }
body { margin: 16px; background: var(--back); color: var(--ink); font: 14px/1.45 "DejaVu Sans", Verdana, sans-serif; }
h1 { font-size: 18px; } p { margin: 4px 0; } .red { color: var(--red); } .yellow { color: var(--yellow); }
main { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(400px, 100%), 1fr)); gap: 16px;
  margin-top: 16px; }
figure { margin: 0; } figcaption { display: flex; justify-content: space-between;
  gap: 8px; } figcaption b { overflow-wrap: anywhere; }
figcaption span { white-space: nowrap; } figcaption span, .ends { color: var(--faint); }
.ends { display: flex; justify-content: space-between; font-size: 12px; }
svg { width: 100%; height: auto; border: 1px solid var(--line); } polyline { fill: none; stroke: var(--mark);
  stroke-width: 1.5; stroke-linecap: round; } line { stroke: var(--red); stroke-width: 1.5; }
"""


def figure(c: Curve, flight: Flight) -> str:
    """Return one curve as a figure, with its ends. It has a gap where a step has no number, and a
    red mark below where that is not finite.
    """
    logarithmic, pieces, marks = drawn(c, flight)
    lines = "".join(f'<polyline points="{" ".join(points)}"/>' for points in pieces)
    lines += "".join(f'<line x1="{x}" x2="{x}" y1="{HEIGHT - MARK}" y2="{HEIGHT}"/>' for x in marks)
    scale = ", logarithmic" if logarithmic else ""
    span = f"{numbers.number(c.lowest or 0.0, 3)} to {numbers.number(c.largest or 0.0, 3)}{scale}"
    label = f"{c.name}: {span}"
    return (
        f"<figure><figcaption><b>{escape(visible(c.name))}</b><span>last "
        f"{numbers.number(c.last or 0.0, 4)}</span>"
        f'</figcaption><svg viewBox="0 0 {POINTS} {HEIGHT}" role="img" aria-label="{escape(visible(label))}">'
        f"{lines}</svg>"
        f'<div class="ends"><span>{span}</span>'
        f"<span>steps {flight.steps[0]} to {flight.steps[-1]}</span></div></figure>"
    )


def drawn(c: Curve, flight: Flight) -> tuple[bool, list[list[str]], list[str]]:
    """Return whether the scale is logarithmic, the points of each piece without a gap, and the
    places of what is not finite.

    Of many steps each point is the largest or smallest of its stretch in turn, so that no spike is
    lost.
    """
    logarithmic = spans_decades(c)
    measure = math.log if logarithmic else float
    bottom = measure(c.lowest or 0.0)
    top = measure(c.largest or 0.0)
    first = int(flight.steps[0])
    span = max(1, int(flight.steps[-1]) - int(flight.steps[0]))
    samples = list(zip(c.steps.tolist(), c.values.tolist(), strict=True))
    finite = [(step, x) for step, x in samples if math.isfinite(x)]
    marks = [place(step, first, span) for step, x in samples if not math.isfinite(x)]
    gaps = sorted({*flight.steps.tolist()}.difference(step for step, _ in finite))
    height = HEIGHT - 10
    pieces: dict[int, list[str]] = {}  # by the number of gaps before
    for step, x in thinned(finite):
        y = 5 + height * (1 - (measure(x) - bottom) / ((top - bottom) or 1))
        piece = pieces.setdefault(bisect_left(gaps, step), [])
        piece.append(f"{place(step, first, span)},{y:.1f}")
    for piece in pieces.values():
        piece += piece[:1] * (len(piece) == 1)  # a line of one point, which has round ends
    return logarithmic, list(pieces.values()), marks


def place(step: int, first: int, span: int) -> str:
    return f"{(step - first) / span * POINTS:.1f}"


def thinned(points: Sequence[tuple[int, float]]) -> Sequence[tuple[int, float]]:
    """Return the smallest and the largest point of each of POINTS / 2 stretches, in order."""
    if len(points) <= POINTS:
        return points
    edges = [len(points) * i // (POINTS // 2) for i in range(POINTS // 2 + 1)]
    stretches = (points[a:b] for a, b in pairwise(edges))
    ends = ({min(some, key=lambda p: p[1]), max(some, key=lambda p: p[1])} for some in stretches)
    return [point for some in ends for point in sorted(some)]
