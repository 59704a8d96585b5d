# Sieve, sort, permutations and other small programs
def primes(n):
    sieve = [True] * (n + 1)
    for i in range(2, int(n ** 0.5) + 1):
        if sieve[i]:
            for j in range(i * i, n + 1, i): sieve[j] = False
    return [i for i in range(2, n + 1) if sieve[i]]
print(primes(50))
def qsort(a): return a if len(a) < 2 else qsort([x for x in a[1:] if x < a[0]]) + [a[0]] + qsort([x for x in a[1:] if x >= a[0]])
print(qsort([3, 1, 4, 1, 5, 9, 2, 6]))
def hanoi(n, a="A", b="B", c="C"): return [] if n == 0 else hanoi(n - 1, a, c, b) + [(a, c)] + hanoi(n - 1, b, a, c)
print(len(hanoi(6)), hanoi(2))
def perms(xs):
    if not xs: return [[]]
    return [[x] + p for i, x in enumerate(xs) for p in perms(xs[:i] + xs[i + 1:])]
print(perms([1, 2, 3]))
words = "the cat the dog a cat".split()
count = {}
for word in words: count[word] = count.get(word, 0) + 1
print(sorted(count.items(), key=lambda kv: (-kv[1], kv[0])))
def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps
print(max(range(1, 100), key=collatz))
fib = [0, 1]
while len(fib) < 20: fib.append(fib[-1] + fib[-2])
print(fib)
print("\n".join("".join("*" if (i & j) == 0 else " " for j in range(8)).rstrip() for i in range(8)))
