# Exceptions in and around with
try:
    try:
        raise ValueError("one")
    except ValueError:
        raise KeyError("two")
except KeyError as err:
    print(repr(err), repr(err.__context__), err.__cause__)
class Ctx:
    def __init__(self, swallow): self.swallow = swallow
    def __enter__(self): return self
    def __exit__(self, kind, value, tb):
        print("exit", kind and kind.__name__, value)
        return self.swallow
def f():
    with Ctx(True):
        raise ValueError("swallowed")
    return "after"
print(f())
try:
    with Ctx(False): raise ValueError("kept")
except ValueError as err: print("caught", err)
try:
    with Ctx(True), Ctx(False):
        raise KeyError("inner")
    print("outer swallowed")
except KeyError: print("not")
def g():
    for i in range(3):
        with Ctx(False):
            if i == 1: return i
print(g())
class BadEnter:
    def __enter__(self): raise RuntimeError("enter")
    def __exit__(self, *a): print("never")
try:
    with BadEnter(): pass
except RuntimeError as err: print(err)
class BadExit:
    def __enter__(self): return 1
    def __exit__(self, *a): raise RuntimeError("exit")
try:
    with BadExit(): raise ValueError("lost")
except RuntimeError as err: print(err, repr(err.__context__))
