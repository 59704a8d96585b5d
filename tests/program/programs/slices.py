# Slices read, assigned and deleted
l = list(range(10))
l[2:4] = ["a", "b", "c"]
print(l); l[::4] = [0, 0, 0]; print(l); l[5:] = []; print(l); del l[::2]; print(l)
l[1:1] = [7, 8]; print(l, l[-2:], l[:-1], l[::-1], l[10:], l[slice(0, 2)])
try: l[::2] = [1]
except ValueError as err: print(err)
s = slice(1, 5, 2)
print(s, s.start, s.stop, s.step, "abcdef"[s])
try: l["x"]
except TypeError as err: print(err)
try: l[1:"x"]
except TypeError as err: print(err)
try: "abc"[10]
except IndexError as err: print(err)
m = [[0] * 2 for _ in range(2)]; m[0][0] = 1; print(m)
n = [[0] * 2] * 2; n[0][0] = 1; print(n)
