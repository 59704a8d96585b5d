# What is evaluated first
def order(n):
    print("eval", n)
    return n
def f(a=order(1), *, b=order(2)): return a, b
print(f(), f(order(3), b=order(4)))
d = {order("k"): order("v"), order("k2"): order("v2")}
l = [0, 0]
l[order(0)] = order(5)
l[order(1)] += order(7)
print(l)
print(order(1) + order(2) * order(3), (order(1), order(2)), [order(i) for i in (1, 2)])
print(order(0) and order(1), order(1) or order(2), order(1) if order(0) else order(2))
i = 0
i = l[i] = 1
print(i, l)
x, l[x] = 1, 9
print(x, l)
