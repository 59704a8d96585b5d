"""What a tensor is called: its variable, the text of the expression that made it, or its number.

Where one expression made several tensors (a call that is several operators inside), the result takes the text and the
inner ones take their operator's name beside it; where it made one tensor again and again (a loop), they are numbered.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gradtrace.trace.operands import public_name
from gradtrace.trace.record import Span

if TYPE_CHECKING:
    from gradtrace.trace.history import Call, Entry


class SourceText:
    """The program's text by origin numbers; each span is cut out once."""

    def __init__(self, run: Any) -> None:
        source = getattr(run.program, "source", "")
        self.text: str = source if isinstance(source, str) else source.text
        self.name: str = str(getattr(source, "name", "") or getattr(run.program, "name", ""))
        self.spans: Sequence[Any] = run.spans
        self._lines: list[bytes] = self.text.encode("utf-8", "replace").splitlines()
        self._known: dict[int, str] = {}

    def span(self, origin: int) -> Span | None:
        """The stretch of source that `origin` stands for; None for 0."""
        if not 0 < origin < len(self.spans):
            return None
        span = self.spans[origin]
        return None if span is None else Span(span.line, span.column, span.end_line, span.end_column)

    def excerpt(self, origin: int) -> str:
        """The text of that stretch on one line; "" for 0."""
        known = self._known.get(origin)
        if known is None:
            known = self._known[origin] = self._cut(self.span(origin))
        return known

    def _cut(self, span: Span | None) -> str:
        if span is None or not 0 < span.line <= span.end_line <= len(self._lines):
            return ""
        # columns count bytes, as ast's do
        lines = self._lines[span.line - 1 : span.end_line]
        lines[-1] = lines[-1][: span.end_column]
        lines[0] = lines[0][span.column :]
        return " ".join(b" ".join(lines).decode("utf-8", "replace").split())


def label_all(kept: Sequence[Entry], calls: Sequence[Call], source: SourceText) -> list[str]:
    """The label of every kept entry."""
    texts = expression_texts(calls, source)
    plain = [_label(entry, texts) for entry in kept]
    counts: dict[str, int] = {}
    for entry, text in zip(kept, plain, strict=True):
        if not entry.names:
            counts[text] = counts.get(text, 0) + 1
    numbers: dict[str, int] = {}
    labels = []
    for entry, text in zip(kept, plain, strict=True):
        if entry.names or counts[text] == 1:
            labels.append(text)
            continue
        numbers[text] = numbers.get(text, 0) + 1
        labels.append(f"{text} #{numbers[text]}")
    return _versioned(kept, labels)


def _label(entry: Entry, texts: dict[int, str]) -> str:
    if entry.names:
        return entry.names[0]
    return texts.get(id(entry.call), "") or f"%{entry.id}"


def _versioned(kept: Sequence[Entry], labels: list[str]) -> list[str]:
    """An overwritten version is called after the tensor's last one."""
    final = {id(entry.tensor): label for entry, label in zip(kept, labels, strict=True) if entry.last}
    return [
        label if entry.last else f"{final.get(id(entry.tensor), label)} (version {entry.version})"
        for entry, label in zip(kept, labels, strict=True)
    ]


def expression_texts(calls: Sequence[Call], source: SourceText) -> dict[int, str]:
    """By id(call): the text that its result goes by.

    Calls in a row with one origin are one expression, or a loop over it: those of the last call's operator take the
    text, the others were steps within.
    """
    texts: dict[int, str] = {}
    start = 0
    while start < len(calls):
        end = start
        while end < len(calls) and calls[end].origin == calls[start].origin:
            end += 1
        text = source.excerpt(calls[start].origin)
        last = calls[end - 1].name
        for call in calls[start:end]:
            if text:
                texts[id(call)] = text if call.name == last else f"{public_name(call.name)} in {text}"
        start = end
    return texts
