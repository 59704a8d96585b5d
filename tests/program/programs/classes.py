# Attributes, methods, properties, inheritance
class A:
    x = 1
    y = x + 1
    def __init__(self, v):
        self.v = v
    def get(self): return self.v
    @staticmethod
    def s(a): return a * 2
    @classmethod
    def c(cls, a): return cls.__name__, a
    @property
    def p(self): return self.v + 1
    @p.setter
    def p(self, value): self.v = value
a = A(3)
print(a.get(), A.s(2), a.s(3), A.c(1), a.c(2), a.p, A.x, a.y)
a.p = 10
print(a.v)
A.x = 5
print(a.x)
a.x = 6
print(A.x, a.x)
del a.x
print(a.x)
print(A, type(a), a.__class__.__name__, A.__name__)
print(isinstance(a, A), issubclass(A, object), isinstance(A, type))

class A:
    def __init__(self): print("A"); self.a = 1
    def who(self): return "A"
class B(A):
    def __init__(self):
        super().__init__()
        print("B")
    def who(self): return "B" + super().who()
class C(A):
    def __init__(self):
        super().__init__()
        print("C")
    def who(self): return "C" + super().who()
class D(B, C):
    def __init__(self):
        super(D, self).__init__()
        print("D")
    def who(self): return "D" + super().who()
print(D().who())
print([c.__name__ for c in (A, B, C, D)])
A.__init__(D())

class A:
    def f(self): return 1
A().f = 5
print("ok")
a = A()
a.f = lambda: 7
print(a.f())

class Stack:
    def __init__(self): self.__items = []
    def push(self, x): self.__items.append(x); return self
    def __size(self): return len(self.__items)
    def size(self): return self.__size()
s = Stack().push(1).push(2)
print(s.size(), s._Stack__items)
try:
    s.__items
except AttributeError as e:
    print(e)

x = 10
def f():
    x = 20
    class A:
        print(x)
        def g(self): return x
    return A().g()
print(f())
