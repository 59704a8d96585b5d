# Arguments spread and gathered
def f(*args, **kwargs): return args, kwargs
print(f(*[1, 2], *(3,), x=1, **{"y": 2}, **{"z": 3}))
print(f(*"ab", *range(2)), f(**dict(a=1)), f(*[], **{}))
def g(a, b, *, c=3, **kw): return a, b, c, kw
print(g(*[1], b=2), g(1, 2, **{"c": 4, "d": 5}))
def h(a, *b, c): return a, b, c
print(h(1, 2, 3, c=4), h(*[1, 2], c=0))
def k(a, b=1, /, c=2, *, d=3): return a, b, c, d
print(k(0), k(0, 5, c=6, d=7), k(0, 1, 2))
args = [1, 2]; kw = {"c": 5}
print((lambda a, b, c: a + b + c)(*args, **kw))
def m(**kw): kw["x"] = 1; return kw
orig = {"y": 2}; print(m(**orig), orig)
def r(*a): return a
lst = [1]; t = r(*lst); lst.append(2); print(t)
