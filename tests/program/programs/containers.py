# Sets, dicts, tuples
print({1, 2} | {3}, {1, 2, 3} - {2}, {1, 2} ^ {2, 3}, {1} <= {1, 2}, {1, 2} > {1}, {1}.isdisjoint({2}), {1, 2}.symmetric_difference([2, 5]), frozenset([1]) | {2}, set() == set(), len({1, 1, 2}))
d = {"a": 1, "b": 2}
print({**d, "a": 9}, d | {"c": 3}, dict(d, z=0), list(d), d.items() >= {("a", 1)}, "a" in d.keys(), 2 in d.values(), {v: k for k, v in d.items()}, dict(zip("xy", [1, 2])), max(d, key=d.get), sorted(d.items(), key=lambda kv: -kv[1]))
d |= {"q": 1}
print(d, d.keys() & {"a"}, d.get("nope"), d.setdefault("n", 5), d.pop("n"))
for k, v in sorted(d.items()): print(k, v, end=";")
print()
nested = {"x": {"y": [1, {"z": 2}]}}
print(nested["x"]["y"][1]["z"], len(nested), list(nested["x"]))
del nested["x"]["y"][0]
print(nested, bool({}), {}.get("a", "d"), {1: "int", 1.0: "float", True: "bool"}, {(1, 2): 3}[1, 2])
t = (1, [2])
t[1].append(3)
print(t, t + (4,), t * 2, t[-1], (1,) + (), () == (), (1, 2) < (1, 2, 3), tuple("ab"), len(()))
try: t[1] += [5]
except TypeError as err: print(err, t)
