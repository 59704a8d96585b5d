"""What a program raises and nobody catches: one of our errors, with the place where it arose and what to do."""

from __future__ import annotations

import io

import pytest

from gradtrace import lang
from gradtrace.errors import GradtraceError, LanguageError, ProgramError, UnknownNameError, UnsupportedError

DEEP = "def f(n):\n    return 1 + f(n + 1)\nf(0)\n"


def failed(text: str) -> GradtraceError:
    with pytest.raises(GradtraceError) as raised:
        lang.run(lang.parse(text, "p.py"), stdout=io.StringIO())
    return raised.value


def marked(error: GradtraceError) -> tuple[int, str]:
    """The line of the place, and the text that is underlined there."""
    place = error.place
    assert isinstance(place, lang.Place)
    return place.line, place.text[place.column - 1 : place.column - 1 + place.width]


@pytest.mark.parametrize(
    ("text", "line", "under", "message"),
    [
        ("x = 1\ny = x + 'a'\n", 2, "x + 'a'", "TypeError: unsupported operand type(s) for +: 'int' and 'str'"),
        ("def f(a):\n    return a / 0\n\nprint(f(1))\n", 2, "a / 0", "ZeroDivisionError: division by zero"),
        ("l = [1]\nl[3]\n", 2, "l[3]", "IndexError: list index out of range"),
        ("l = [1]\nl[3] = 1\n", 2, "l[3]", "IndexError: list assignment index out of range"),
        ("d = {}\nd['k'] += 1\n", 2, "d['k']", "KeyError: 'k'"),
        ("x = None\nx.y\n", 2, "x.y", "AttributeError: 'NoneType' object has no attribute 'y'"),
        ("x = None\nx.y = 1\n", 2, "x.y", "AttributeError: 'NoneType' object has no attribute 'y'"),
        ("for i in 5:\n    pass\n", 1, "5", "TypeError: 'int' object is not iterable"),
        ("[i for i in 5]\n", 1, "5", "TypeError: 'int' object is not iterable"),
        ("a, b = 1, 2, 3\n", 1, "a, b", "ValueError: too many values to unpack (expected 2)"),
        ("a, b = [1]\n", 1, "a, b", "ValueError: not enough values to unpack (expected 2, got 1)"),
        ("a, b, c = 5\n", 1, "a, b, c", "TypeError: cannot unpack non-iterable int object"),
        ("with 5:\n    pass\n", 1, "5", "TypeError: 'int' object does not support the context manager protocol"),
        ("raise ValueError('no')\n", 1, "raise ValueError('no')", "ValueError: no"),
        ("raise ValueError\n", 1, "raise ValueError", "ValueError"),
        ("assert 1 > 2, 'why'\n", 1, "1 > 2", "AssertionError: why"),
        ("x = [1, 2]\nf'{x:d}'\n", 2, "x", "TypeError: unsupported format string passed to list.__format__"),
        ("def f(a): pass\nf(1, 2)\n", 2, "f(1, 2)", "TypeError: f() takes 1 positional argument but 2 were given"),
        ("class A: pass\nA() < A()\n", 2, "A() < A()", "TypeError: '<' not supported between instances of 'A' and 'A'"),
        ("class A(Exception): pass\nraise A('own')\n", 2, "raise A('own')", "A: own"),
        (
            "def d(f): return f(1)\n@d\ndef g(): pass\n",
            1,
            "f(1)",
            "TypeError: g() takes 0 positional arguments but 1 was given",
        ),
        ("x = 1\ndel x.y\n", 2, "x.y", "AttributeError: 'int' object has no attribute 'y'"),
        ("é = 'ü'; é + 1\n", 1, "é + 1", 'TypeError: can only concatenate str (not "int") to str'),
        ("try:\n    1 / 0\nfinally:\n    x = len([1])\n", 2, "1 / 0", "ZeroDivisionError: division by zero"),
        ("try:\n    1 / 0\nexcept KeyError:\n    pass\n", 2, "1 / 0", "ZeroDivisionError: division by zero"),
        (
            "import torch\nx = torch.ones(2, 3)\nx @ x\n",
            3,
            "x @ x",
            "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)",
        ),
        (
            "import torch\nif torch.ones(2):\n    pass\n",
            2,
            "torch.ones(2)",
            "RuntimeError: Boolean value of Tensor with more than one value is ambiguous",
        ),
    ],
)
def test_place_and_message(text: str, line: int, under: str, message: str) -> None:
    error = failed(text)
    assert isinstance(error, ProgramError) and error.message == message
    assert marked(error) == (line, under)


