"""Split a text into a set of words, used for tables of names; and the type of such a table with its values."""

from __future__ import annotations

from gradtrace.annotations import Any

Names = dict[str, Any]  # what a module offers to programs; keyword arguments


def words(text: str) -> frozenset[str]:
    """Return the set of words in a text."""
    return frozenset(text.split())
