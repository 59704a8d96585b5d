# What the body of a class sees, and what its methods see
class A:
    n = 0
    names = [str(i) for i in range(3)]
    def __init__(self):
        A.n += 1
        type(self).n += 1
A(); A()
print(A.n, A.names)
class B(A):
    pass
B()
print(A.n, B.n)

class A:
    def m(self): return [self.x for _ in range(2)], (lambda: self.x)()
    x = 5
print(A().m())
def make():
    class Local:
        def who(self): return "local", Local.__name__
    return Local
print(make()().who(), make().__qualname__)

x = "global"
class A:
    x = "class"
    def f(self): return x
    y = [x for _ in range(1)]
    z = x
print(A().f(), A.y, A.z)
def g():
    x = "local"
    class B:
        y = x
        x = "b"
        def h(self): return x
    return B.y, B.x, B().h()
try:
    print(g())
except NameError as e: print(e)
