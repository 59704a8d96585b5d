"""Calls and assignments mean the same whatever form they were compiled to; the same text is run by Python beside."""

from __future__ import annotations

import io

import pytest

import gradtrace
from gradtrace import lang
from gradtrace.errors import GradtraceError

# The same place of the text calls something else on each pass, so that nothing kept from the one before may be used.
CHANGING = """
class Own:
    def sin(self): return "own sin"
    def mul(self, other): return ("own mul", other)
    def add(self, a, b): return ("own add", a, b)
class Other:
    sin = staticmethod(lambda: "static")
def function(): return "function"
x = torch.tensor([0.5], dtype=torch.float64)
own = Own()
for value in [x, x, own, x, None, own, 3, x * 2]:
    try:
        y = value.sin()
        print(y)
    except AttributeError as error:
        print(error)
    try:
        y = value.mul(x)
        print(y)
    except AttributeError as error:
        print(error)
for module in [torch, torch, math, own, torch, math]:
    try:
        y = module.sin(0.5 if module is math else x) if module is not own else own.sin()
        print(y)
    except (AttributeError, TypeError) as error:
        print(error)
for holder in [math, torch, None, math]:
    try:
        y = holder.sqrt(x) if holder is torch else holder.sqrt(4.0)
        print(y)
    except AttributeError as error:
        print(error)
t = Other()
print(t.sin())
t.sin = function
print(t.sin())
print(own.add(1, 2), own.add(*[1, 2]), own.add(a=1, b=2))
f = own.mul
print(f(2))
sin = torch.sin
for sin in [torch.sin, math.sin, function, own.mul]:
    try:
        y = sin(0.5 if sin is math.sin else x)
    except TypeError:
        y = "TypeError"
    print(y)
"""
STORING = """
def f(a, b=2):
    a = a + 1
    a = a * b
    a -= 1
    b = abs(-a)
    c = max(a, b)
    def g():
        nonlocal c
        c = c + 1
        c = abs(c)
        return c
    d = g()
    return a, b, c, d
def h():
    global n
    n = n + 1
    n = abs(n)
    if n > 100:
        return n
    n = n * 10
    return h()
n = -5
print(f(3), f(3, 4), h(), n)
z = 1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9 + 10 + 11 + 12 + 13 + 14 + 15 + 16 + 17 + 18 + 19 + n \\
    + 20 + 21 + 22 + 1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9 + 10 + 11 + 12 + 13 + 14
print(z)
class K:
    a = 1 + 1
    b = abs(-a)
    c = max(a, b)
    d = c - 1
print(K.a, K.b, K.c, K.d)
i = 0
while i < 9:
    i = i + 1
    if i == 3:
        i = abs(-7)
        continue
    i = abs(i)
    if i > 8:
        break
print(i)
"""


def ours(text):
    out = io.StringIO()
    lang.run(lang.parse("import torch, math\n" + text), stdout=out)
    return out.getvalue()


def pythons(text, capsys):
    import math

    exec(compile(text, "<program>", "exec"), {"torch": gradtrace, "math": math})
    return capsys.readouterr().out


@pytest.mark.parametrize("text", [CHANGING, STORING])
def test_as_python(text, capsys):
    assert ours(text) == pythons(text, capsys)


@pytest.mark.parametrize(
    ("text", "marked", "message"),
    [
        ("y = torch.sin(z)", "z)", "name 'z' is not defined"),
        ("y = z.sin()", "z.sin", "name 'z' is not defined"),
        ("x = torch.ones(2)\ny = x.sin().no_such()", "x.sin().no_such", "no attribute 'no_such'"),
        ("x = torch.ones(2)\nfor i in [1, 2]:\n    x = x.reshape(2, i)", "x.reshape(", "shape '[2, 2]' is invalid"),
        ("x = torch.ones(2)\nfor i in range(2):\n    x = x.sin(*[1] * i)", "x.sin(", "sin() takes no arguments"),
        ("def f():\n    y = abs(y)\nf()", "y)", "cannot access local variable 'y'"),
        ("def f():\n    y = y + 1\nf()", "y + 1", "cannot access local variable 'y'"),
    ],
)
def test_errors_of_stored_calls_have_their_place(text, marked, message):
    with pytest.raises(GradtraceError) as caught:
        ours(text)
    assert message in str(caught.value)
    place = caught.value.place
    assert place.text[place.column - 1 :].startswith(marked)
