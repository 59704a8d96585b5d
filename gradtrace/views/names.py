"""Find the name that a user means: the whole name, or the only one that ends with what was given.

    full_name("encoder.weight", {"model.encoder.weight": 7, "model.encoder.bias": 8}, "NAME") is "model.encoder.weight"

The names of a model's parameters begin with the name of the model's variable, which `state_dict()`
and the model's author leave out.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Iterable, Mapping
from gradtrace.errors import UsageError

OFFERED = 3  # at most this many similar names are offered


def full_name(name: str, names: Mapping[str, object], option: str) -> str | None:
    """Return the name that is `name`, or ends with it after a dot; None if there is none.
    UsageError, with the option's name, if the names of different things end with it.
    """
    if name in names:
        return name
    longer = ending_with(name, names)
    values = [names[full] for full in longer]
    if len({value if isinstance(value, int) else id(value) for value in values}) > 1:
        raise UsageError(
            f"{option}: several names end with '{name}'", f"give one of {listed(longer, 'and')}"
        )
    return longer[0] if longer else None


def ending_with(name: str, names: Iterable[str]) -> list[str]:
    """Return the names that end with `name` at a dot."""
    return [full for full in names if full.endswith(f".{name}")] if name else []


def close(word: str, words: Iterable[str]) -> str:
    """Return "did you mean ...?" with the names whose last parts, or else whole names, are similar;
    "" if there are none.
    """
    from difflib import get_close_matches

    names = list(words)
    parts = word.count(".") + 1
    tails: dict[str, list[str]] = {}
    for name in names:
        tails.setdefault(".".join(name.split(".")[-parts:]), []).append(name)
    near = get_close_matches(word, tails, 1)
    offered = tails[near[0]][:OFFERED] if near else get_close_matches(word, names, 1)
    return f"did you mean {listed(offered, 'or')}?" if offered else ""


def listed(names: list[Any], word: str) -> str:
    """Return "a, b or c"."""
    return f" {word} ".join(filter(None, (", ".join(names[:-1]), names[-1])))
