# Functions as values
def f(x):
    if x:
        def g(): return "g1"
    else:
        def g(): return "g2"
    return g()
print(f(1), f(0))
def f(x): return "redefined"
print(f(1))
fact = lambda n: 1 if n == 0 else n * fact(n - 1)
print(fact(5))
def memo(n, cache={}):
    if n in cache: return cache[n]
    cache[n] = n if n < 2 else memo(n - 1) + memo(n - 2)
    return cache[n]
print(memo(50))
def a(n): return "done" if n == 0 else b(n - 1)
def b(n): return a(n)
print(a(10))
compose = lambda *fs: lambda x: x if not fs else compose(*fs[:-1])(fs[-1](x))
print(compose(lambda x: x + 1, lambda x: x * 2)(5))
adders = {n: (lambda n: lambda x: x + n)(n) for n in (1, 2)}
print(adders[1](10), adders[2](10))
