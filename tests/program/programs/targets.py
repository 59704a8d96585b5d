# What a loop and a with can assign to
class Acc:
    def __init__(self): self.items = []
a = Acc()
for a.cur in range(3): a.items.append(a.cur)
l = [0]
for l[0] in "ab": print(l)
print(a.items, a.cur)
for (p, q), *r in [((1, 2), 3, 4)]: print(p, q, r)
class CM:
    def __enter__(self): return 1, (2, 3)
    def __exit__(self, *a): return None
with CM() as (u, (v, w)): print(u, v, w)
with CM() as l[0], CM() as a.cm: print(l, a.cm)
