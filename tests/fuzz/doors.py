"""Random programs for the modules that do much with a stranger's data: generators, figures, `re`, `argparse`.

Each maker returns a small program. `draw` runs one whose plotting calls are recorded, and checks that they are plain.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from contextlib import suppress
from random import Random

from gradtrace.errors import GradtraceError
from gradtrace.lang.words import words
from tests.fuzz import mutate

INNER = ("<module 'os' (", "<module 'os' from", "site-packages", "BuiltinImporter", "<frame at", "<code object")
VALUES = """0 1 -1 2.5 1e308 None True 'a' '' 'x_y' [] [1,2] (1,2) {'a':1} range(3) ... nan [[1,2],[3,4]] print int
    t t.sum() n n[0] (lambda:1) slice(1) '$x^2$' '%s' '%(prog)s' 'out/../a' 10**9 2**70 [None] {1:[2]} '\\n' 'é' f g()
    A() A plt ax re p"""
VALUES_OF = sorted(words(VALUES))
START = """nan = float('nan')
def f(*a, **k): return a[0] if a else k
def g():
    x = yield 1
    yield x
class A: pass
"""
FIGURES = """import matplotlib.pyplot as plt
fig, ax = plt.subplots(2, 2)
r = plt
"""
ARRAYS = """import torch
import numpy as np
t = torch.ones(2, 3)
n = np.ones(3)
"""
PLOTS = sorted(
    words("""plot scatter bar hist imshow contourf title xlabel legend savefig show subplots subplot figure text
    annotate colorbar fill_between errorbar pie boxplot grid xlim xticks close suptitle tight_layout quiver hist2d""")
)
PARTS = sorted(
    words("""xaxis yaxis spines figure canvas title lines patches axes transAxes cm rcParams flat T shape""")
)
STEPS = sorted(words("""send throw close __next__ __iter__ gi_frame __name__"""))
PATTERNS = sorted(
    words(
        r"""a . .* (a+)+ [a-z] [^x] (?P<n>\d+) (?:a|b)* ^ $ \b \w+ \1 (?=a) (?<!b) a{2,3} ( ) [ \ (?i) \d{1000}
        \p x* | é"""
    )
)
FUNCTIONS = sorted(words("match fullmatch search findall finditer sub subn split compile escape"))
OPTIONS = sorted(
    words("""type=int type=float type=f default=1 default='x' nargs='+' nargs='*' nargs=2 nargs=-1 nargs='?'
    required=True choices=[1,2] choices='ab' help='h' help='%(default)s' help='%d' dest='q' dest=''
    metavar='M' metavar=('A','B') const=3 action='store_true' action='count' action='append'
    action='version' action=print version='1' action='store_const'""")
)
WORDS = sorted(words("""--x --y -v -- --x=1 --no 1 2 a -1 --help -h @f --xy é '' --x --"""))
BODIES = """yield 1|yield|x = yield|x = yield x|yield from [1, 2]|yield from g()|return 3|x = (yield 1) + (yield 2)
print((yield 4))|raise ValueError('v')|return|x = [1, (yield 5)]|1 / 0|del x|x = (yield) or (yield 2)|yield x
next(iter([]))|yield from None|assert (yield)|x = f((yield), k=(yield 1))|x = {1: (yield)}|x = f'{(yield)}'"""
BODY = BODIES.replace("\n", "|").split("|")


def some(rng: Random, most: int = 3) -> str:
    return ", ".join(rng.choice(VALUES_OF) for _ in range(rng.randint(0, most)))


def plot(rng: Random) -> str:
    """Calls of plotting functions, with whatever there is."""
    lines = []
    for _ in range(rng.randint(1, 6)):
        owner = rng.choice(("plt", "ax[0, 1]", "ax[1][0]", "fig", "ax.flat[0]", "r", "plt.gca()", "plt.cm", "ax"))
        path = "".join(f".{rng.choice(PARTS)}" for _ in range(rng.choice((0, 0, 0, 1, 2))))
        keyword = rng.choice(("", "", f", c={rng.choice(VALUES_OF)}", f", **{{'lw': {rng.choice(VALUES_OF)}}}"))
        call = f"{owner}{path}.{rng.choice(PLOTS)}({some(rng)}{keyword})".replace("(, ", "(")
        use = rng.choice(
            (f"r = {call}", f"a, b = {call}", f"for i in {call}: r = i", f"print({call} + 1)", f"{call}[0]")
        )
        lines.append(f"try: {use}" if not use.startswith("for") else f"try:\n    {use}")
        lines.append("except Exception as e: r = e")
    return START + (ARRAYS if rng.random() < 0.2 else "") + FIGURES + "\n".join(lines)


def generator(rng: Random) -> str:
    """A generator function of random statements, and uses of it."""
    lines = ["def h(x=0):"]
    indent = "    "
    for _ in range(rng.randint(1, 6)):
        block = rng.choice(("", "", "if x:", "while x:", "for x in [1, 2]:", "try:", "with A():", "match x:"))
        body = rng.choice(BODY)
        if block == "try:":
            end = rng.choice(("except Exception: ", "finally: ", "except: ", "except GeneratorExit: "))
            lines += [f"{indent}try:", f"{indent}    {body}", f"{indent}{end}{rng.choice(BODY)}"]
        elif block == "match x:":
            lines += [f"{indent}match x:", f"{indent}    case {rng.choice(('0', '_', '[a, *b]', 'int(c)'))}: {body}"]
        elif block:
            lines.append(f"{indent}{block} {body}")
        else:
            lines.append(indent + body)
    for _ in range(rng.randint(1, 4)):
        use = rng.choice(
            ("list(h())", "k = h()", "next(k)", f"k.send({some(rng, 1) or 1})", "k.close()", "k.throw(ValueError)",
             "for i in h(1): break", "print(*h())", "sum(h())", f"k.{rng.choice(STEPS)}", "a, *b = h()", "del k",
             "dict(zip(h(), h()))", "k.throw(StopIteration())", "k.throw(GeneratorExit)")
        )  # fmt: skip
        lines += [f"try: {use}" if not use.startswith("for") else f"try:\n    {use}", "except Exception as e: pass"]
    return START + "k = g()\n" + "\n".join(lines)


def expression(rng: Random) -> str:
    """Regular expressions of pieces, on texts of pieces."""
    lines = []
    for _ in range(rng.randint(1, 4)):
        pattern = "".join(rng.choice(PATTERNS) for _ in range(rng.randint(0, 5)))
        text = "".join(rng.choice(("a", "b", "ab", "1", " ", "x", "é")) for _ in range(rng.randint(0, 14)))
        extra = rng.choice(("", "", ", re.I", ", 128", f", {some(rng, 1) or 0}", ", flags=re.X"))
        name = rng.choice(FUNCTIONS)
        replaced = f"{rng.choice(VALUES_OF)}, " if name in ("sub", "subn") else ""
        lines += [f"try: m = re.{name}({pattern!r}, {replaced}{text!r}{extra})", "except Exception as e: m = e"]
        use = rng.choice(
            ("print(m)", "m.groups()", "m.group(1)", "m.span('n')", "m.expand('\\\\1')", "list(m)", "m['n']")
        )
        lines += [f"try: {use}", "except Exception as e: pass"]
    return "import re\ndef f(*a): return 'f'\n" + "\n".join(lines)


def arguments(rng: Random) -> str:
    """Parsers with random arguments, on random words."""
    lines = []
    for _ in range(rng.randint(0, 4)):
        names = ", ".join(rng.sample(("'--x'", "'--y'", "'-v'", "'n'", "'m'", "''", "1", "'--x-y'"), rng.randint(0, 2)))
        how = ", ".join(sorted({rng.choice(OPTIONS) for _ in range(rng.randint(0, 3))}))
        owner = rng.choice(("p", "p", "p.add_argument_group('g')", "p.add_mutually_exclusive_group()"))
        call = ", ".join(part for part in (names, how) if part)
        lines += [f"try: {owner}.add_argument({call})", "except Exception as e: pass"]
    words = [rng.choice(WORDS).strip() for _ in range(rng.randint(0, 4))]
    use = rng.choice(("parse_args", "parse_known_args", "print_help", "format_usage", "set_defaults"))
    given = "" if use not in ("parse_args", "parse_known_args") else repr(words)
    lines += [f"try: print(p.{use}({given}))", "except (Exception, SystemExit) as e: pass"]
    lines += [f"try: q = p.add_subparsers({rng.choice(('', 'dest=1', 'required=True', 'title=None'))}).add_parser('s')"]
    lines += ["except (Exception, SystemExit) as e: pass"]
    return "import argparse\ndef f(*a): return 1\np = argparse.ArgumentParser(prog='p')\n" + "\n".join(lines)


def mutated(make: Callable[[Random], str]) -> Callable[[Random], str]:
    """A maker whose programs are sometimes cut and mixed."""

    def program(rng: Random) -> str:
        text = make(rng)
        return mutate.text(rng, [text], VALUES_OF, 3000) if rng.random() < 0.2 else text

    return program


def run(text: str) -> None:
    """Run a program; its drawings must be plain data, and an ending of any other kind is a crash."""
    from gradtrace import lang
    from gradtrace.lang.figures import Drawings
    from tests.fuzz.targets import TINY

    drawings, out, err = Drawings(), io.StringIO(), io.StringIO()
    with suppress(GradtraceError, SystemExit):
        program = lang.parse(text)
        budget = TINY._replace(allow_write="out", seconds=1.0)
        lang.run(program, {}, budget=budget, stdout=out, stderr=err, drawings=drawings)
    json.loads(json.dumps(drawings.calls))
    printed = out.getvalue() + err.getvalue()
    assert not [word for word in INNER if word in printed and word not in text], printed[-2000:]
