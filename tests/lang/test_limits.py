"""Budgets: every limit has its message, and no program catches or delays one."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import pytest

from gradtrace import lang
from gradtrace.errors import BudgetError
from gradtrace.lang import Budget
from gradtrace.lang.dialogue import Dialogue
from gradtrace.limits import BY_FIELD, LIMITS


def stopped(text: str, budget: Budget) -> tuple[BudgetError, str]:
    """The limit that a program reaches, and what it has printed until then."""
    out = io.StringIO()
    with pytest.raises(BudgetError) as raised:
        lang.run(lang.parse(text, "p.py"), stdout=out, budget=budget)
    return raised.value, out.getvalue()


LONG = Budget(steps=20_000)
WITHOUT_END = [
    "while True: pass",
    "while 1:\n    x = 1",
    "for i in range(10**15): pass",
    "for i in range(10**15):\n    if i < 0: break",
    "[i for i in range(10**15)]",
    "sum(i for i in range(10**15))",
    "{i: i for i in range(10**15)}",
    "sum(range(10**15))",
    "max(range(10**15))",
    "import itertools\nfor i in itertools.count(): pass",
    "import itertools\nlist(itertools.count())",
    "import itertools\nlist(itertools.repeat(1))",
    "import itertools\nset(itertools.cycle([1]))",
    "import itertools\nlist(itertools.product(range(1000), repeat=5))",
    "import itertools\n1 in itertools.repeat(0)",
    "import itertools\nlist(zip(itertools.count(), itertools.count()))",
    "list(iter(int, 1))",
    "import tensorflow as tf\nx = tf.while_loop(lambda s: s < 9.0, lambda s: (s * 0.5,), [tf.constant(1.0)])\n"
    "tf.Session().run(x)",
    "def f(): f2()\ndef f2(): pass\nwhile True: f()",
    "def f(n):\n    while True:\n        n += 1\nf(1)",
    "class A:\n    def __iter__(self): return self\n    def __next__(self): return 1\nlist(A())",
    "class A:\n    def __getitem__(self, i): return i\nlist(A())",
    "while True:\n    try:\n        1 / 0\n    except ZeroDivisionError:\n        pass",
    "f = lambda: f()\ndef g():\n    while True:\n        try: f()\n        except RecursionError: pass\ng()",
    "x = [1]\nfor i in x: x.append(1)",
    "any(False for _ in iter(int, 1))",
    "import re\nre.sub('a', str, 'a' * 10**5)",
    "import re\nre.sub('a', lambda m: '', 'a' * 10**5)",
    "import time\ntime.strftime('%A' * 10**5)",
]


@pytest.mark.parametrize("text", WITHOUT_END)
def test_steps(text: str) -> None:
    error, _ = stopped(text, LONG)
    assert error.message == "the program took more than 20000 steps"
    assert "--max-steps" in error.hint and "GRADTRACE_MAX_STEPS" in error.hint
    assert error.place is not None


SMALL = Budget(steps=1_000_000, memory_bytes=1_000_000)
LARGE = [
    "list(range(10**15))",
    "sorted(range(10**15))",
    "tuple(range(10**9))",
    "'a' * 10**7",
    "10**7 * 'a'",
    "[0] * 10**6",
    "(0,) * 10**6",
    "x = 'a'\nwhile True: x += x",
    "x = 'a'\nwhile True: x = x + x",
    "x = [1]\nwhile True: x += x",
    "x = [1]\nwhile True: x *= 2",
    "import math\n2 ** 10**9",
    "import math\n10 ** 10 ** 10",
    "import math\n1 << 10**9",
    "x = 3\nwhile True: x *= x",
    "x = 3\nwhile True: x = x * x",
    "import math\npow(7, 10**9)",
    "'a'.ljust(10**7)",
    "'a'.center(10**7)",
    "'5'.zfill(10**7)",
    "f'{1:>10000000}'",
    "w = 10**7\nf'{1:{w}}'",
    "'{:10000000}'.format(1)",
    "'{:{}}'.format(1, 10**7)",
    "'%10000000d' % 1",
    "'%*d' % (10**7, 1)",
    "format(1, '10000000')",
    "('a' * 10**4).replace('a', 'b' * 10**4)",
    "('x' * 10**5).join(['a'] * 10**4)",
    "('\\t' * 1000).expandtabs(10**6)",
    "import math\nmath.factorial(10**7)",
    "import math\nmath.comb(10**9, 5 * 10**8)",
    "import operator\noperator.mul('a', 10**7)",
    "import functools, operator\nfunctools.reduce(operator.mul, [10**1000] * 5000)",
    "import random\nrandom.getrandbits(10**9)",
    "import re\nre.sub('(a*)', r'\\1' * 100, 'a' * 10**5)",
    "import re\nre.sub('(?=(a*))', r'\\g<1>', 'a' * 2000)",
    "import re\nre.compile('(a*)').subn(repl=r'\\1' * 100, string='a' * 10**5)",
    "import re\nre.match('(a*)', 'a' * 10**5).expand(r'\\1' * 100)",
    "import re\nre.sub('a', lambda m: 'x' * 1000, 'a' * 10**4)",
]


@pytest.mark.parametrize("text", LARGE)
def test_memory(text: str) -> None:
    error, _ = stopped(text, SMALL)
    assert "is larger than 1000000" in error.message or "steps" in error.message
    assert "--max-" in error.hint


@pytest.mark.parametrize(
    "text",
    [
        "while True: print('x' * 99)",
        "print('x' * 2000)",
        "import sys\nsys.stderr.write('x' * 2000)",
        "print('é' * 600)",
    ],
)
def test_output(text: str) -> None:
    error, said = stopped(text, Budget(output_bytes=1000))
    assert error.message == "the program wrote more than 1000 bytes" and "--max-output" in error.hint
    assert len(said.encode()) <= 1000


@pytest.mark.parametrize(
    "text", ["while True: pass", "import time\ntime.sleep(1000)", "def f():\n    while True: pass\nf()"]
)
def test_seconds(text: str) -> None:
    error, _ = stopped(text, Budget(seconds=0.05))
    assert "0.05 s" in error.message and "--max-seconds" in error.hint


# Each runs a loop without end where LOOP stands.
ESCAPES = [
    "try: LOOP\nexcept: print('caught')",
    "try: LOOP\nexcept Exception: print('caught')",
    "try: LOOP\nexcept BaseException as err: print('caught')",
    "try: LOOP\nfinally: print('late')",
    "class A:\n def __enter__(self): pass\n def __exit__(self, *a):\n  print('late')\n  return True\nwith A(): LOOP",
    "def f():\n try: LOOP\n finally: return 1\nf()",
    "class A:\n def __eq__(self, other): LOOP\ntry: A() in [1]\nexcept: print('caught')",
    "class A:\n def __repr__(self): LOOP\ntry: print(A())\nexcept: print('caught')",
    "class A:\n @property\n def p(self): LOOP\nhasattr(A(), 'p')\nprint('late')",
    "class A:\n def __getattr__(self, name): LOOP\ngetattr(A(), 'p', 1)\nprint('late')",
    "def key(x): LOOP\ntry: sorted([1, 2], key=key)\nexcept: print('caught')",
    "import torch\nx = torch.ones(1, requires_grad=True)\ndef hook(g): LOOP\nx.register_hook(hook)\n"
    "try: x.sum().backward()\nexcept: print('caught')",
    "import torch\nclass M(torch.nn.Module):\n def forward(self, x): LOOP\ntry: M()(1)\nexcept: print('caught')",
]


@pytest.mark.parametrize("text", ESCAPES)
def test_no_program_catches_a_limit(text: str) -> None:
    error, said = stopped(text.replace("LOOP", "[0 for _ in iter(int, 1)]"), LONG)
    assert "steps" in error.message and said == ""


def test_an_object_of_an_earlier_program_charges_the_program_that_uses_it() -> None:
    talk = Dialogue("note", Budget(steps=10_000))
    defined = "import re\nfrom collections import deque\npattern, queue = re.compile('a'), deque(range(10_000))"
    talk.run(talk.parse(defined + "\nmany = 100_000"), stdout=None, stderr=None)
    for text in (
        "pattern.findall('a' * 10 * many)",
        "pattern.sub('b', 'a' * 10 * many)",
        "queue.count(many)\n" * 20,
    ):
        with pytest.raises(BudgetError, match="steps"):
            talk.run(talk.parse(text), stdout=None, stderr=None)
    talk.run(talk.parse("pattern.findall('aa')"), stdout=None, stderr=None)


def test_call_depth() -> None:
    out = io.StringIO()
    text = "def f(n):\n    return 0 if n == 0 else 1 + f(n - 1)\nprint(f({}))"
    lang.run(lang.parse(text.format(990)), stdout=out)
    assert out.getvalue() == "990\n"
    text = "def f(n): return f(n + 1)\ntry: f(0)\nexcept RecursionError: print('deep')"
    lang.run(lang.parse(text), stdout=out, budget=Budget(call_depth=50))
    assert out.getvalue() == "990\ndeep\n"


@pytest.mark.parametrize(
    "text",
    [
        "class A:\n    def __add__(self, other): return self + other\nA() + 1",
        "class A:\n    def __repr__(self): return repr(self)\nrepr(A())",
        "class A:\n    def __eq__(self, other): return self == other\nA() == A()",
        "def f(x): return sorted([1, 2], key=f)\nf(1)",
        "class A:\n    def __getattr__(self, name): return getattr(self, name + 'x')\nA().y",
        "def f(*a, **k): return f(*a, **k)\nf()",
        "f = lambda x: list(map(f, [x]))\nf(1)",
        "x = []\nfor _ in range(200000): x = [x]\nrepr(x)",
        "it = iter([1])\nfor _ in range(100000): it = (x for x in it)\nnext(it)",
        "it = [1]\nfor _ in range(100000): it = map(abs, it)\nnext(it)",
        "x = {}\nfor _ in range(200000): x = {1: x}\nrepr(x)",
        "x = y = []\nfor _ in range(200000): x, y = [x], [y]\nx == [y]",
        "import copy\nx = []\nfor _ in range(200000): x = [x]\ncopy.deepcopy(x)",
        "import itertools\nit = [1]\nfor _ in range(100000): it = itertools.chain(it)\nnext(it)",
    ],
)
def test_deep_recursion_is_an_exception(text: str) -> None:
    out = io.StringIO()
    lines = "\n".join("    " + line for line in text.split("\n"))
    lang.run(lang.parse(f"try:\n{lines}\nexcept RecursionError:\n    print('deep')"), stdout=out)
    assert out.getvalue() == "deep\n"


def test_the_list_of_limits_is_whole() -> None:
    assert {*BY_FIELD, "allow_write", "allow_import", "allow_read", "arguments"} == set(Budget._fields)
    assert all(limit.variable == "GRADTRACE_" + limit.flag[2:].upper().replace("-", "_") for limit in LIMITS)


def test_ordinary_programs_stay_within() -> None:
    budget = Budget(steps=2_000, memory_bytes=10_000, output_bytes=100)
    text = "s = 0\nfor i in range(1500):\n    s += i\nx = 'a' * 5000\ny = 2 ** 100\ns"
    run = lang.run(lang.parse(text), budget=budget)
    assert run.root == 1500 * 1499 // 2


PRODUCTS = {
    "mm": ("torch.ones(10, 20) @ torch.ones(20, 30)", 12_000),
    "mv": ("torch.ones(10, 20) @ torch.ones(20)", 400),
    "bmm": ("torch.ones(5, 10, 20) @ torch.ones(5, 20, 30)", 60_000),
    "einsum": ("torch.einsum('ij,jk->ik', torch.ones(10, 20), torch.ones(20, 30))", 12_000),
    "linear": ("torch.nn.functional.linear(torch.ones(10, 20), torch.ones(30, 20))", 12_000),
    "conv": ("torch.nn.functional.conv2d(torch.ones(2, 3, 8, 8), torch.ones(4, 3, 3, 3))", 2 * 108 * 72),
    "transposed": ("torch.nn.functional.conv_transpose1d(torch.ones(2, 3, 8), torch.ones(3, 4, 5))", 2 * 60 * 16),
    "groups": ("torch.nn.functional.conv1d(torch.ones(1, 4, 8), torch.ones(4, 2, 3), groups=2)", 2 * 24 * 6),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_the_operations_of_a_product_are_counted_before_it_starts(name: str) -> None:
    text, flops = PRODUCTS[name]
    program = lang.parse(f"import torch\ny = {text}")
    lang.run(program, budget=Budget(flops=flops))
    with pytest.raises(BudgetError, match="operations"):
        lang.run(program, budget=Budget(flops=flops - 1))


def test_backward_counts_its_products() -> None:
    text = "import torch\nw = torch.ones(10, 20, requires_grad=True)\n(w @ torch.ones(20, 30)).sum().backward()"
    lang.run(lang.parse(text), budget=Budget(flops=24_000))
    with pytest.raises(BudgetError, match="operations"):
        lang.run(lang.parse(text), budget=Budget(flops=23_999))


TRIED = """
import contextlib, sys
from gradtrace import lang
from gradtrace.errors import BudgetError
from gradtrace.lang import watchdog
from gradtrace.limits import Budget

watchdog.guard(lambda error: 7)
text = "import torch\\nx = torch.linalg.svd(torch.ones(SIZE, SIZE))[0]\\nprint(x[0, 0])\\n"
lang.run(lang.parse(text.replace("SIZE", "2")))  # imports are done before the clock starts
program = lang.parse(text.replace("SIZE", "1500"))
try:
    with watchdog.patient() if "tried" in sys.argv else contextlib.nullcontext():
        lang.run(program, budget=Budget(seconds=0.2))
except BudgetError as error:
    print(error)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the watchdog is for Unix")
@pytest.mark.parametrize("how, code", [("tried", 0), ("run", 7)])
def test_only_a_run_that_is_tried_lets_the_process_go_on_after_a_long_native_call(how, code):
    one_thread = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # several take longer beside other tests
    done = subprocess.run([sys.executable, "-c", TRIED, how], capture_output=True, text=True, env=one_thread)
    assert done.returncode == code, done.stderr
    assert ("the program ran longer than 0.2 s" in done.stdout) == (how == "tried")
