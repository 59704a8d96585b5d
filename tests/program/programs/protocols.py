# NotImplemented, reflected operators, sequences by item
class A:
    def __add__(self, o): print("A.add"); return NotImplemented
    def __radd__(self, o): print("A.radd"); return "radd"
    def __eq__(self, o): return "eq"
    def __lt__(self, o): return NotImplemented
class B:
    def __radd__(self, o): print("B.radd"); return "B"
print(A() + B(), 5 + A(), A() == 1, A() != 1)
try: A() + 5
except TypeError as err: print(err)
try: A() < 5
except TypeError as err: print(err)
try: hash(A())
except TypeError as err: print(err)
try: {A(): 1}
except TypeError as err: print(err)

class L:
    def __len__(self): return 3
    def __getitem__(self, i):
        if i >= 3: raise IndexError("done")
        return i * 10
l = L()
print(list(l), 10 in l, 11 in l, bool(l), list(reversed(l)), max(l), [x for x in l])
class Z:
    def __len__(self): return 0
print(bool(Z()), "yes" if Z() else "no")
class S:
    def __str__(self): return "str"
print(S(), f"{S()}", "%s" % S(), str(S()), [str(S())])
class R:
    def __repr__(self): return "R!"
print(R(), [R()], {"a": R()}, f"{R()!r:>5}|")
class Bad:
    def __repr__(self): return 5
try: print(Bad())
except TypeError as err: print(err)
class NegLen:
    def __len__(self): return -1
try: len(NegLen())
except ValueError as err: print(err)

class G:
    def __getattr__(self, name):
        if name == "no": raise AttributeError("custom no")
        return name.upper()
g = G()
g.real = 1
print(g.real, g.other, hasattr(g, "no"), getattr(g, "no", "dflt"))
try: g.no
except AttributeError as err: print(err)
