# Comprehensions, generator expressions, :=
print([x * 2 for x in range(5) if x % 2 == 0 if x > 0])
print([(x, y) for x in range(3) for y in range(x)])
print({x % 3 for x in range(10)}, {x: x ** 2 for x in range(3)}, {**{"a": 1}, "b": 2})
print([[j for j in range(i)] for i in range(3)])
print(sum(x for x in range(5)), list(x for x in "ab"), max((x for x in [3, 1]), default=0))
x = "outer"
l = [x for x in range(3)]
print(x)
print([y := 5, y + 1], y)
print([last := i for i in range(3)], last)
if (n := len("abc")) > 2:
    print(n)
def f():
    total = 0
    r = [total := total + v for v in range(4)]
    return r, total
print(f())
g = (print("lazy", i) or i for i in range(2))
print("made")
print(next(g), next(g), next(g, "end"))
print(any(print(i) or i > 0 for i in range(3)))
gs = [(i * j for j in range(3)) for i in range(3)]
print([list(g) for g in gs])
print(type(g), g)
def h(xs):
    k = 10
    return [x + k for x in xs], {x: k for x in xs}, (lambda: [x * k for x in xs])()
print(h([1, 2]))
print([a + b for a, b in [(1, 2), (3, 4)]], [a for a, *b in [(1, 2, 3)]])
print({k: v for d in [{1: 2}, {3: 4}] for k, v in d.items()})
