"""Reading: what is refused, where and why; and which names are inputs."""

from __future__ import annotations

import pytest

from gradtrace import lang
from gradtrace.errors import GradtraceError, ParseError, UnsupportedError
from gradtrace.lang import Budget

# What Python refuses in parsing or compiling.
BAD = [
    "x = ",
    "x = (1",
    "x = 1)",
    "if x",
    "def f(:",
    "for in x: pass",
    "1 = x",
    "x +",
    "f(a=1, 2)",
    "'abc",
    "x = 1 2",
    "    x = 1",
    "if 1:\nx",
    "\tx",
    "class: pass",
    "lambda",
    "import",
    "from x import",
    "f'{'",
    "f'{x!z}'",
    "a b",
    "return 1",
    "def f(): pass\nreturn",
    "break",
    "continue",
    "if 1:\n    break",
    "def f():\n    break",
    "while 1:\n    def f():\n        continue",
    "class A:\n    return 1",
    "for i in x:\n    class A:\n        break",
    "def f(a, a): pass",
    "lambda a, a: 1",
    "def f(a, *, a): pass",
    "def f(a, **a): pass",
    "f(a=1, a=2)",
    "nonlocal x",
    "def f():\n    nonlocal x",
    "def f():\n    x = 1\n    global x",
    "def f():\n    print(x)\n    global x",
    "def f(x):\n    global x",
    "def f(x):\n    def g():\n        x = 1\n        nonlocal x",
    "def f():\n    global x\n    nonlocal x",
    "a, *b, *c = x",
    "*a = x",
    "for *a in b: pass",
    "with a as *b: pass",
    "return_ = *a",
    "x = *a or b",
    "a[b:*c]",
    "f(x=*a)",
    "lambda: *a",
    "(*a)",
    "{*a: 1}",
    "*a += 1",
    "print(f'{*a}')",
    "assert *a",
    "del *a",
    "*a",
    "print(*a for a in b)",
    "try: pass\nexcept: pass\nexcept ValueError: pass",
    "def f():\n    from math import *",
    "from __future__ import nothing",
    "x = 1\nfrom __future__ import annotations",
    "def f(a=1, b): pass",
    "f() = 1",
    "del f()",
    "x = yield",
    "None = 1",
    "for x() in y: pass",
    "with x as 1: pass",
    "{1: 2, **3: 4}",
    "f(**a, *b)",
    "def f(*): pass",
    "x: int: str = 1",
    "a if b",
    "[x for x in]",
    "assert",
    "raise from x",
    "else: pass",
    "try: pass",
    "while: pass",
    "not",
    "x = *",
    "@\ndef f(): pass",
    "$",
    "x = 1 if 2",
    "1__0",
    "0777",
    "x.1",
    "é²= 1",
    "[(yield) for x in y]",
    "{(yield): 1 for x in y}",
    "print(i for i in (yield))",
    "class A:\n    yield 1",
    "match x:\n    case _: pass\n    case 1: pass",
    "match x:\n    case a: pass\n    case 1: pass",
    "match x:\n    case [*a, *b]: pass",
    "match x:\n    case a | 1: pass",
    "match x:\n    case (a, a): pass",
    "match x:\n    case A(b=1, b=2): pass",
    "match x:\n    case {'k': a, **a}: pass",
]


@pytest.mark.parametrize("text", BAD)
def test_syntax_errors_are_pythons(text: str) -> None:
    with pytest.raises(GradtraceError) as ours:
        lang.parse(text, "p.py")
    with pytest.raises(SyntaxError) as theirs:
        compile(text, "p.py", "exec")
    if isinstance(ours.value, UnsupportedError):
        assert "yield" in text
        return
    assert isinstance(ours.value, ParseError)
    assert ours.value.message == f"syntax error: {theirs.value.msg}"
    assert ours.value.hint
    assert ours.value.place is not None and ours.value.place.line == theirs.value.lineno


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("def f():\n    async def g(): pass", 2, "'async def'"),
        ("async def f(): pass", 1, "'async def'"),
        ("async def f():\n    await x", 1, "'async def'"),
        ("try: pass\nexcept* ValueError: pass", 1, "'except*'"),
        ("x = b'a'", 1, "bytes"),
        ("x = 1\ny = 2j", 2, "complex numbers"),
        ("class A(**{}): pass", 1, "** in a class statement"),
        ("class A:\n    def __reduce__(self): pass", 2, "'__reduce__'"),
        ("class A:\n    def __getattribute__(self, n): pass", 2, "'__getattribute__'"),
    ],
)
def test_what_the_language_leaves_out(text: str, line: int, what: str) -> None:
    with pytest.raises(UnsupportedError) as raised:
        lang.run(lang.parse(text, "p.py"))
    assert what in raised.value.message and raised.value.hint
    assert raised.value.place is not None and raised.value.place.line == line


