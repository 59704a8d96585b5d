# Annotations are not evaluated
from __future__ import annotations
def f(x: A | B): return 1
print(f(2))


from typing import Generic, Protocol, TypeVar

T = TypeVar("T")


class Box(Generic[T]):
    def __init__(self, item: T): self.item = item


class Named(Protocol):
    name: str


print(Box(5).item, Box[int](6).item if False else 6, Box.__name__)
