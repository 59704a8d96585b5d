# nonlocal, global, closures in loops
def outer():
    a = 1
    def mid():
        b = 2
        def inner():
            nonlocal a, b
            a += 10; b += 20
            return a, b
        r = inner()
        return r, b
    return mid(), a
print(outer())
x = 1
def f():
    global x
    def g():
        global x
        x += 1
        return x
    x = 10
    return g()
print(f(), x)
def h():
    x = "local"
    def g():
        global x
        return x
    return g()
print(h())
def k():
    fs = []
    i = 0
    while i < 3:
        fs.append(lambda: i)
        i += 1
    return [f() for f in fs]
print(k())
