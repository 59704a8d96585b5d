"""numpy's arrays of strings, compared with strings."""

import numpy as np

a = np.array(["a", "b", "c"])
table = a[np.array([[0, 1], [2, 0]])]
print(a == ["a", "x", "c"], a == ("a", "x", "c"), a == np.array(["a", "x", "c"]), a == "b")
print(a != a, a != "b", a != ["a", "x", "c"], ["a", "x", "c"] == a, "a" != a)
print(a < "b", a >= "b", a <= ["b", "a", "c"], "b" > a)
print(a == ["a"], a[:1] == ["a", "b"], table == "a", table == ["a", "b"], a[:0] == "a")
print("a" in a, "z" in a, a[a != "b"], (a == "a").sum(), np.array(["a\0", "a"]) == "a")
print(type(a) is np.ndarray, isinstance(a, np.ndarray), type(a) is list)
print(repr(np.array(["", ""])), repr(np.array(["ab", ""])[1:]), a[1:].tolist(), a[:1].item(), len(a), a.shape)
for call in (lambda: a == ["a", "b"], lambda: a != np.array(["a", "b"]), lambda: bool(a)):
    try:
        print(call())
    except ValueError as error:
        print(error)
