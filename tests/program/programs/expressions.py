# Conditional and other expressions
def f(): return 1
print(f"{f()=}", f'{f() + 1 = :>5}')
def g(n):
    "count down"
    while n:
        n -= 1
        if n == 3: break
    else:
        return "finished"
    return n
print(g(2), g(10))
print([(lambda x: x + 1)(i) for i in range(3)], (lambda: (1, 2))()[1], [*(lambda *a: a)(1, 2)])
assert g(2) == "finished", "msg"
print(*[f"{i}:{c}" for i, c in enumerate("ab")], sep="\n")
if 1: pass
elif 2: print("no")
else: print("no")
for _ in range(2): pass
print(_)
lines = """a
b""".split("\n"); print(lines)
print(1 if True else 2 if False else 3, not not 1, -(-1), +True, - -2, 2 ** -1, -2 ** 2, (-2) ** 2, not 1 == 2)
