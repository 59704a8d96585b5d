# Context managers
class M:
    def __enter__(self): print("enter"); return "v"
    def __exit__(self, t, v, tb):
        print("exit", t.__name__ if t else None, v)
        return t is ValueError
with M() as v:
    print(v)
with M():
    raise ValueError("x")
with M() as a, M() as b:
    print(a, b)
try:
    with M():
        raise KeyError("k")
except KeyError as e:
    print("caught", e)
def f():
    with M():
        return 5
print(f())
for i in range(2):
    with M():
        continue