@pytest.mark.parametrize(
    ("text", "under", "message", "hint"),
    [
        ("import socket\n", "import socket", "the module 'socket' is not available", "available"),
        ("import toch\n", "import toch", "the module 'toch' is not available", "did you mean 'torch'?"),
        ("from torch import relux\n", "from torch import relux", "torch.relux is not available", "nearest: relu"),
        (
            "from . import x\n",
            "from . import x",
            "a script cannot import other files",
            "put all code in one file; or --allow-import DIR",
        ),
        ("import torch\ntorch.reluu\n", "torch.reluu", "torch.reluu is not available", "nearest: relu"),
        ("import math\nmath.sine\n", "math.sine", "math.sine is not available", "nearest: sin"),
        (
            "import os\nos.system('x')\n",
            "os.system",
            "os.system is not available",
            "available",
        ),
        ("input('f')\n", "input", "'input' is not available", "pass its value"),
        ("eval('1')\n", "eval", "'eval' is not available", ""),
        ("prin('x')\n", "prin", "name 'prin' is not defined", "did you mean 'print'?"),
        ("loss = 1\nlos()\n", "los", "name 'los' is not defined", "did you mean 'loss'?"),
        ("'x'.encode()\n", "'x'.encode", "str.encode is not available", ""),
        ("(1).__class__.__mro__\n", "(1).__class__.__mro__", "int.__mro__ is not available", "Python's internals"),
    ],
)
def test_what_is_not_offered(text: str, under: str, message: str, hint: str) -> None:
    error = failed(text)
    assert isinstance(error, UnknownNameError) and error.exit_code == 2
    assert message in error.message and hint in error.hint and error.hint
    assert marked(error)[1] == under


def test_a_misspelt_method_has_a_hint() -> None:
    error = failed("import torch\ntorch.ones(2).summ()\n")
    assert isinstance(error, ProgramError) and "nearest: sum" in error.hint


def test_bases_that_are_not_offered() -> None:
    error = failed("x = 1\nclass A(int):\n    pass\n")
    assert isinstance(error, UnsupportedError) and marked(error) == (2, "int")


def test_refusals_of_modules_can_be_caught() -> None:
    out = io.StringIO()
    text = "try:\n    import socket\nexcept ImportError as err:\n    print(type(err).__name__, err)\n"
    lang.run(lang.parse(text), stdout=out)
    assert out.getvalue() == "ModuleNotFoundError No module named 'socket'\n"


def test_the_cause_is_the_exception_itself() -> None:
    assert isinstance(failed("1 / 0").__cause__, ZeroDivisionError)


def test_the_text_of_an_own_exception_may_fail() -> None:
    text = "class A(Exception):\n    def __str__(self):\n        return 1 / 0\nraise A()\n"
    assert failed(text).message == "A: <exception str() failed>"


def test_deep_recursion() -> None:
    error = failed(DEEP)
    assert isinstance(error, ProgramError)
    assert error.message == "RecursionError: maximum recursion depth exceeded"
    assert "--max-depth" in error.hint and "GRADTRACE_MAX_DEPTH" in error.hint


@pytest.mark.parametrize("status", [3, "'gone'"])
def test_a_status_of_its_own(status: object) -> None:
    with pytest.raises(SystemExit) as raised:
        lang.run(lang.parse(f"import sys\nsys.exit({status})"))
    assert raised.value.code == (status if status == 3 else "gone")


def test_leaving_early_is_no_error() -> None:
    out = io.StringIO()
    lang.run(lang.parse("print(1)\nexit()\nprint(2)"), stdout=out)
    assert out.getvalue() == "1\n"


def test_errors_of_the_language_pass_every_handler() -> None:
    text = "try:\n    class A(int): pass\nexcept Exception:\n    print('caught')\nfinally:\n    print('late')\n"
    out = io.StringIO()
    with pytest.raises(LanguageError):
        lang.run(lang.parse(text), stdout=out)
    assert out.getvalue() == ""
