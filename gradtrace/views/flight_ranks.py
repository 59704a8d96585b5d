"""The flight logs of several ranks as text or data."""

from __future__ import annotations

from gradtrace.analysis.flight import FlightRanks, RankEvent
from gradtrace.analysis.words import named_ranks
from gradtrace.annotations import Iterator, Sequence
from gradtrace.lazy_names import words
from gradtrace.views import flight, layout, numbers, rows
from gradtrace.views.cells import visible
from gradtrace.views.layout import LayoutOptions, right

COLUMNS = words("name lowest lowest_rank largest largest_rank")
MANY = 24  # rows of a table


def ranks_text(ranks: FlightRanks, options: LayoutOptions) -> str:
    options = options._replace(width=options.width or flight.WIDTH)
    if ranks.whole is not None:
        lines = [flight.flight_text(ranks.whole, options).rstrip("\n")]
        lines.append("Norms are those of whole parameters, from the parts that the ranks hold.")
    else:
        left = 0 if options.all else max(0, len(ranks.spreads) - MANY)
        lines = layout.table(
            ranks.spreads[: len(ranks.spreads) - left],
            {
                "curve": lambda c: visible(c.name),
                "smallest median": lambda c: right(numbers.number(c.lowest, 4)),
                "rank": lambda c: right(c.lowest_rank if c.lowest < c.largest else ""),
                "largest median": lambda c: right(numbers.number(c.largest, 4)),
                "of rank": lambda c: right(c.largest_rank if c.lowest < c.largest else ""),
            },
            options,
            {"curve": 12},
        )
        lines += [*layout.left_out(left, "curves", options), ""]
    for sentence, style in sentences(ranks):
        lines += layout.wrapped(sentence, style, options, options.width or flight.WIDTH)
    return layout.joined(lines)


def sentences(ranks: FlightRanks) -> Iterator[tuple[str, str]]:
    """Yield sentences about the ranks, each with its style."""
    ends = [last for _, last in ranks.lasts]
    if min(ends) == max(ends):
        yield f"{len(ends)} ranks, each to step {ends[0]}.", ""
    else:
        behind = [rank for rank, last in ranks.lasts if last < max(ends)]
        reached = max(last for rank, last in ranks.lasts if rank in behind)
        yield (
            f"{len(ends)} ranks to step {max(ends)}; {named_ranks(behind)} wrote nothing after "
            f"step {reached}.",
            "",
        )
    for kind, style in ((ranks.bad, "red"), (ranks.spikes, "yellow")):
        if kind:
            yield first(kind), style


def first(events: Sequence[RankEvent]) -> str:
    """Return which ranks had an event first, and which later."""
    event = events[0].event
    begun = [r.rank for r in events if (r.event.step, r.event.name) == (event.step, event.name)]
    later = [r for r in events if r.rank not in begun]
    level = (
        ""
        if not event.level > 0
        else f", {numbers.number(event.value / event.level, 3)} times its level"
    )
    said = (
        f"Step {event.step}, on {named_ranks(begun)}: {visible(event.name)} is "
        f"{numbers.number(event.value, 3)}{level}"
    )
    if later:
        there = f"{visible(later[0].event.name)} on {named_ranks([r.rank for r in later])}"
        same = later[0].event.step == event.step
        said += (
            f"; {there} in the same step"
            if same
            else f"; {there} from step {later[0].event.step} on"
        )
    return f"{said}."


def ranks_data(ranks: FlightRanks, format: str) -> str:
    whole = () if ranks.whole is None else ranks.whole.curves
    document = {
        "whole": [
            rows.fields(c, "name first lowest median largest largest_step last") for c in whole
        ],
        "lasts": [{"rank": rank, "step": step} for rank, step in ranks.lasts],
        "curves": ranks.spreads,
        "spikes": [{"rank": spike.rank, "event": spike.event} for spike in ranks.spikes],
        "bad": [{"rank": event.rank, "event": event.event} for event in ranks.bad],
    }
    return rows.write(
        rows.Results("gradtrace/flight-ranks", document, "curves", COLUMNS, ranks.spreads), format
    )
