"""Random programs, run in gradtrace and in PyTorch statement by statement until they differ."""

from __future__ import annotations

import random
import re
from typing import Any, NamedTuple

import numpy as np

from .statements import Fact, Scene, statement
from .worlds import ProgramWorld, World, array, compare, same_numbers

LENGTH = 24
LARGEST = 64  # elements of a variable that is used further
TAME = 50.0


class Difference(NamedTuple):
    seed: int
    statements: list[str]
    what: str
    numbers: bool  # the two differ in numbers alone


class Program:
    """A program that grows: each statement is written from what the earlier ones left in PyTorch's world."""

    def __init__(self, seed: int, ours: Any, theirs: Any) -> None:
        self.seed = seed
        self.scene = Scene(random.Random(seed))
        self.ours, self.theirs = ProgramWorld(ours), World(theirs)
        self.statements: list[str] = []

    def step(self, text: str) -> Difference | None:
        self.statements.append(text)
        problem = run_both(self.ours, self.theirs, text)
        if problem[0]:
            return Difference(self.seed, list(self.statements), *problem)
        self.scene.facts = [fact(name, value) for name, value in self.theirs.variables().items()][
            -9:
        ]
        return None


def run_both(ours: World, theirs: World, text: str) -> tuple[str, bool]:
    a, b = ours.run(text), theirs.run(text)
    if a != b:
        return f"error: {a or 'none'}\n  for: {b or 'none'}", False
    return compare(ours, theirs)


def fact(name: str, value: Any) -> Fact:
    numbers = array(value)
    calm = (
        numbers.size <= LARGEST
        and bool(np.isfinite(numbers).all())
        and bool((np.abs(numbers) < TAME).all())
    )
    dtype = str(value.dtype).removeprefix("torch.")
    try:
        is_leaf = value.is_leaf
    except RuntimeError:  # a view that a change of its base made invalid
        is_leaf = False
    return Fact(name, tuple(value.shape), dtype, value.requires_grad, is_leaf, calm)


def run(seed: int, ours: Any, theirs: Any) -> tuple[Difference | None, int]:
    """One random program; its first difference and the number of statements run."""
    program = Program(seed, ours, theirs)
    for _ in range(LENGTH):
        found = program.step(statement(program.scene))
        if found is not None:
            return (None if unstable(found, ours, theirs) else found), len(program.statements)
    return None, LENGTH


def replay(statements: list[str], ours: Any, theirs: Any) -> tuple[int, str, bool]:
    """The first differing statement of a fixed program: its index, what differs, and whether only in numbers."""
    a, b = ProgramWorld(ours), World(theirs)
    for index, text in enumerate(statements):
        what, numbers = run_both(a, b, text)
        if what:
            return index, what, numbers
    return -1, "", False


def shrink(found: Difference, ours: Any, theirs: Any) -> Difference:
    """The same difference with as few statements as leaving them out one by one gives."""
    statements, what, numbers = found.statements, found.what, found.numbers
    for index in reversed(range(len(statements) - 1)):
        fewer = statements[:index] + statements[index + 1 :]
        at, text, only = replay(fewer, ours, theirs)
        if at == len(fewer) - 1 and kind(text) == kind(what):
            statements, what, numbers = fewer, text, only
    return Difference(found.seed, statements, what, numbers)


def kind(what: str) -> str:
    """A difference without its numbers and names, to count alike ones together."""
    return re.sub(
        r"v\d+", "v", re.sub(r"= ?\[.*|v# = .*", "", re.sub(r"-?\d+\.?\d*(e-?\d+)?", "#", what))
    )[:160]


def unstable(found: Difference, ours: Any, theirs: Any) -> bool:
    """Whether the numbers differ because the program is ill-conditioned.

    PyTorch itself then gives other numbers when the program's constants are moved by a few units in their last place.
    """
    if not found.numbers:
        return False
    plain, moved = World(theirs), World(theirs)
    for text in found.statements:
        plain.run(text)
        moved.run(nudge(text))
    a, b = plain.variables(), moved.variables()
    if a.keys() != b.keys():
        return True
    return not all(
        same_numbers(array(a[name]), array(b[name])) and same_gradient(a[name], b[name])
        for name in a
    )


def same_gradient(a: Any, b: Any) -> bool:
    if a.grad is None or b.grad is None:
        return a.grad is b.grad
    return same_numbers(array(a.grad), array(b.grad))


def nudge(text: str) -> str:
    """The statement with every constant of a tensor moved by some of its last digits, each by another share."""
    if "torch.tensor(" not in text or "float" not in text:
        return text
    share = 1e-6 if "float32" in text else 1e-13
    dice = random.Random(text)
    return re.sub(
        r"-?\d+\.\d+", lambda number: repr(float(number[0]) + share * dice.uniform(-1, 1)), text
    )
