"""Completion beyond click's: the program's variables, operators, and files for options that take a file."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from gradtrace.annotations import Iterable

FILES = frozenset(("FILE", "FILE.json", "PATH"))  # metavars of options that take a file
FOLDERS = frozenset(("LOGDIR", "DIR"))
MARKS = "@=<>"  # an incomplete value that begins so is the name of a file after the mark, or nothing we know


def source(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """A SOURCE is a file or an expression; only files can be completed."""
    return [CompletionItem(incomplete, type="file")]


def value(param: click.Option, incomplete: str) -> list[CompletionItem] | None:
    """A file or folder for an option that takes one; None where click knows (choices, flags)."""
    if param.metavar in FILES:
        return [CompletionItem(incomplete, type="file")]
    if param.metavar in FOLDERS:
        return [CompletionItem(incomplete, type="dir")]
    return None


def operators(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from gradtrace.analysis import operators

    return [CompletionItem(name) for name in operators.names() if name.startswith(incomplete)]


def first(items: Iterable[CompletionItem], names: set[str]) -> list[CompletionItem]:
    """The items, those of the given names before all others: a program's variables before the tool's options."""
    return sorted(items, key=lambda item: item.value not in names)
