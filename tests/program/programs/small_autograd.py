# A scalar autograd engine, as tutorials write it
class Node:
    def __init__(self, val, next=None): self.val, self.next = val, next
    def __iter__(self):
        out, n = [], self
        while n: out.append(n.val); n = n.next
        return iter(out)
print(list(Node(1, Node(2, Node(3)))))
class Matrix:
    def __init__(self, rows): self.rows = rows
    def __matmul__(self, o): return Matrix([[sum(a * b for a, b in zip(r, c)) for c in zip(*o.rows)] for r in self.rows])
    def __getitem__(self, ij):
        if isinstance(ij, tuple): return self.rows[ij[0]][ij[1]]
        return self.rows[ij]
    def __repr__(self): return "\n".join(" ".join(map(str, r)) for r in self.rows)
m = Matrix([[1, 2], [3, 4]])
print(m @ m, m[0, 1], m[1])
class Value:
    def __init__(self, data, _children=(), _op=""):
        self.data = data; self.grad = 0.0; self._backward = lambda: None; self._prev = set(_children); self._op = _op
    def __add__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data + other.data, (self, other), "+")
        def _backward():
            self.grad += out.grad
            other.grad += out.grad
        out._backward = _backward
        return out
    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data * other.data, (self, other), "*")
        def _backward():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad
        out._backward = _backward
        return out
    __rmul__ = __mul__
    __radd__ = __add__
    def backward(self):
        topo, visited = [], set()
        def build(v):
            if v not in visited:
                visited.add(v)
                for child in v._prev: build(child)
                topo.append(v)
        build(self)
        self.grad = 1.0
        for v in reversed(topo): v._backward()
    def __repr__(self): return f"Value(data={self.data}, grad={self.grad})"
x, w = Value(2.0), Value(1.0)
y = (x + w) * (w + 1)
y.backward()
print(y, x, w)
