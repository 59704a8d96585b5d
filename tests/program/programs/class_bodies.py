# Nested classes, loops in a class body
class A: pass
class B(A): pass
try:
    class C(A, B): pass
except TypeError as err: print(str(err).split("\n")[0])
print(B.__name__, B().__class__ is B, type(B()) is B, type(B()) == B, type(B())().__class__.__name__)
class D:
    class Inner:
        x = 1
        def f(self): return "inner"
    y = Inner().f()
print(D.Inner.x, D.y, D.Inner.__qualname__, D.Inner)
class E:
    total = 0
    for i in range(4):
        total += i
    if total > 5:
        big = True
    del i
print(E.total, E.big, hasattr(E, "i"))

class A:
    n = 3
    try:
        bad = [n for _ in range(2)]
    except NameError as err:
        msg = str(err)
    good = [x for x in range(n)]
print(A.msg, A.good)
