"""Parsing: syntax errors are Python's, with their places, and no text ends the process."""

from __future__ import annotations

import ast
import time

import pytest

from gradtrace.errors import GradtraceError, ParseError
from gradtrace.limits import Budget
from gradtrace.program.grammar import is_expression
from gradtrace.program.parse import parse

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
    with pytest.raises(ParseError) as ours:
        parse(text, "p.py")
    with pytest.raises(SyntaxError) as theirs:
        compile(text, "p.py", "exec")
    assert ours.value.message == f"syntax error: {theirs.value.msg}"
    assert ours.value.hint
    assert ours.value.place is not None and ours.value.place.line == theirs.value.lineno


@pytest.mark.parametrize(
    "text",
    [
        "async def f(): pass",
        "try: pass\nexcept* ValueError: pass",
        "x = b'a' + 2j",
        "class A(**{}): pass",
        "class A:\n    def __reduce__(self): pass",
        "import os, subprocess\nos.system('true')",
        "f = lambda *a, **k: (yield)",
        "with open('x') as f, g() as h: pass",
        "x: Unknown = 1",
        "del x",
        "global x\nx = 1",
        "print(f'{x!r:>{n}}')",
        "match x:\n    case {'k': [a, *b], **c} if a: pass",
    ],
)
def test_every_construct_of_python_is_a_program(text: str) -> None:
    assert not is_expression(parse(text).tree)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 500 + ")" * 500,
        "[" * 500,
        "-" * 50_000 + "1",
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
    ],
    ids=lambda text: repr(text[:12]),
)
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(GradtraceError) as raised:
        parse(text, budget=Budget(source_bytes=10_000_000))
    assert raised.value.message


@pytest.mark.parametrize(
    "text", ["a" + ".b" * 3000, "+".join(["x"] * 3000), "sin(" * 90 + "x" + ")" * 90]
)
def test_long_chains_are_read_in_linear_time(text: str) -> None:
    start = time.process_time()
    assert is_expression(parse(text).tree)
    assert time.process_time() - start < 2


@pytest.mark.parametrize("text", ["\0", "x = '\0'", "x = '\ud800'", "\ud800", "# \0"])
def test_what_is_no_text(text: str) -> None:
    with pytest.raises(ParseError) as raised:
        parse(text)
    assert "not text" in raised.value.message


def test_the_place_of_a_nul_character() -> None:
    with pytest.raises(ParseError) as raised:
        parse("x = 1\nλ = '\0'")
    assert raised.value.place is not None and raised.value.place[1:3] == (2, 6)


def test_line_ends_and_byte_order_marks_are_python_s() -> None:
    assert parse("\ufeffx = 1\r\ny = 2\r").source.text == "x = 1\ny = 2\n"
    assert ast.unparse(parse("x = 1;").tree) == "x = 1"


def test_larger_than_the_limit() -> None:
    with pytest.raises(ParseError) as raised:
        parse("é" * 60, budget=Budget(source_bytes=100))
    assert "--max-source" in raised.value.hint and "GRADTRACE_MAX_SOURCE" in raised.value.hint


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("2x", "write 2*x"),
        ("sin x", "write sin(x)"),
        ("|x|", "write abs(x)"),
        ("x²", "write x**2"),
        ("a ? b : c", "write b if a else c"),
        ("x +", "what follows the last sign is missing"),
        ("lambda*x", "give the variable another name"),
    ],
)
def test_hints_for_mathematical_notation(text: str, hint: str) -> None:
    with pytest.raises(ParseError) as raised:
        parse(text)
    assert hint in raised.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "import torch",
        "import torch.nn as nn",
        "from torch import nn",
        "import gradtrace",
        "import math, torch",
    ],
)
def test_imports_of_torch(text: str) -> None:
    assert parse(text).imports_torch and parse(text).imports(
        "gradtrace" if "gradtrace" in text else "torch"
    )


def test_other_imports() -> None:
    program = parse("import math\nfrom functools import partial")
    assert (
        not program.imports_torch and program.imports("functools") and not program.imports("torch")
    )
