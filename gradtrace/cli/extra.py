"""Hints for unexpected arguments after the source: variables, elements of a vector, file names from
a shell pattern.
"""

from __future__ import annotations

import os
import re

from gradtrace.annotations import TYPE_CHECKING

if TYPE_CHECKING:
    from gradtrace.cli.argv import Split

SHORT = re.compile(r"-([^\W\d]\w*)(?:=(.*))?")
ASSIGNED = re.compile(r"([^\W\d]\w*)=(.*)")
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?,?")


def hint(positionals: list[str], others: list[str], split: Split) -> str:
    """Return a hint about `others`, the unexpected arguments after the source."""
    extra = others[0]
    if all(map(os.path.exists, positionals)):
        return "the shell made names of files of a pattern: quote the expression"
    if match := SHORT.fullmatch(extra):
        return f"a variable is given as --{match[1]} {match[2] or value_after(others)}"
    if match := ASSIGNED.fullmatch(extra):
        return f"a variable is given as --{match[1]} {match[2] or 'VALUE'}, or -s {extra}"
    variable = next(
        (
            group
            for group in reversed(split.options)
            if group[0] in split.unknown and len(group) > 1
        ),
        None,
    )
    if variable is not None and all(NUMBER.fullmatch(word) for word in (*others, variable[1])):
        numbers = ",".join(word.rstrip(",") for word in (variable[1], *others))
        return f"a vector is one argument: {variable[0]} {numbers}"
    return "quote the expression"


def value_after(others: list[str]) -> str:
    return others[1] if len(others) > 1 else "VALUE"
