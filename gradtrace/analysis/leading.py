"""Name the program's own line that leads to a line of a library: "line 12, in BertModel (modeling_bert.py:130)"."""

from __future__ import annotations

from gradtrace.trace.record import Span, Trace


def own_lines(trace: Trace) -> dict[str, str]:
    """Return, by the place of a library's line in words ("130 of modeling_bert.py"), the place to show for it. A line
    that several lines of the program lead to has none.
    """
    if not trace.files:
        return {}
    by_line: dict[str, set[str]] = {}
    by_file: dict[str, set[str]] = {}
    spans: dict[str, Span] = {}
    for operation in trace.operations:
        span = operation.span
        lead = lead_of(trace, operation.scope) if span is not None and span.file else ""
        if span is not None and lead:
            spans[span.where] = span
            by_line.setdefault(span.where, set()).add(lead)
            by_file.setdefault(span.file, set()).add(lead)
    for span, own in trace.leads:
        spans[span.where] = span
        texts = by_line.setdefault(span.where, set())
        if not any(lead.partition(",")[0] == own.where for lead in texts):
            texts.add(own.where)
    failed = None if trace.failure is None else trace.failure.span
    if failed is not None and failed.where not in by_line and failed.file in by_file:
        spans[failed.where], by_line[failed.where] = failed, by_file[failed.file]
    return {where: place(spans[where], *leads) for where, leads in by_line.items() if len(leads) == 1}


def place(span: Span, lead: str) -> str:
    return f"{lead} ({span.file.rpartition('/')[2]}:{span.line})"


def lead_of(trace: Trace, scope: int | None) -> str:
    """Return the program's line that called the module around a scope, and the module's class; "" without one."""
    while scope is not None:
        record = trace.scopes[scope]
        if record.kind == "module" and record.span is not None and not record.span.file:
            return f"{record.span.line}, in {record.detail}"
        scope = record.parent
    return ""
