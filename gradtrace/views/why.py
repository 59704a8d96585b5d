"""An answer about a gradient, as text or as data.

    w.grad is None: loss depends on it only through detach() on line 4.

      line 2  w = torch.tensor(1., requires_grad=True)
              w is a leaf that requires grad
      ...
    To fix it (tried: w.grad is there then):
      - w on line 4

The JSON document has `schema` "gradtrace/why", `version`, and `answers`, a list of objects with
name, status ("gradient", "zero", "nan", "none", "failed"), cause (a short word), sentence, value
(the gradient, or null), evidence [{text, line, source}], advice (a list), and tried: what of the
advice was run, with the trouble gone.
"""

from __future__ import annotations

from gradtrace.analysis.cause import Cause, Evidence
from gradtrace.analysis.words import folded
from gradtrace.annotations import Any, Sequence
from gradtrace.views import layout, rows
from gradtrace.views.cells import clip, visible, wrap
from gradtrace.views.layout import LayoutOptions, dots, paint

COLUMNS = ("name", "status", "cause", "sentence", "evidence", "advice")
STYLES = {
    "none": "yellow",
    "zero": "yellow",
    "nan": "red",
    "failed": "red",
    "gradient": "green",
    "found": "red",
}
WIDEST = 80
FULL = 3  # causes that are shown with their evidence
WIDEST_PLACE = 20  # from which a place stands on a line of its own
MOST = 5  # pieces of evidence
MOST_NAMES = 12  # names that share a reason


def text(answers: Sequence[Cause], options: LayoutOptions) -> str:
    """Return the answers as text for a terminal."""
    return "\n".join(layout.joined(lines(answer, options)) for answer in answers)


def lines(answer: Cause, options: LayoutOptions) -> list[str]:
    width = min(options.width or WIDEST, WIDEST)
    style = STYLES[answer.status]
    lines = layout.wrapped(answer.sentence, style, options, width)
    shown = [item for item in answer.evidence if item.text or item.source][:MOST]
    if shown:
        margin = (
            max([len(at) for item in shown if len(at := where(item)) <= WIDEST_PLACE], default=0)
            + 4
        )
        lines += ["", *(line for item in shown for line in evidence(item, margin, width, options))]
    open_ends = [item for item in answer.advice if item not in answer.tried]
    heading = "A direction" if len(open_ends) == 1 else "Directions"
    heading += ":" if answer.failed else ", not tried:"
    gain = f": {answer.shown} then" if answer.shown else ""
    for title, advice in ((f"To fix it (tried{gain}):", answer.tried), (heading, open_ends)):
        lines += ["", *layout.wrapped(title, "bold", options, width)] if advice else []
        for index, item in enumerate(advice):
            first, *more = wrap(visible(item if index else item.removeprefix("or ")), width - 4)
            lines += [f"  - {first}", *(f"    {line}" for line in more)]
    return lines


def evidence(item: Evidence, margin: int, width: int, options: LayoutOptions) -> list[str]:
    """Return the source line, and below it the fact that it shows."""
    said = wrap(visible(item.text), width - margin)
    at = where(item)
    blank = " " * margin
    if len(at) > WIDEST_PLACE:
        above = paint(f"  {at}", "dim", options)
        return [above, *evidence(item._replace(span=None, place=""), margin, width, options)]
    head = f"  {at}".ljust(margin)
    if not item.source:
        return [(head if i == 0 else blank) + line for i, line in enumerate(said)]
    source = clip(visible(item.source), width - margin, dots(options))
    return [
        paint(head, "dim", options) + layout.code(source, options, "bold"),
        *(blank + line for line in said),
    ]


def where(item: Evidence) -> str:
    return item.place or item.span.where if item.span is not None and item.source else ""


# ---- the overview


def report(causes: Sequence[Cause], answers: Sequence[Cause], options: LayoutOptions) -> str:
    """Return the causes that were found, the most serious in full; then one sentence for each
    tensor.
    """
    told = [text(causes[:FULL], options)] if causes else []
    more = "".join(
        line + "\n" for cause in causes[FULL:] for line in indented(cause.sentence, "", options)
    )
    if more:
        told.append("Also:\n" + more)
    rest = overview(answers, options)
    return "\n".join([*told, rest] if rest else told)


def healthy(said: Sequence[str], options: LayoutOptions) -> str:
    """Return the answer about a run in which nothing is wrong: a sentence, and remarks."""
    width = min(options.width or WIDEST, WIDEST)
    head, *remarks = said
    lines = layout.wrapped(head, STYLES["gradient"], options, width)
    for remark in remarks:
        lines += ["", *wrap(visible(remark), width)]
    return layout.joined(lines)


def overview(answers: Sequence[Cause], options: LayoutOptions) -> str:
    """Return one sentence for each tensor; tensors with the same reason are listed together after
    the first of them.
    """
    groups: dict[Any, list[Cause]] = {}
    for answer in answers:
        groups.setdefault(reason(answer), []).append(answer)
    lines = []
    for first, *others in groups.values():
        style = STYLES[first.status]
        lines += indented(first.sentence, style, options)
        if others:
            names = ", ".join(cause.name for cause in others)
            if len(others) > MOST_NAMES and not options.all:
                names = folded([cause.name for cause in others], "others")
            lines += ["  " + line for line in indented(f"Likewise {names}.", style, options, 2)]
    return layout.joined(lines)


def reason(answer: Cause) -> tuple[str, ...]:
    """Return the part of an answer that several tensors can share."""
    return (answer.status, answer.code, answer.because) if answer.because else (answer.name,)


def indented(sentence: str, style: str, options: LayoutOptions, less: int = 0) -> list[str]:
    wrapped = wrap(visible(sentence), min(options.width or WIDEST, WIDEST) - 2 - less)
    return [
        paint(line if i == 0 else "  " + line, style, options) for i, line in enumerate(wrapped)
    ]


# ---- data


def render(answers: Sequence[Cause], format: str) -> str:
    """Return the answers in any format except the table."""
    names = "name status cause=code sentence value evidence advice tried"
    document = {"answers": [rows.fields(answer, names) for answer in answers]}
    return rows.write(
        rows.Results("gradtrace/why", document, "answers", COLUMNS, map(row, answers)), format
    )


def row(answer: Cause) -> list[str]:
    shown = "; ".join(f"{where(e)}: {e.text}" if where(e) else e.text for e in answer.evidence)
    seen = (*answer.tried, *answer.failed)
    advice = (item if item in seen else f"not tried: {item}" for item in answer.advice)
    return [answer.name, answer.status, answer.code, answer.sentence, shown, "; ".join(advice)]
