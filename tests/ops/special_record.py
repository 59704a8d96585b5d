"""The file of `special_points`: a line `# expression`, then one line for each of its entries.

A line holds the shapes of the results and of the gradients (`25;25|25` are two results and one gradient, `-` a missing
one), the numbers in float64, and those in float32; or the names of two errors. `0*3` is `0 0 0`, an `i` marks an
integer, and `~` is the number in float64 rounded to float32. 15 digits are kept, more than the tests compare.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

import numpy as np

NO_GRADIENT = "-"


def write(entries: Iterable[dict[str, Any]]) -> str:
    lines = []
    for expression, several in groupby(entries, key=lambda entry: entry["expression"]):
        lines.append(f"# {expression}")
        for entry in several:
            exact, rounded = entry["float64"], entry["float32"]
            if isinstance(exact, str) or isinstance(rounded, str):
                assert isinstance(exact, str) and isinstance(rounded, str), (
                    f"{expression} fails in one dtype alone"
                )
                lines.append(f"{exact}\t{rounded}")
                continue
            shapes, numbers = shapes_of(exact), flat(exact)
            assert shapes == shapes_of(rounded), f"{expression}: the shapes differ"
            short = [single(n, exact) for n, exact in zip(flat(rounded), numbers, strict=True)]
            lines.append(f"{shapes}\t{packed(map(written, numbers))}\t{packed(short)}")
    return "\n".join(lines) + "\n"


def read(text: str) -> Iterator[tuple[str, Any, Any]]:
    """(expression, results in float64, results in float32) of each entry."""
    expression = ""
    for line in text.splitlines():
        if line.startswith("# "):
            expression = line[2:]
            continue
        parts = line.split("\t")
        if len(parts) == 2:
            yield expression, parts[0], parts[1]
            continue
        exact = [number(word) for word in unpacked(parts[1])]
        words = zip(unpacked(parts[2]), exact, strict=True)
        rounded = [round32(n if word == "~" else number(word)) for word, n in words]
        yield expression, shaped(parts[0], exact), shaped(parts[0], rounded)


# ---- shapes


def shapes_of(results: Any) -> str:
    return "|".join(";".join(shape_of(part) for part in parts) for parts in results)


def shape_of(part: Any) -> str:
    return NO_GRADIENT if part is None else "x".join(map(str, np.shape(part)))


def flat(results: Any) -> list[Any]:
    return [n for parts in results for part in parts if part is not None for n in numbers_in(part)]


def numbers_in(part: Any) -> Iterator[Any]:
    if not isinstance(part, list):
        yield part
        return
    for inner in part:
        yield from numbers_in(inner)


def shaped(shapes: str, numbers: list[Any]) -> list[Any]:
    rest = iter(numbers)
    return [[with_shape(shape, rest) for shape in parts.split(";")] for parts in shapes.split("|")]


def with_shape(shape: str, rest: Iterator[Any]) -> Any:
    return None if shape == NO_GRADIENT else nested([int(n) for n in shape.split("x") if n], rest)


def nested(dims: list[int], rest: Iterator[Any]) -> Any:
    return [nested(dims[1:], rest) for _ in range(dims[0])] if dims else next(rest)


# ---- numbers


def written(n: Any) -> str:
    if isinstance(n, bool):
        return str(n)
    if isinstance(n, int):
        return f"{n}i"
    return f"{n:.15g}" if abs(n) < 1e308 or math.isinf(n) else repr(n)


def single(n: Any, exact: Any) -> str:
    if not isinstance(n, float):
        return written(n)
    rounded = round32(exact)
    same = (
        math.isnan(n)
        if math.isnan(rounded)
        else n == rounded and math.copysign(1, n) == math.copysign(1, rounded)
    )
    return "~" if same else str(np.float32(n)).removesuffix(".0")


def number(word: str) -> Any:
    if word in ("True", "False"):
        return word == "True"
    return int(word[:-1]) if word.endswith("i") else float(word)


def round32(n: Any) -> Any:
    with np.errstate(all="ignore"):
        return float(np.float32(n)) if isinstance(n, float) else n


def packed(words: Iterable[str]) -> str:
    runs = ((word, len(list(same))) for word, same in groupby(words))
    return " ".join(word if count == 1 else f"{word}*{count}" for word, count in runs)


def unpacked(text: str) -> Iterator[str]:
    for run in text.split():
        word, _, count = run.partition("*")
        yield from [word] * int(count or 1)
