"""An answer about a gradient, as text or as data.

    w.grad is None: loss depends on it only through detach() on line 4.

      line 2  w = torch.tensor(1., requires_grad=True)
              w is a leaf that requires grad
      ...
    To fix it:
      - leave out .detach() there

The JSON document has `schema` "gradtrace/why", `version`, and `answers`, a list of objects with name, status
("gradient", "zero", "nan", "none", "failed"), cause (a short word), sentence, value (the gradient, or null), evidence
[{text, line, source}] and advice (a list).
"""

from __future__ import annotations

from gradtrace.analysis.cause import Cause, Evidence
from gradtrace.annotations import Any, Sequence
from gradtrace.views import layout, rows
from gradtrace.views.cells import clip, visible, wrap
from gradtrace.views.layout import LayoutOptions, dots, paint

COLUMNS = ("name", "status", "cause", "sentence", "evidence", "advice")
STYLES = {"none": "yellow", "zero": "yellow", "nan": "red", "failed": "red", "gradient": "green", "found": "red"}
WIDEST = 80
FULL = 3  # causes that are shown with their evidence
MOST = 5  # pieces of evidence


def text(answers: Sequence[Cause], options: LayoutOptions) -> str:
    """Return the answers as text for a terminal."""
    return "\n".join(layout.joined(lines(answer, options)) for answer in answers)


def lines(answer: Cause, options: LayoutOptions) -> list[str]:
    width = min(options.width or WIDEST, WIDEST)
    style = STYLES[answer.status]
    found = layout.wrapped(answer.sentence, style, options, width)
    shown = [item for item in answer.evidence if item.text or item.source][:MOST]
    if shown:
        margin = max(len(where(item)) for item in shown) + 4
        found += ["", *(line for item in shown for line in evidence(item, margin, width, options))]
    if answer.advice:
        found += ["", paint("To fix it:", "bold", options)]
        for item in answer.advice:
            first, *more = wrap(visible(item), width - 4)
            found += [f"  - {first}", *(f"    {line}" for line in more)]
    return found


def evidence(item: Evidence, margin: int, width: int, options: LayoutOptions) -> list[str]:
    """Return the source line, and below it the fact that it shows."""
    said = wrap(visible(item.text), width - margin)
    head = f"  {where(item)}".ljust(margin)
    blank = " " * margin
    if not item.source:
        return [(head if i == 0 else blank) + line for i, line in enumerate(said)]
    source = clip(visible(item.source), width - margin, dots(options))
    return [paint(head, "dim", options) + paint(source, "bold", options), *(blank + line for line in said)]


def where(item: Evidence) -> str:
    return f"line {item.span.where}" if item.span is not None and item.source else ""


# ---- the overview


def report(causes: Sequence[Cause], answers: Sequence[Cause], options: LayoutOptions) -> str:
    """Return the causes that were found, the most serious in full; then one sentence for each tensor."""
    told = [text(causes[:FULL], options)] if causes else []
    more = "".join(line + "\n" for cause in causes[FULL:] for line in indented(cause.sentence, "", options))
    if more:
        told.append("Also:\n" + more)
    rest = overview(answers, options)
    return "\n".join([*told, rest] if rest else told)


def overview(answers: Sequence[Cause], options: LayoutOptions) -> str:
    """Return one sentence for each tensor; tensors with the same reason are listed together after the first of them."""
    groups: dict[Any, list[Cause]] = {}
    for answer in answers:
        groups.setdefault(reason(answer), []).append(answer)
    found = []
    for first, *others in groups.values():
        style = STYLES[first.status]
        found += indented(first.sentence, style, options)
        if others:
            names = ", ".join(other.name for other in others)
            found += ["  " + line for line in indented(f"Likewise {names}.", style, options, 2)]
    return layout.joined(found)


def reason(answer: Cause) -> tuple[str, ...]:
    """Return the part of an answer that several tensors can share: the text after the first colon."""
    _, colon, why = answer.sentence.partition(": ")
    return (answer.status, answer.code, why) if colon else (answer.name,)


def indented(sentence: str, style: str, options: LayoutOptions, less: int = 0) -> list[str]:
    wrapped = wrap(visible(sentence), min(options.width or WIDEST, WIDEST) - 2 - less)
    return [paint(line if i == 0 else "  " + line, style, options) for i, line in enumerate(wrapped)]


# ---- data


def render(answers: Sequence[Cause], format: str) -> str:
    """Return the answers in any format except the table."""
    names = "name status cause=code sentence value evidence advice"
    document = {"answers": [rows.fields(answer, names) for answer in answers]}
    return rows.write(rows.Results("gradtrace/why", document, "answers", COLUMNS, map(row, answers)), format)


def row(answer: Cause) -> list[str]:
    shown = "; ".join(f"{where(e)}: {e.text}" if where(e) else e.text for e in answer.evidence)
    return [answer.name, answer.status, answer.code, answer.sentence, shown, "; ".join(answer.advice)]
