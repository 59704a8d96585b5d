# Annotations are not evaluated
from __future__ import annotations
def f(x: A | B): return 1
print(f(2))
