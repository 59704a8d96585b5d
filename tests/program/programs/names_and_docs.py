# What functions and classes tell of themselves
"""Module docstring"""
def f():
    "f doc"
class A:
    """A doc"""
    def m(self): """m doc"""
print(f.__doc__, A.__doc__, A.m.__doc__, A().m.__doc__, A.m.__name__, A().m.__name__, A.m.__qualname__, (lambda: 0).__name__)
print(A.m, A().m.__name__, f, A)
def outer():
    def inner(): pass
    class K:
        def meth(self): pass
    return inner, K, lambda: 0
i, K, l = outer()
print(i.__qualname__, K.__qualname__, K.meth.__qualname__, l.__qualname__, K.__module__)
print(repr(K()).split(" at ")[0], repr(i).split(" at ")[0], repr(K().meth).split(" of ")[0])
