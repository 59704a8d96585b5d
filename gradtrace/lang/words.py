"""Split a text into a set of words; used for tables of names."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """Return the set of words in a text."""
    return frozenset(text.split())
