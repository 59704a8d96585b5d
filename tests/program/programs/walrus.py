# Assignment expressions
data = [1, 2, 3, 4]
while (n := len(data)) > 2: data.pop()
print(n, data)
print([y for x in range(6) if (y := x * x) % 2 == 0], y)
print({(k := i): k * 2 for i in range(3)}, k)
if any((found := v) > 1 for v in [1, 2, 3]): print(found)
def f(): return [z := 1, z]
print(f())
