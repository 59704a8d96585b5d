# One object under several names
x = [1, 2, 3]
y = x
y += [4]
print(x, x is y)
x = x + [5]
print(x, y, x is y)
def mutate(l, n): l.append(n); n += 1; return n
l = []; n = 1
print(mutate(l, n), l, n)
a = b = []
a.append(1); print(b)
c, d = [], []
c.append(1); print(d)
e = [[]] * 2; e[0].append(1); print(e)
s = "abc"; t = s; s += "d"; print(t)
print(id(x) == id(x), x is not y, None is None, () is ())
f = g = lambda v: v
print(f is g, f == g, f == (lambda v: v))
z = [3, 1, 2]; print(sorted(z), z, z.sort(), z, z.reverse(), z)
