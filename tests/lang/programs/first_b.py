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
