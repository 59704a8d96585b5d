"""What a flight log shows: its curves, and the first step at which one is not finite or leaves its
own level.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Mapping, NamedTuple, Sequence
from gradtrace.engine.data.lazy import np
from gradtrace.errors import UsageError
from gradtrace.trace.flight_log import TIME, FlightLog, not_noted

WINDOW = 50  # steps before, whose median and spread are a curve's level
LEAST = 10  # known numbers in a window that tell a level
BEYOND = 12.0  # robust deviations above the median, and GROWN times it, that are a spike
GROWN = 5.0
WATCHED = ("loss", "grad", "update", "output")  # curves that may spike; others are set, or follow


class Curve(NamedTuple):
    """One column: the steps at which it was noted, its numbers there, what the finite ones come to,
    and the last number, which may be NaN.
    """

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
    spikes = [
        mishap for c in curves if c.name.split()[0] in WATCHED and (mishap := spike(c)) is not None
    ]
    bad = [mishap for c in curves if (mishap := first_bad(c)) is not None]
    times = log.numbers[:, 0]
    began, ended = (float(times[0]), float(times[-1])) if len(times) else (0.0, 0.0)
    return Flight(log.steps, tuple(curves), in_order(spikes), in_order(bad), ended - began, ended)


def in_order(events: list[Event]) -> tuple[Event, ...]:
    return tuple(sorted(events, key=lambda occurrence: occurrence.step))


def curve(log: FlightLog, column: int) -> Curve:
    noted = log.noted[:, column]
    name = log.columns[column]
    steps = log.steps[noted]
    values = log.numbers[noted, column]
    finite = values[np.isfinite(values)]
    last = float(values[-1]) if values.size else None
    if not len(finite):
        return Curve(name, steps, values, None, None, None, None, None, last)
    top = int(np.argmax(np.where(np.isfinite(values), values, -np.inf)))
    middle = float(finite[0]), float(finite.min()), float(np.median(finite))
    return Curve(name, steps, values, *middle, float(values[top]), int(steps[top]), last)


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
    """Return the median of the finite numbers before a place, and their median absolute deviation;
    NaN without enough of them.
    """
    window = values[max(0, at - WINDOW) : at]
    window = window[np.isfinite(window)]
    if len(window) < LEAST:
        return float("nan"), float("nan")
    median = float(np.median(window))
    return median, float(np.median(np.abs(window - median)))


# ---- several ranks


# columns whose squares add up over the ranks that share parameters
NORMS = ("grad", "weight", "exp_avg", "exp_avg_sq")


LOSS = "loss"  # which the ranks do not average, as they do gradients


class Spread(NamedTuple):
    """One curve on all ranks: the smallest and the largest of the ranks' medians."""

    name: str
    lowest: float
    lowest_rank: int
    largest: float
    largest_rank: int


class RankEvent(NamedTuple):
    """The first spike, or the first number that is not finite, of a rank."""

    rank: int
    event: Event


class FlightRanks(NamedTuple):
    """The logs of several ranks; `whole` has the norms of parameters that the ranks share, if they
    do.
    """

    lasts: tuple[tuple[int, int], ...]  # the last step of each rank, with the rank
    spreads: tuple[Spread, ...]
    spikes: tuple[RankEvent, ...]  # by step
    bad: tuple[RankEvent, ...]
    whole: Flight | None


def flight_ranks(logs: Sequence[FlightLog]) -> FlightRanks:
    """Return what the logs show together. UsageError unless they are of different ranks of one
    training.
    """
    ranks = {log.rank: log for log in logs if log.rank is not None}
    if len(ranks) < len(logs):
        message = (
            "two of these logs are of the same rank"
            if ranks
            else "these logs are not of several processes"
        )
        raise UsageError(message, "give those of one run under torchrun: run.rank*.gtlog")
    if len({log.columns for log in logs}) > 1:
        raise UsageError(
            "these logs have different columns",
            "give those of one run under torchrun: run.rank*.gtlog",
        )
    ordered = dict(sorted(ranks.items()))
    flights = {rank: flight(log) for rank, log in ordered.items()}
    lasts = tuple(
        (rank, int(log.steps[-1]) if len(log.steps) else 0) for rank, log in ordered.items()
    )
    is_shared = all(log.shares for log in logs)
    whole = flight(combined(list(ordered.values()))) if is_shared else None
    return FlightRanks(
        lasts,
        spreads(flights),
        first_events(flights, "spikes"),
        first_events(flights, "bad"),
        whole,
    )


def spreads(flights: Mapping[int, Flight]) -> tuple[Spread, ...]:
    first = next(iter(flights.values()))
    listed = []
    for i, curve in enumerate(first.curves):
        medians = [
            (rank_flight.curves[i].median, rank)
            for rank, rank_flight in flights.items()
            if rank_flight.curves[i].median is not None
        ]
        measured = [(x, rank) for x, rank in medians if x is not None]
        if measured:
            listed.append(Spread(curve.name, *min(measured), *max(measured)))
    return tuple(listed)


def first_events(flights: Mapping[int, Flight], kind: str) -> tuple[RankEvent, ...]:
    events = [
        RankEvent(rank, getattr(rank_flight, kind)[0])
        for rank, rank_flight in flights.items()
        if getattr(rank_flight, kind)
    ]
    return tuple(
        sorted(
            events,
            key=lambda rank_event: (
                rank_event.event.step,
                rank_event.event.name != LOSS,
                rank_event.rank,
            ),
        )
    )


def combined(logs: Sequence[FlightLog]) -> FlightLog:
    """Return the log of whole parameters, at the steps that all ranks have; other columns are the
    first rank's.
    """
    steps = logs[0].steps
    for log in logs[1:]:
        steps = np.intersect1d(steps, log.steps)
    places = [np.searchsorted(log.steps, steps) for log in logs]
    numbers = logs[0].numbers[places[0]].copy()
    noted = logs[0].noted[places[0]].copy()
    columns = {name: i for i, name in enumerate(logs[0].columns)}

    def total(squares: Sequence[Any], at: int) -> None:
        mask = np.any([log.noted[p, at] for log, p in zip(logs, places, strict=True)], 0)
        numbers[:, at] = np.where(mask, np.sqrt(np.sum(squares, 0)), not_noted(len(steps)))
        noted[:, at] = mask

    for name, at in columns.items():
        part, _, module = name.partition(" ")
        pairs = list(zip(logs, places, strict=True))
        if part in NORMS:
            total([values(log, p, at) ** 2 for log, p in pairs], at)
        elif part == "update":
            weights = [values(log, p, columns[f"weight {module}"]) for log, p in pairs]
            changes = [values(log, p, at) for log, p in pairs]
            total(
                [(u * np.where(w > 0, w, 1.0)) ** 2 for u, w in zip(changes, weights, strict=True)],
                at,
            )
            norms = np.sqrt(sum(w**2 for w in weights))
            numbers[:, at] = np.where(
                noted[:, at] & (norms > 0), numbers[:, at] / norms, numbers[:, at]
            )
    return FlightLog("all ranks", logs[0].columns, steps, numbers, noted, logs[0].rows)


def values(log: FlightLog, places: Any, column: int) -> Any:
    """Return a column at some rows, 0 where it was not noted."""
    return np.where(log.noted[places, column], log.numbers[places, column], 0.0)
