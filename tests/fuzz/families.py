"""Random programs on the doors through which scripts have broken out: classes that a program makes, formats of
subclasses, what exceptions carry, states, objects given to a library; and mixtures of the known attacks.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random

from tests.fuzz import mutate

ESCAPES = Path(__file__).resolve().parents[1] / "attacks" / "escapes"
NAMES = """__class__ __dict__ __getattribute__ __getattr__ __slots__ __init__ __new__ __module__ __qualname__
    __globals__ __reduce__ __reduce_ex__ __array_interface__ __array__ __index__ __float__ __call__ __format__
    __set_name__ __init_subclass__ __mro_entries__ __prepare__ __annotations__ __doc__ __eq__ __hash__ __iter__
    __len__ __subclasshook__ __instancecheck__ __torch_function__ __deepcopy__ __copy__ __setstate__ __getstate__
    __del__ __get__ __set__ x name value _value_ _missing_ _name_ ufunc args with_traceback __traceback__
    __context__ tb_frame obj gi_frame __self__ __func__ __wrapped__ __code__ __closure__ __builtins__ __loader__
    __spec__ __base__ __bases__ __mro__""".split()  # noqa: SIM905
VALUES = """0 1 -1 'a' '__class__' None True [] {} () A a A() E e S s S('x') f torch nn np opt sched t n 1.5 object type
    (lambda *k,**w:t) {'__class__':f} {'ones':1} E.A D D(1) err Exception print vars super str int dict""".split()  # noqa: SIM905
START = """import torch, enum, dataclasses, copy, collections, types
import torch.nn as nn
import numpy as np
from enum import Enum, StrEnum, IntEnum
from dataclasses import dataclass, field
t = torch.ones(2, 3, requires_grad=True)
n = np.ones(3)
def f(*a, **k): return a[0] if a else k
class A:
    x = 1
class E(Enum):
    A = 1
class S(StrEnum):
    x = 'a{0}'
@dataclass
class D:
    x: int = 1
a, e, s, err = A(), E.A, S.x, ValueError('v')
net = nn.Linear(3, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
sched = torch.optim.lr_scheduler.StepLR(opt, 1)
"""
LOADED = """import torch.distributions as d, torch.nn.functional as F
import math, random, re, argparse, json, itertools, functools
torch.ones(2, requires_grad=True).sum().backward()
"""
BASES = """ A E S D Enum StrEnum IntEnum str int dict list tuple Exception nn.Module object type t torch
    torch.autograd.Function collections.OrderedDict""".split()  # noqa: SIM905
OBJECTS = "a e s err net opt sched t n A E S D f torch nn np copy types x".split()  # noqa: SIM905
CALLS = """torch.zeros(3).fill_ torch.where torch.clamp torch.full torch.tensor torch.as_tensor np.array np.asarray
    np.full net.load_state_dict opt.load_state_dict sched.load_state_dict sched.__class__.load_state_dict nn.Linear
    torch.histogram torch.xlogy copy.copy copy.deepcopy dataclasses.replace dataclasses.asdict E S D type super
    getattr setattr vars str.format format '{0.x}'.format '{0[x]}'.format '{0.__class__}'.format S.x.format
    types.SimpleNamespace collections.namedtuple collections.OrderedDict torch.add nn.functional.threshold
    opt.add_param_group np.sum torch.stack sum max sorted map isinstance issubclass Enum enum.Enum
    dataclasses.make_dataclass""".split()  # noqa: SIM905


def value(rng: Random, depth: int = 0) -> str:
    kind = rng.randrange(8)
    if depth > 2 or kind < 4:
        return rng.choice(VALUES)
    inner = value(rng, depth + 1)
    if kind == 4:
        return f"{rng.choice(OBJECTS)}.{rng.choice(NAMES)}"
    if kind == 5:
        return f"{rng.choice(CALLS)}({inner})"
    if kind == 6:
        return f"types.SimpleNamespace(**{{{rng.choice(NAMES)!r}: {inner}}})"
    return rng.choice((f"({inner},)", f"[{inner}]", f"{{{rng.choice(NAMES)!r}: {inner}}}", f"getattr({inner}, 'x', 0)"))


def class_of(rng: Random) -> list[str]:
    """A class of random bases, decorators, fields and special names."""
    bases = ", ".join(rng.choice(BASES) for _ in range(rng.choice((0, 1, 1, 2)))).strip(", ")
    keyword = rng.choice(("", "", "", f"metaclass={value(rng)}", f"{rng.choice(NAMES)}=1"))
    inside = ", ".join(part for part in (bases, keyword) if part)
    lines = [rng.choice(("", "", "@dataclass", "@dataclass(slots=True)", f"@{rng.choice(OBJECTS)}", "@enum.unique"))]
    lines.append(f"class A({inside}):" if inside else "class A:")
    for _ in range(rng.randint(1, 4)):
        name = rng.choice(NAMES)
        lines.append(
            "    "
            + rng.choice(
                (
                    f"{name} = {value(rng)}",
                    f"{name}: {value(rng)} = {value(rng)}",
                    f"{name}: int",
                    f"def {name}(self, *a, **k): return {value(rng)}",
                    f"__slots__ = ({name!r}, {rng.choice(NAMES)!r})",
                    f"__annotations__ = {{{name!r}: {value(rng)}}}",
                    f"@property\n    def {name}(self): return {value(rng)}",
                    f"@classmethod\n    def {name}(cls, *a): return {value(rng)}",
                )
            )
        )
    return [line for line in lines if line]


def statement(rng: Random) -> list[str]:
    arguments = ", ".join(value(rng) for _ in range(rng.randint(0, 3)))
    named = f", {rng.choice(NAMES).strip('_')}={value(rng)}" if rng.random() < 0.3 and arguments else ""
    owner, name = rng.choice(OBJECTS), rng.choice(NAMES)
    text = rng.choice(
        (
            f"x = {rng.choice(CALLS)}({arguments}{named})",
            f"x = {owner}.{name}",
            f"x = {owner}.{name}({arguments})",
            f"{owner}.{name} = {value(rng)}",
            f"setattr({owner}, {name!r}, {value(rng)})",
            f"print(x, '{{0.{name}}}'.format({owner}), f'{{{owner}.{name}}}')",
            f"x = A({arguments})",
            f"x = E({value(rng)}, names={value(rng)}, module={value(rng)})",
            f"x = type('B', ({value(rng)},), {{{name!r}: {value(rng)}}})",
            f"del {owner}.{name}",
            f"x = {value(rng)}[{value(rng)}]",
            f"x = {value(rng)} % {value(rng)}",
        )
    )
    return [f"try: {text}", "except BaseException as err: print(err, err.args)"]


def make(rng: Random) -> str:
    lines: list[str] = []
    for _ in range(rng.randint(2, 6)):
        if rng.random() < 0.35:
            lines += ["try:", *(f"    {part}" for line in class_of(rng) for part in line.split("\n"))]
            lines += ["    a = A()", "except BaseException as err: x = err"]
        else:
            lines += statement(rng)
    return START + "\n".join(lines) + "\n"


@cache
def attacks() -> list[str]:
    from tests.attacks.canaries import read_cases

    return [case.text for path in sorted(ESCAPES.glob("*.txt")) for case in read_cases(path)]


def attack(rng: Random) -> str:
    """A known attack, or several of them cut and mixed, with the port where nobody listens."""
    return mutate.text(rng, attacks(), NAMES, 3000).replace("@PORT@", "9")
