# Assignment in all its forms
a = b = 3
print(a, b)
a, b = b, a + 1
print(a, b)
a, *b, c = range(5)
print(a, b, c)
[x, [y, z]] = 1, (2, 3)
print(x, y, z)
*a, = "abc"
print(a)
(a), (b) = 1, 2
print(a, b)
d = {}
d["k"], d["l"] = 1, 2
print(d)
for i, (j, k) in enumerate([(1, 2), (3, 4)]):
    print(i, j, k)

x: int = 5
y: "nothing"
print(x)
class A:
    z: float = 1.5
print(A.z)

x = 5
x += 2; x -= 1; x *= 3; x //= 2; x **= 2; x %= 50; x <<= 1; x >>= 1; x |= 8; x &= 29; x ^= 3
print(x)
x /= 4
print(x)
l = [1]
m = l
l += [2]
print(m is l, m)
l *= 2
print(m)
t = (1,)
t += (2,)
print(t)
s = "a"
s += "b"
s *= 3
print(s)

def gen(): return [i for i in range(3)]
a, b, c = gen()
print(a, b, c)
def swap(a, b): return b, a
(x, y), z = swap(1, 2), 3
print(x, y, z)
m = [[1, 2], [3, 4]]
m[0][1], m[1][0] = m[1][0], m[0][1]
print(m, list(zip(*m)), [list(r) for r in zip(*m)])
i = 0
l = [0, 0]
i, l[i] = 1, 5
print(i, l)
d = {"x": [1]}
d["x"][0] += 5
d["x"] += [7]
print(d)
class C: n = 0
C.n += 1
c = C(); c.n += 5
print(C.n, c.n)

def f():
    return 1, *[2, 3]
print(f())
for x in 1, 2, *[3]:
    print(x)
print([*range(3), *"ab"], (*[1],), {*[1, 2]}, {**dict(a=1), **dict(b=2)})
