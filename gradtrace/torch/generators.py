"""Random number generators of a program's own: those of PyTorch, numpy and Python, and their
states.
"""

from __future__ import annotations

import random
from typing import Any

import torch

from gradtrace.torch.memory import numpy

OF_NUMPY: Any = () if numpy is None else (numpy.random.Generator, numpy.random.RandomState)
# the largest that numpy's bit generators can have; numpy does not check
POSITIONS = {"pos": 624, "buffer_pos": 4}


def is_generator(value: Any) -> bool:
    """Whether a value is a generator whose state can be read: not one of the operating system's
    random numbers.
    """
    return isinstance(value, (torch.Generator, random.Random, *OF_NUMPY)) and not isinstance(
        value, random.SystemRandom
    )


def state_of(generator: Any) -> Any:
    """Return a generator's state: a tensor, or numbers, texts and containers of them."""
    if isinstance(generator, torch.Generator):
        return generator.get_state()
    if isinstance(generator, random.Random):
        return generator.getstate()
    if isinstance(generator, numpy.random.RandomState):
        return plain(generator.get_state(legacy=False))
    return plain(generator.bit_generator.state)


def set_state(generator: Any, state: Any) -> None:
    """Give a generator a state of `state_of`. TypeError, ValueError, KeyError or OverflowError if
    it does not fit.
    """
    if isinstance(generator, torch.Generator):
        generator.set_state(state)
    elif isinstance(generator, random.Random):
        generator.setstate(state)
    else:
        check(state)
        if isinstance(generator, numpy.random.RandomState):
            generator.set_state(state)
        else:
            generator.bit_generator.state = state


def plain(value: Any) -> Any:
    """Return a state of numpy's as numbers, texts, lists and dicts."""
    if isinstance(value, dict):
        return {key: plain(element) for key, element in value.items()}
    return value.tolist() if isinstance(value, (numpy.ndarray, numpy.generic)) else value


def check(state: Any) -> None:
    for key, number in {**state, **state["state"]}.items():
        if key in POSITIONS and not (type(number) is int and 0 <= number <= POSITIONS[key]):
            raise ValueError(f"{key} is out of range")
