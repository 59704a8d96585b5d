def point(p):
    match p:
        case (0, 0): return "origin"
        case (x, 0) | (0, x) if x > 5: return f"far {x}"
        case [x, y]: return f"{x},{y}"
        case [x, *rest]: return (x, rest)
        case {"k": v, **others}: return v, others
        case str(s): return "s" + s
        case int() | float() as n: return n * 2
        case None | True: return "none"
        case M2(a=1, b=bb): return bb
        case M2(a, b): return a, b
        case _: return "other"
class M2:
    __match_args__ = ("a", "b")
    def __init__(self, a, b): self.a, self.b = a, b
for p in [(0,0),(6,0),(1,2),(1,2,3),{"k":1,"z":2},"hey",3,2.5,None,True,M2(1,2),M2(3,4),{1}]:
    print(point(p))
def gm(x):
    match x:
        case 1: yield "one"
        case _: yield from [x, x]
print(list(gm(1)), list(gm(2)))
