# Decorators of classes, properties, class methods
def deco(n):
    print("make", n)
    def d(f):
        print("apply", n)
        return f
    return d
@deco(1)
@deco(2)
class A:
    print("body")
    @deco(3)
    def m(self): return 1
print(A().m())
def singleton(cls): return cls()
@singleton
class One:
    x = 5
print(One.x, type(One).__name__)

class A:
    def __init__(self): self._v = 1
    @property
    def v(self):
        "doc of v"
        return self._v
    @v.setter
    def v(self, x): self._v = x
    @v.deleter
    def v(self): print("deleting"); del self._v
    @classmethod
    def make(cls): return cls()
    @staticmethod
    def helper(): return "h"
class B(A):
    @property
    def v(self): return super().v * 10
    @classmethod
    def make(cls):
        o = super().make()
        o._v = 4
        return o
b = B.make()
print(type(b).__name__, b.v, b.helper(), A.make().v)
a = A()
del a.v
print(hasattr(a, "v"))
try: b.v = 3
except AttributeError as err: print(err)
