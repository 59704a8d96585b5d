# Built-in names that a program takes
sum = 5
print(sum)
del sum
print(sum([1, 2]))
list = [1]
try: list((1,))
except TypeError as err: print(err)
def f():
    len = lambda x: "mine"
    return len([1])
print(f(), len([1]))
def g(print=print): print("via default")
g()
