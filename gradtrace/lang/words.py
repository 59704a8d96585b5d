"""Split a text into a set of words, used for tables of names; and the type of such a table with its values."""

from __future__ import annotations

from gradtrace.annotations import Any

Names = dict[str, Any]  # what a module offers to programs; keyword arguments


def refuse_unknown(function: str, given: Names, known: str) -> None:
    """Raise TypeError with Python's message for a keyword argument that a function does not have."""
    unknown = given.keys() - words(known) if given else ()
    if unknown:
        raise TypeError(f"{function}() got an unexpected keyword argument '{min(unknown)}'")


def words(text: str) -> frozenset[str]:
    """Return the set of words in a text."""
    return frozenset(text.split())
