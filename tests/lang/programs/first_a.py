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
