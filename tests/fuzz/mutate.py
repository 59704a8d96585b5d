"""Changes of texts and bytes, by a random generator that is given: the same seed makes the same inputs."""

from __future__ import annotations

import re
from random import Random

ODD = [
    "\0",
    "\n",
    "\r",
    "\t",
    "\f",
    "\x1b[31m",
    "\ufeff",
    "\u202e",
    "\u2028",
    "\u200b",
    "é",
    "λ",
    "𝓮",
    "ﬁ",
    "\ud800",
    "\x7f",
    "'",
    '"',
    '"""',
    "\\",
    "#",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "{{",
    ":",
    ";",
    ",",
    ".",
    "=",
    "->",
    "**",
    "//",
    "@",
    "%",
    "~",
    "-",
    "!",
    "$",
    "?",
    "`",
    "f'",
    "0x",
    "1e",
    "j",
    "_",
    " ",
    "    ",
    "&",
    "|",
    "<",
    ">",
]
NUMBERS = [
    "0",
    "1",
    "-1",
    "2",
    "1e308",
    "1e309",
    "-0.0",
    "1e-320",
    "nan",
    "inf",
    "-inf",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775809",
    "18446744073709551616",
    "0.1",
    "1_000",
    "0b1",
    "1e400",
    "00",
    "1.",
]
TOKEN = re.compile(r"\w+|\s+|[^\w\s]", re.UNICODE)
NUMBER = re.compile(r"\d+(?:\.\d*)?(?:e[+-]?\d+)?", re.IGNORECASE)


def text(rng: Random, seeds: list[str], words: list[str], most: int = 2000) -> str:
    """One of the seeds after one to four changes."""
    made = rng.choice(seeds)
    for _ in range(rng.randint(1, 4)):
        made = changed(rng, made, seeds, words)
    return made[:most]


def changed(rng: Random, old: str, seeds: list[str], words: list[str]) -> str:
    kind = rng.randrange(9)
    if kind == 0:
        return spliced(rng, old, rng.choice(ODD), 0)
    if kind == 1:
        return spliced(rng, old, "", rng.randint(1, 8))
    if kind == 2:
        return replaced(rng, old, NUMBER, rng.choice(NUMBERS))
    if kind == 3:
        return replaced(rng, old, TOKEN, rng.choice(words))
    if kind == 4:
        other = rng.choice(seeds)
        start = rng.randrange(len(other) + 1)
        return spliced(rng, old, other[start : start + rng.randint(1, 60)], rng.randint(0, 4))
    if kind == 5:
        piece = piece_of(rng, old)
        return spliced(rng, old, piece * rng.choice((1, 2, 3, 30)), 0)
    if kind == 6:
        lines = old.split("\n")
        rng.shuffle(lines)
        return "\n".join(lines)
    if kind == 7:
        left, right = rng.choice(
            (
                ("(", ")"),
                ("[", "]"),
                ("{", "}"),
                ("-", ""),
                ("not ", ""),
                ("f'{", "}'"),
                ("lambda: ", ""),
            )
        )
        count = rng.choice((1, 2, 5, 100))
        return spliced(rng, old, left * count + piece_of(rng, old) + right * count, 0)
    return spliced(
        rng,
        old,
        chr(rng.choice((rng.randrange(128), rng.randrange(0x3000), rng.randrange(0x110000)))),
        1,
    )


def spliced(rng: Random, old: str, new: str, out: int) -> str:
    at = rng.randrange(len(old) + 1)
    return old[:at] + new + old[at + out :]


def piece_of(rng: Random, old: str) -> str:
    start = rng.randrange(len(old) + 1)
    return old[start : start + rng.randint(1, 20)]


def replaced(rng: Random, old: str, pattern: re.Pattern[str], new: str) -> str:
    found = list(pattern.finditer(old))
    if not found:
        return old + new
    match = rng.choice(found)
    return old[: match.start()] + new + old[match.end() :]


def data(rng: Random, seeds: list[bytes], most: int = 4000) -> bytes:
    """One of the seeds after one to four changes of its bytes."""
    made = bytearray(rng.choice(seeds))
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(made) + 1)
        kind = rng.randrange(6)
        if kind == 0 and made:
            made[at % len(made)] = rng.randrange(256)
        elif kind == 1 and made:
            made[at % len(made)] ^= 1 << rng.randrange(8)
        elif kind == 2:
            del made[at : at + rng.randint(1, 12)]
        elif kind == 3:
            made[at:at] = rng.choice(
                (
                    b"\0",
                    b"\xff" * 4,
                    b"\xff" * 8,
                    b"\n",
                    b",",
                    b"'",
                    b"(",
                    b"NaN",
                    b"\xef\xbb\xbf",
                    b"{",
                )
            )
        elif kind == 4:
            other = rng.choice(seeds)
            start = rng.randrange(len(other) + 1)
            made[at : at + rng.randint(0, 30)] = other[start : start + rng.randint(1, 30)]
        else:
            del made[at:]
    return bytes(made[:most])
