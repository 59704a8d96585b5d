"""Find the source among the arguments before the options for its variables are known.

The variables of an expression become options (`--w -1`), which are known only after the source has
been read. But to find the source among the arguments, one must know which options take a value. So
these rules split the arguments:

    - the tool's own options are known, with their arity
    - any other `--name` is a variable, or a typing error; a variable takes one value, so the next
      argument is that value whatever it looks like (`-1`, `-1e-3`), unless it is itself a long
      option
    - all other arguments are positional, the source among them

Once the source is read, all options are known and parsed again, without guesses. If a mistyped flag
has taken the source as its value, no source is found, and the flag is reported.
"""

from __future__ import annotations

from gradtrace.annotations import NamedTuple


class Split(NamedTuple):
    """The arguments of a command line by kind."""

    options: list[list[str]]  # each with the values it takes
    positionals: list[str]
    unknown: list[str]  # the names, with dashes, that no option of the tool has
    after: list[str] = []  # the arguments after `--` that the program itself gets


def split(args: list[str], arity: dict[str, int], passes_on: bool = False) -> Split:
    """Sort `args` by kind; `arity` maps each option of the tool to the number of its values.

    If the command `passes_on` arguments to the program, those after the source and `--` are the
    program's.
    """
    parts = Split([], [], [], [])
    rest = list(reversed(args))
    while rest:
        token = rest.pop()
        if token == "--":
            passed = passes_on and bool(parts.positionals)
            (parts.after if passed else parts.positionals).extend(reversed(rest))
            break
        if token.startswith("--"):
            _long(token, rest, arity, parts)
        elif token in arity:
            _take(token, rest, arity[token], parts)
        elif token[:2] in arity and is_attached(token):
            parts.options.append([token])
        else:
            parts.positionals.append(token)
    return parts


def is_attached(token: str) -> bool:
    """Whether an argument is a short option with its value (-sx=1, -og.svg), not an expression
    (-softmax(x, dim=0)).
    """
    if token.startswith("-o"):
        from gradtrace.views.suffixes import SUFFIXES

        return token.lower().endswith(tuple(f".{suffix}" for suffix in (*SUFFIXES, "gt")))
    name, equals, value = token[2:].partition("=")
    return (
        token.startswith("-s")
        and name.isidentifier()
        and equals == "="
        and not value.startswith("=")
    )


def _long(token: str, rest: list[str], arity: dict[str, int], split: Split) -> None:
    name, equals, value = token.partition("=")
    name = normal(name)
    if name in arity:
        _take(name + equals + value, rest, 0 if equals else arity[name], split)
        return
    split.unknown.append(name)
    _take(name + equals + value, rest, 0 if equals or not rest or _is_long(rest[-1]) else 1, split)


def _take(token: str, rest: list[str], values: int, split: Split) -> None:
    split.options.append([token, *(rest.pop() for _ in range(min(values, len(rest))))])


def _is_long(token: str) -> bool:
    return token.startswith("--") and token[2:3].isidentifier()


def normal(name: str) -> str:
    """Normalise an option's name as Python normalises identifiers (NFKC), so that both forms of µ
    are equal.
    """
    if name.isascii():
        return name
    from unicodedata import normalize

    return normalize("NFKC", name)


def renamed(options: list[list[str]], names: set[str]) -> list[list[str]]:
    """Return the options with `--learning-rate` replaced by `--learning_rate` if that is a variable
    of the program.
    """
    return [[_renamed(token, names), *values] for token, *values in options]


def incomplete(options: list[list[str]], arity: dict[str, int]) -> str:
    """Return the first option that lacks a value, or "". (click would take its value from the next
    argument.)
    """
    return next((option[0] for option in options if len(option) - 1 < arity.get(option[0], 0)), "")


def _renamed(token: str, names: set[str]) -> str:
    name, equals, value = token.partition("=")
    plain = name[2:].replace("-", "_")
    return (
        f"--{plain}{equals}{value}"
        if token.startswith("--") and "-" in name[2:] and plain in names
        else token
    )
