# Methods of strings, lists, dicts, sets, tuples, ranges
print("a-b-c".split("-"), " a ".strip(), ",".join(["a", "b"]), "abc".upper(), "abc".replace("b", "x"), "abc".find("c"), "a b".title(), "abc".startswith(("a", "x")), "5".zfill(3), "x".center(5, "*"), "a\tb".expandtabs(4), "abcabc".count("a"), "ABC".lower(), "ab".ljust(4) + "|", "abc".index("b"), "1".isdigit(), "a,b,c".partition(","), "a\nb".splitlines(), "aXb".swapcase(), "abc"[::-1], "abc"[1:], "c" in "abc", "ab" * 2, len("héllo"), "x".rjust(3), "abc".capitalize(), "prefix-a".removeprefix("prefix-"), "ß".casefold(), "a.b".rsplit(".", 1))
l = [3, 1, 2]
l.append(4); l.sort(); print(l, l.pop(), l.index(2), l.count(1)); l.insert(0, 9); l.extend([7]); l.reverse(); l.remove(7); print(l, l.copy(), l[-1], l[1:3], l * 2, l + [1])
l.sort(key=lambda v: -v, reverse=True); print(l); l.clear(); print(l)
d = {"a": 1}
print(d.get("a"), d.get("z", 0), list(d.items()), list(d.keys()), list(d.values()), d.setdefault("b", []), d.pop("a"), d.pop("q", None), d); d.update(c=3); d.update({"e": 5}); print(d, "c" in d, len(d), d | {"z": 1}); print(d.popitem(), dict.fromkeys("ab", 0)); print(sorted(d), list(reversed(d)))
s = {1, 2, 3}
print(s & {2}, s | {5}, s - {1}, s ^ {1, 9}, s.union([7]), s.issubset({1, 2, 3, 4}), 2 in s, len(s), frozenset([1]) < s); s.add(4); s.discard(9); s.remove(1); print(s, sorted(s, reverse=True)); s.update([8]); print(s)
t = (1, 2, 2)
print(t.count(2), t.index(2), t[0], t[::-1], t + (3,), t * 2, (1,) < (2,), hash(t) == hash((1, 2, 2)))
print(range(5)[2], list(range(5, 0, -2)), len(range(0, 10, 3)), 4 in range(5), range(3), range(1, 10, 2).stop, list(range(10))[2:8:3], range(5)[::-1])

print([1] < [2], [1, 2] == [1, 2], (1, 2) < (1, 3), "a" < "b", {1} == {1}, {1: 2} == {1: 2})
print({} < {})

print({**{1: 2}})
print(dict(**{1: 2}))

print(getattr(5, "nope", "default"), hasattr([], "append"), getattr([1], "count")(1))
class A: pass
a = A()
setattr(a, "x", 1)
print(a.x, getattr(a, "x"))
delattr(a, "x")
print(hasattr(a, "x"))
print(a.__dict__, a.__class__, A.__name__, A.__doc__, a.__doc__)
