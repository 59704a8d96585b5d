# An exception from a function's function
def f():
    raise KeyError("deep")
def g():
    f()
g()
