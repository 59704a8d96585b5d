"""Completion in addition to click's: the program's variables, operators, and files for options that take a file."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from gradtrace.annotations import Iterable

FILES = frozenset(("FILE", "FILE.json", "PATH"))  # metavars of options that take a file
FOLDERS = frozenset(("LOGDIR", "DIR"))
MARKS = "@=<>"  # an incomplete value that begins so is the name of a file after the mark, or nothing we know


def source(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete a SOURCE: only a file can be completed, not an expression."""
    return [CompletionItem(incomplete, type="file")]


def value(param: click.Option, incomplete: str) -> list[CompletionItem] | None:
    """Complete the file or folder of an option; None for options that click completes (choices, flags)."""
    if param.metavar in FILES:
        return [CompletionItem(incomplete, type="file")]
    if param.metavar in FOLDERS:
        return [CompletionItem(incomplete, type="dir")]
    return None


def operators(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from gradtrace.analysis import operators

    return [CompletionItem(name) for name in operators.names() if name.startswith(incomplete)]


def first(items: Iterable[CompletionItem], names: set[str]) -> list[CompletionItem]:
    """Return the items with those of the given names first: a program's variables before the tool's options."""
    return sorted(items, key=lambda item: item.value not in names)
