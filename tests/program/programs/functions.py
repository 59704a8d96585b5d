# Parameters of every kind, closures, decorators
def f(a, b=2, *args, c, d=4, **kw):
    return a, b, args, c, d, kw
print(f(1, c=3))
print(f(1, 2, 3, 4, c=5, e=6))
print(f(*[1, 2, 3], **{"c": 4, "z": 5}))
print(f(c=1, a=0))
def g(a, /, b, *, c):
    return a, b, c
print(g(1, 2, c=3), g(1, b=2, c=3))
def h(a, /, **kw):
    return a, kw
print(h(1, a=2))
def k(*, x=1): return x
print(k(), k(x=5))
def m(a, b=[]):
    b.append(a)
    return b
print(m(1), m(2))

def counter():
    n = 0
    def inc():
        nonlocal n
        n += 1
        return n
    return inc
c = counter(); d = counter()
print(c(), c(), d())
g = 10
def setg():
    global g, h
    g = 20
    h = 30
setg()
print(g, h)
fs = [lambda: i for i in range(3)]
print([f() for f in fs])
fs = [lambda i=i: i for i in range(3)]
print([f() for f in fs])
fs = []
for i in range(3):
    def f(): return i
    fs.append(f)
print([f() for f in fs])
def outer():
    x = 1
    def mid():
        def inner():
            nonlocal x
            x += 1
            return x
        return inner
    return mid()(), x
print(outer())

def deco(f):
    print("deco", f.__name__)
    def w(*a, **k):
        print("call", a, k)
        return f(*a, **k)
    return w
@deco
def f(x, y=1):
    "doc"
    return x + y
print(f(1), f(1, y=5), f.__name__, f.__doc__)
def param(n):
    def d(f):
        def w(*a):
            return n * f(*a)
        return w
    return d
@param(2)
@param(3)
def g(x): return x
print(g(1))
import functools
def deco(f):
    @functools.wraps(f)
    def w(*a): return f(*a)
    return w
@deco
def named(x):
    "the doc"
    return x
print(named.__name__, named.__doc__, named(3), named.__wrapped__(4))

def f():
    """Docs."""
print(f(), f.__doc__, f.__name__, f.__qualname__)
def g():
    "only doc"
    return 5
print(g())
f.attr = 3
print(f.attr, hasattr(f, "other"))
print(f)
print(type(f), type(f).__name__)

if __name__ == "__main__":
    print("main")
def main():
    print("in main")
    return 0
if __name__ == "__main__":
    main()
