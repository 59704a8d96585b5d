# Operators and protocols of a class
class V:
    def __init__(self, x, y): self.x, self.y = x, y
    def __add__(self, o): return V(self.x + o.x, self.y + o.y)
    def __sub__(self, o): return V(self.x - o.x, self.y - o.y)
    def __mul__(self, k): return V(self.x * k, self.y * k)
    __rmul__ = __mul__
    def __neg__(self): return V(-self.x, -self.y)
    def __eq__(self, o): return (self.x, self.y) == (o.x, o.y)
    def __lt__(self, o): return self.x < o.x
    def __repr__(self): return f"V({self.x}, {self.y})"
    def __len__(self): return 2
    def __getitem__(self, i): return (self.x, self.y)[i]
    def __setitem__(self, i, v):
        if i == 0: self.x = v
        else: self.y = v
    def __delitem__(self, i): print("del", i)
    def __contains__(self, v): return v in (self.x, self.y)
    def __iter__(self): return iter((self.x, self.y))
    def __call__(self, *a): return ("called", a)
    def __bool__(self): return bool(self.x)
    def __abs__(self): return abs(self.x)
    def __hash__(self): return 7
    def __iadd__(self, o): self.x += o.x; return self
    def __matmul__(self, o): return self.x * o.x + self.y * o.y
    def __getattr__(self, n): return "attr:" + n
    def __float__(self): return float(self.x)
    def __int__(self): return self.x
    def __format__(self, s): return f"<{s}>"
a, b = V(1, 2), V(3, 4)
print(a + b, a - b, a * 2, 3 * a, -a, a == V(1, 2), a < b, a > b, len(a), a[1], 2 in a, 9 in a, list(a), a(1, 2))
a[0] = 10
print(a, bool(a), bool(V(0, 0)), abs(a), hash(a), a @ b, a.foo, float(a), int(a), f"{a:>5}", "{:x}".format(a))
a += b
print(a)
x, y = a
print(x, y, *a, sorted([b, a]), max(a, b))
del a[1]
print({a: 1}[a])

class It:
    def __init__(self, n): self.n = n
    def __iter__(self): return self
    def __next__(self):
        if self.n == 0: raise StopIteration
        self.n -= 1
        return self.n
print(list(It(3)), sum(It(4)), [x for x in It(2)], max(It(3)), tuple(It(2)), *It(2))
i = iter(It(1))
print(next(i), next(i, "end"))
print(dict(zip("ab", It(2))))
