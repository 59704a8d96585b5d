"""The language of expression files: a safe subset of Python that speaks PyTorch's names."""

from gradtrace.lang.parse import Input, Program, parse
from gradtrace.lang.run import Run, run
from gradtrace.lang.source import Place, Source, Span
from gradtrace.limits import Budget

__all__ = ["Budget", "Input", "Place", "Program", "Run", "Source", "Span", "parse", "run"]
