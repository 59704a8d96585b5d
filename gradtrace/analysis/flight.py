"""What a flight log shows: its curves, and the first step at which one is not finite or leaves its own level."""

from __future__ import annotations

from gradtrace.annotations import Any, NamedTuple
from gradtrace.engine.data.lazy import np
from gradtrace.trace.flight_log import TIME, FlightLog

WINDOW = 50  # steps before, whose median and spread are a curve's level
LEAST = 10  # known numbers in a window that tell a level
BEYOND = 12.0  # robust deviations above the median, and GROWN times it, that are a spike
GROWN = 5.0
WATCHED = ("loss", "grad", "update", "output")  # curves that may spike; others are set, or follow


class Curve(NamedTuple):
    """One column: the steps at which it was noted, its numbers there, and what the finite ones come to."""

    name: str
    steps: Any
    values: Any
    first: float | None
    lowest: float | None
    median: float | None
    largest: float | None
    largest_step: int | None
    last: float | None


class Event(NamedTuple):
    """A step at which a curve leaves its level: `level` is the median of the steps before."""

    step: int
    name: str
    value: float
    level: float


class Flight(NamedTuple):
    """A flight log as curves and events, each kind in the order of the steps."""

    steps: Any
    curves: tuple[Curve, ...]
    spikes: tuple[Event, ...]
    bad: tuple[Event, ...]  # not finite
    seconds: float  # from the first step in the log to the last
    ended: float  # the time of the last one, in seconds since 1970


def flight(log: FlightLog) -> Flight:
    """Return the curves of a flight log, and where each first spikes and first is not finite."""
    curves = [curve(log, i) for i, name in enumerate(log.columns) if name != TIME]
    spikes = [mishap for c in curves if c.name.split()[0] in WATCHED and (mishap := spike(c)) is not None]
    bad = [mishap for c in curves if (mishap := first_bad(c)) is not None]
    times = log.numbers[:, 0]
    began, ended = (float(times[0]), float(times[-1])) if len(times) else (0.0, 0.0)
    return Flight(log.steps, tuple(curves), in_order(spikes), in_order(bad), ended - began, ended)


def in_order(events: list[Event]) -> tuple[Event, ...]:
    return tuple(sorted(events, key=lambda occurrence: occurrence.step))


def curve(log: FlightLog, column: int) -> Curve:
    noted = log.noted[:, column]
    name, steps, values = log.columns[column], log.steps[noted], log.numbers[noted, column]
    finite = values[np.isfinite(values)]
    if not len(finite):
        return Curve(name, steps, values, None, None, None, None, None, None)
    top = int(np.argmax(np.where(np.isfinite(values), values, -np.inf)))
    middle = float(finite[0]), float(finite.min()), float(np.median(finite))
    return Curve(name, steps, values, *middle, float(values[top]), int(steps[top]), float(finite[-1]))


def first_bad(c: Curve) -> Event | None:
    """Return the first step at which a curve is not finite."""
    places = np.flatnonzero(~np.isfinite(c.values))
    return event(c, int(places[0])) if len(places) else None


def spike(c: Curve) -> Event | None:
    """Return the first step at which a curve is far above the WINDOW steps before."""
    if c.median is None:
        return None
    for at in np.flatnonzero(np.isfinite(c.values) & (c.values > GROWN * np.abs(c.median))):
        level, spread = level_before(c.values, int(at))
        if c.values[at] > max(GROWN * level, level + BEYOND * spread) > 0:
            return event(c, int(at))
    return None


def event(c: Curve, at: int) -> Event:
    return Event(int(c.steps[at]), c.name, float(c.values[at]), level_before(c.values, at)[0])


def level_before(values: Any, at: int) -> tuple[float, float]:
    """Return the median of the finite numbers before a place, and their median absolute deviation; NaN without enough
    of them.
    """
    window = values[max(0, at - WINDOW) : at]
    window = window[np.isfinite(window)]
    if len(window) < LEAST:
        return float("nan"), float("nan")
    median = float(np.median(window))
    return median, float(np.median(np.abs(window - median)))
