# Functions that call themselves
def fact(n): return 1 if n < 2 else n * fact(n - 1)
print(fact(20))
def even(n): return True if n == 0 else odd(n - 1)
def odd(n): return False if n == 0 else even(n - 1)
print(even(100))
def deep(n): return n if n == 0 else deep(n - 1)
print(deep(800))
try:
    deep(10**6)
except RecursionError as e:
    print("recursion")
