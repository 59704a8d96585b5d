"""Inputs: which names of a program are free, by Python's own scopes."""

from __future__ import annotations

import pytest

from gradtrace.program.inputs import Input
from gradtrace.program.parse import parse
from gradtrace.program.source import Span


def names(text: str) -> list[str]:
    return [given.name for given in parse(text).inputs]


@pytest.mark.parametrize(
    ("text", "free"),
    [
        ("(x+w)*(w+1)", ["x", "w"]),
        ("y = sin(x) + pi", ["x"]),
        ("x = 1\nx*w", ["w"]),
        ("w: leaf = 1.0\nx*w", ["w", "x"]),
        ("f(2)", []),
        ("λ*2", ["λ"]),
        ("close - open", ["close", "open"]),
        ("open(x)", ["x"]),
        ("print(torch.pi)", []),
        ("y = z = x; y*z", ["x"]),
        ("a[i, j:k]", ["a", "i", "j", "k"]),
        ("x if c else w", ["x", "c", "w"]),
        ("sum(v for v in x)", ["x"]),
        ("f = lambda a: a*k\nf(2)", ["k"]),
        ("def f(a, b=c):\n    return a*d\nf(1)", ["c", "d"]),
        ("def f():\n    z = 1\n    return z*z\nz", ["z"]),
        ("[i*s for i in range(n)]", ["s", "n"]),
        ("[i for i in a for j in b if i < j + c]", ["a", "b", "c"]),
        ("{k: v for k, v in d}", ["d"]),
        ("def f():\n    global g\n    g = 1\nf()\ng", []),
        (
            "def f():\n    a = 1\n    def g():\n        nonlocal a\n        a = q\n        return a\n    return g",
            ["q"],
        ),
        ("import math\nmath.pi*r", ["r"]),
        ("import os.path as p\nfrom a import b as c\np, c, b", ["b"]),
        ("class A:\n    v = q", ["q"]),
        (
            "class A(B, metaclass=M):\n    v = 1\n    w = v + u\n    def f(self): return v",
            ["B", "M", "u", "v"],
        ),
        ("def f():\n    t = 1\n    class A:\n        x = t\n    return A", []),
        ("try:\n    x\nexcept ValueError as err:\n    err", ["x"]),
        ("x: data\ny: int = x", ["x"]),
        ("y: float = x\ny", ["x"]),
        ("[y := x, y]", ["x"]),
        ("[z := i for i in x]\nz", ["x"]),
        ("def f(x: Unknown, *y: Other) -> Third: return x\nf(1)", []),
        ("@d(k)\n@g\ndef f(): pass", ["k", "g"]),
        ("for i in range(3): s = i\ns, i", []),
        ("with m as (a, b): a\nb", ["m"]),
        (
            "match v:\n    case [p, *r]: p, r\n    case {'k': q, **s}: q, s\n    case C(a=z) as u: z, u",
            ["v", "C"],
        ),
        ("y = x\ndel y", ["x"]),
        ("y += x", ["x"]),
        ("isinstance(x, complex)", ["x"]),
        ("print(open)", ["open"]),
        ("f'{x:{w}}'", ["x", "w"]),
        (
            "def f():\n    while a:\n        yield b\n    async def g():\n        await c",
            ["a", "b", "c"],
        ),
        ("x = " + "1 + " * 300 + "+".join(f"a{i} " for i in range(300)) + "\nfor i in b: i", None),
    ],
)
def test_inputs(text: str, free: list[str] | None) -> None:
    assert names(text) == ([*(f"a{i}" for i in range(300)), "b"] if free is None else free)


def test_a_program_with_imports_needs_no_values() -> None:
    (given,) = parse("import math\nfor i in range(3):\n    y = i*r").inputs
    assert (
        given == Input("r", "free", None, Span(3, 10, 3, 11), optional=True)
        and not given.is_required
    )


def test_declared_inputs() -> None:
    leaf, data = parse("w: leaf = 1.0 + 2\nx: data = [1,\n  2]\nw*x").inputs
    assert (leaf.name, leaf.kind, leaf.default) == ("w", "leaf", "1.0 + 2")
    assert (data.kind, data.default, data.is_required) == ("data", "[1,\n  2]", False)
    assert [given.name for given in parse("w: leaf = 1.0\nfor i in range(n): w*i").inputs] == [
        "w",
        "n",
    ]


def test_a_name_stands_where_it_is_first_used() -> None:
    (given,) = parse("def f():\n    x = 1\n    return x\nλ = 1; y = λ + x\nx").inputs
    assert given.name == "x" and given.span == Span(4, 17, 4, 18)