@pytest.mark.parametrize(
    "text",
    [
        "(" * 500 + ")" * 500,
        "[" * 500,
        "-" * 50_000 + "1",
        "not " * 50_000 + "1",
        "a" + ".b" * 50_000,
        "f" + "()" * 50_000,
        "x" + "[0]" * 50_000,
        "**".join(["x"] * 50_000),
        "lambda:" * 50_000 + "1",
        "1 if x else " * 50_000 + "1",
        "if x:\n pass\n" + "elif x:\n pass\n" * 50_000,
        "".join(" " * i + "if x:\n" for i in range(150)) + " " * 150 + "y",
        "{1:" * 500,
        "f'{" * 200,
        "+".join(["x"] * 400_000),
        "a" + ".b" * 3000 + "()" * 3000,
    ],
    ids=lambda text: repr(text[:12]),
)
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(GradtraceError) as raised:
        lang.run(lang.parse(text, budget=Budget(source_bytes=10_000_000)))
    assert raised.value.message


def test_a_long_sum_is_not_deep() -> None:
    assert lang.run(lang.parse("+".join(["1.0"] * 3000))).root == 3000.0
    assert lang.run(lang.parse("x = [" + ", ".join(["1"] * 20_000) + "]\nlen(x)")).root == 20_000
    steps = "x = 0\nif x == 1:\n    pass\n" + "".join(f"elif x == {-n}:\n    y = {n}\n" for n in range(1000))
    assert lang.run(lang.parse(steps)).env["y"] == 0


@pytest.mark.parametrize("text", ["\0", "x = '\0'", "x = '\ud800'", "\ud800", "# \0"])
def test_what_is_no_text(text: str) -> None:
    with pytest.raises(ParseError) as raised:
        lang.parse(text)
    assert "not text" in raised.value.message


@pytest.mark.parametrize("text", ["", "\n", "# nothing", "\ufeffx = 1", "x = 1\r\ny = 2\r", "x = 1;", "pass", "'doc'"])
def test_odd_but_fine(text: str) -> None:
    assert lang.run(lang.parse(text)).root in (None, "doc")


def test_larger_than_the_limit() -> None:
    with pytest.raises(ParseError) as raised:
        lang.parse("é" * 60, budget=Budget(source_bytes=100))
    assert "--max-source" in raised.value.hint and "GRADTRACE_MAX_SOURCE" in raised.value.hint


def names(text: str) -> list[str]:
    return [given.name for given in lang.parse(text).inputs]


@pytest.mark.parametrize(
    ("text", "free"),
    [
        ("(x+w)*(w+1)", ["x", "w"]),
        ("y = sin(x) + pi", ["x"]),
        ("x = 1\nx*w", ["w"]),
        ("w: leaf = 1.0\nx*w", ["w", "x"]),
        ("sum(v for v in x)", ["x"]),
        ("f = lambda a: a*k\nf(2)", ["k"]),
        ("def f(a, b=c):\n    return a*d\nf(1)", ["c", "d"]),
        ("def f():\n    z = 1\n    return z*z\nz", ["z"]),
        ("[i*s for i in range(n)]", ["s", "n"]),
        ("f(2)", []),
        ("def f():\n    global g\n    g = 1\nf()\ng", []),
        ("import math\nmath.pi*r", ["r"]),
        ("class A:\n    v = q", ["q"]),
        ("try:\n    x\nexcept ValueError as err:\n    err", ["x"]),
        ("x: data\ny: int = x", ["x"]),
        ("λ*2", ["λ"]),
        ("[y := x, y]", ["x"]),
        ("with no_grad() as m: m", []),
        ("from math import *\nsin(t)", ["t"]),
        ("def f(x: Unknown) -> Other: return x\nf(1)", []),
        ("for i in range(3): s = i\ns", []),
        ("print(torch.pi)", []),
    ],
)
def test_inputs(text: str, free: list[str]) -> None:
    assert names(text) == free


def test_declared_inputs() -> None:
    leaf, data = lang.parse("w: leaf = 1.0 + 2\nx: data = [1,\n  2]\nw*x").inputs
    assert (leaf.name, leaf.kind, leaf.default) == ("w", "leaf", "1.0 + 2")
    assert (data.kind, data.default) == ("data", "[1,\n  2]")


def test_imports_torch() -> None:
    for text in (
        "import torch",
        "import torch.nn as nn",
        "from torch import nn",
        "import gradtrace",
        "import math, torch",
    ):
        assert lang.parse(text).imports_torch
    assert not lang.parse("import math\nfrom functools import partial").imports_torch
