# The forms of import
import math, functools
from math import pi, sqrt as root
from functools import partial, reduce
print(math.floor(2.7), pi, root(16), math.inf, math.gcd(12, 18))
print(partial(pow, 2)(5), reduce(lambda a, b: a * b, [1, 2, 3, 4]), functools.reduce(lambda a, b: a + b, [], 0))
p = partial(print, "a", sep="-")
p("b")
print(p.args, p.keywords)
import math as m
print(m.sin(0))

try:
    import nosuchmodule
except ImportError as e:
    print(type(e).__name__, e)
