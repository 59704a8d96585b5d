# Comparisons, for, while, break, continue, else
print(1 < 2 < 3, 1 < 3 < 2, 3 > 2 >= 2 == 2 != 5)
def f(x):
    print("f", x)
    return x
print(f(1) < f(0) < f(5))
print(1 in [1] in [[1]])
print(not 1 == 2, 1 is not None, 3 not in (1, 2))

for i in range(5):
    if i == 1:
        continue
    if i == 4:
        break
    print(i)
else:
    print("no")
for i in []:
    pass
else:
    print("else", )
n = 0
while n < 5:
    n += 1
    if n == 2: continue
    if n == 4: break
    print(n)
else:
    print("never")
while n < 6:
    n += 1
else:
    print("done", n)

def f():
    for i in range(3):
        for j in range(3):
            if j == 1:
                break
            if i == 2:
                return i, j
            print(i, j)
        else:
            print("x")
print(f())
def g():
    while True:
        try:
            return 1
        finally:
            print("fin")
print(g())
def h():
    for i in range(3):
        try:
            continue
        finally:
            print("fin", i)
    return "end"
print(h())
def k():
    try:
        return "try"
    finally:
        return "finally"
print(k())
def m():
    while True:
        try:
            break
        finally:
            print("brk")
    return "out"
print(m())

def f(n):
    if n == 0: return "zero"
    elif n == 1: return "one"
    elif n < 0:
        return "neg"
    else:
        return "many"
print([f(i) for i in (-1, 0, 1, 2)])

x = 5; y = 6; print(x, y)
if x: print("one line")
while False: pass
class E: pass
def f(): ...
print(f(), E)
lam = lambda *a, k=1, **kw: (a, k, kw)
print(lam(1, 2, k=3, z=4))
print((lambda: (yield_ := 5))())
