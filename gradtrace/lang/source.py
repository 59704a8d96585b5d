"""The text of a program, and places in it for messages."""

from gradtrace.program.source import Place, Source, Span, span_of

__all__ = ["Place", "Source", "Span", "span_of"]
