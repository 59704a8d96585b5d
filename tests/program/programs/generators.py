def count(n):
    i = 0
    while i < n:
        got = yield i
        if got is not None:
            print("got", got)
        i += 1
    return "end"
print(list(count(3)))
g = count(5)
print(next(g), g.send("hi"), next(g))
g.close()
try:
    next(g)
except StopIteration as e:
    print("stop", e.value)
def outer():
    r = yield from count(2)
    print("r", r)
    yield "x"
for v in outer(): print(v)
def fib():
    a, b = 0, 1
    while True:
        yield a
        a, b = b, a + b
for v in fib():
    if v > 20: break
    print(v, end=" ")
print()
def clean():
    try:
        yield 1
        yield 2
    finally:
        print("cleanup")
for x in clean(): break
print("after")
def stopper(it):
    it = iter(it)
    try:
        while True:
            yield next(it) * 2
    except StopIteration:
        print("done")
        return 5
print(list(stopper([1, 2])))
def bad():
    yield next(iter([]))
try:
    print(list(bad()))
except RuntimeError as e:
    print(e, type(e.__cause__))
def handler():
    while True:
        try:
            x = yield
            print("x", x)
        except ValueError as e:
            print("caught", e)
            yield "v"
h = handler(); next(h); h.send(1); print(h.throw(ValueError("boom"))); next(h); h.send(3)
def avg():
    total = n = 0
    average = None
    while True:
        total += (yield average)
        n += 1
        average = total / n
a = avg(); next(a); print(a.send(10), a.send(20))
def mix():
    print(f"a {(yield 1)} b", (yield 2) + (yield 3))
    x = [(yield 4), (yield 5) if (yield 6) else 0]
    return x
m = mix()
print(next(m))
try:
    for i in range(10): print(m.send(i))
except StopIteration as e: print(e.value)
def tree(n):
    if n > 0:
        yield from tree(n - 1)
        yield n
        yield from tree(n - 1)
print(list(tree(3)))
print(sum(x * x for x in count(4)), max(count(5)), sorted(count(3), reverse=True))
print(type(count(2)).__name__)
import itertools
print(list(itertools.islice(fib(), 10)))
lam = lambda: (yield 7)
print(list(lam()))
class Data:
    def __init__(self, n): self.n = n
    def __iter__(self):
        for i in range(self.n):
            yield i, i * i
print(list(Data(3)), dict(Data(3)))
def nested():
    def inner(k):
        yield k
        yield k + 1
    for i in range(2):
        for j in inner(i):
            yield i, j
print(list(nested()))
def ret():
    return
    yield
print(list(ret()))
def w():
    with M() as m:
        yield m
        yield 2
class M:
    def __enter__(self): print("enter"); return "m"
    def __exit__(self, *a): print("exit", a[0]); return False
print(list(w()))
for q in w(): break
print("end")
def swallow():
    try:
        yield 1
    except GeneratorExit:
        print("closing")
    print("after")
s = swallow(); next(s); s.close(); s.close()
def outer2():
    try:
        yield from swallow()
    finally:
        print("outer done")
s = outer2(); next(s); s.close()
u = count(3); u.close(); print(list(u))
def ign():
    while True:
        try: yield 1
        except GeneratorExit: pass
s = ign(); next(s)
try: s.close()
except RuntimeError as e: print(e)
def over_list():
    try: yield from [1, 2]
    finally: print("list closed")
s = over_list(); next(s); s.close()
s = over_list(); next(s)
try: s.throw(KeyError("k"))
except KeyError as e: print("key", e)
