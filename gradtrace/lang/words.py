"""Tables of names, written as a string."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """Return the set of words in a text."""
    return frozenset(text.split())
