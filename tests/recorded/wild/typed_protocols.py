from __future__ import annotations
import abc
import typing as t
from functools import cached_property, lru_cache, total_ordering
from typing import Callable, Dict, Iterator, NamedTuple, Protocol, Tuple, TypeVar

import torch
from torch import Tensor

T = TypeVar('T')
LossFn = Callable[[Tensor, Tensor], Tensor]


class Metrics(NamedTuple):
    loss: float
    accuracy: float = 0.0

    def better_than(self, other: Metrics) -> bool:
        return self.loss < other.loss


class Objective(Protocol):
    def __call__(self, a: Tensor, b: Tensor) -> Tensor: ...


class Model(abc.ABC):
    registry: t.ClassVar[Dict[str, type]] = {}

    @classmethod
    def register(cls, sub):
        cls.registry[sub.__name__] = sub
        return sub

    @property
    @abc.abstractmethod
    def size(self) -> int:
        ...

    @cached_property
    def weights(self) -> Tensor:
        print('made once')
        return torch.arange(self.size, dtype=torch.float)


@Model.register
@total_ordering
class Small(Model):
    size = 3

    def __lt__(self, other):
        return self.size < other.size

    def __eq__(self, other):
        return self.size == other.size


class Big(Small):
    size = 5


@lru_cache(maxsize=None)
def fib(n: int) -> int:
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def pairs(xs: t.List[T]) -> Iterator[Tuple[T, T]]:
    yield from zip(xs, xs[1:])


m = Small()
print(m.weights.sum(), m.weights.shape, Small() < Big(), Big() >= Small(), Model.registry)
try:
    Model()
except TypeError as e:
    print('TypeError', 'abstract' in str(e))
print(Metrics(0.5).better_than(Metrics(0.7, 0.9)), Metrics(1.0)._asdict(), fib(50), list(pairs([1, 2, 3])))
loss: LossFn = lambda a, b: ((a - b) ** 2).mean()
print(loss(torch.ones(2), torch.zeros(2)), t.cast(int, 'x'))
