# random, itertools, collections, copy, functools, warnings, sys, typing
import random
random.seed(42)
print(random.random(), random.randint(1, 10), random.choice([1, 2, 3]), random.uniform(0, 1), random.sample(range(10), 3), random.gauss(0, 1))
l = [1, 2, 3, 4]; random.shuffle(l); print(l)

import itertools, collections, copy, operator
from collections import defaultdict, OrderedDict, Counter, deque, namedtuple
print(list(itertools.product([1, 2], "ab")), list(itertools.chain([1], [2])), list(itertools.islice(itertools.count(5), 3)), list(itertools.accumulate([1, 2, 3])), list(itertools.combinations([1, 2, 3], 2)), list(itertools.chain.from_iterable([[1], [2]])), list(itertools.zip_longest([1], [2, 3])), list(itertools.permutations([1, 2])))
d = defaultdict(list); d["a"].append(1); print(d["a"], dict(d), d)
print(OrderedDict(a=1), Counter("abca").most_common(1), Counter("aab")["a"])
q = deque([1, 2], maxlen=2); q.append(3); print(q, q.popleft())
P = namedtuple("P", "x y"); p = P(1, y=2); print(p, p.x, p[1], p._replace(x=5), p._asdict(), P._fields, p == (1, 2))
a = [[1], 2]; b = copy.deepcopy(a); c = copy.copy(a); a[0].append(5); print(b, c)
print(operator.add(1, 2), operator.itemgetter(1)([5, 6]), functools_reduce if False else 0)

import functools
@functools.lru_cache(maxsize=None)
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
print(fib(50), fib.cache_info())
@functools.cache
def sq(x): return x * x
print(sq(4))

import warnings
with warnings.catch_warnings(record=True) as w:
    warnings.simplefilter("always")
    warnings.warn("careful")
    warnings.warn("old", DeprecationWarning)
print([(str(x.message), x.category.__name__) for x in w])

import sys
print("to out", file=sys.stdout)
sys.stdout.write("written\n")
print(sys.maxsize, sys.float_info.epsilon)

from typing import List, Optional, Dict, Tuple, Union, Callable, Any
Vec = List[float]
def f(x: Optional[int] = None, *a: Dict[str, Tuple[int, ...]]) -> Union[int, None]: return x
print(f(3))
