# del
x = [1, 2]
del x[0], x[0]
print(x)
d = {"a": 1, "b": 2}
del d["a"]
print(d)
class A: pass
a = A(); a.b = 1
del a.b
print(hasattr(a, "b"))
y = z = 1
del (y, z)
try: y
except NameError as e: print(e)
l = list(range(10))
del l[2:8:2]
print(l)
