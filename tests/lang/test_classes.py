"""Classes, enumerations and exceptions of programs: they work as in Python, and hold nothing of a library."""

from __future__ import annotations

import io

import pytest

from gradtrace import lang
from gradtrace.errors import GradtraceError
from gradtrace.lang import exceptions


def run(text: str) -> str:
    out = io.StringIO()
    lang.run(lang.parse(text), stdout=out)
    return out.getvalue()


CASTING = "import numpy as np\na = np.ones(2, dtype=np.int64)\n"
MEMBERS = "from enum import Enum, IntEnum, StrEnum, Flag, auto\n"
WORKS = {
    "__init_subclass__ as a class or static method": (
        "seen = []\nclass A:\n    @classmethod\n    def __init_subclass__(cls, k=0):\n"
        "        seen.append((cls.__name__, k))\n"
        "class B:\n    @staticmethod\n    def __init_subclass__(k=0):\n        seen.append(k)\n"
        "class C(A, k=3): pass\nclass D(B, k=4): pass\nclass E(B): pass\nclass F(C): pass\nprint(seen)",
        "[('C', 3), 4, 0, ('F', 0)]\n",
    ),
    "members made by __init__": (
        MEMBERS + "class E(Enum):\n    A = (1, 2)\n    def __init__(self, x, y):\n        self.x, self.sum = x, x + y\n"
        "print(E.A.x, E.A.sum, E((1, 2)), E.__members__['A'] is E.A)",
        "1 3 E.A True\n",
    ),
    "members made by __new__": (
        MEMBERS + "class E(Enum):\n    A = 1\n    def __new__(cls, value):\n        self = object.__new__(cls)\n"
        "        self._value_ = value * 10\n        return self\nprint(E.A.value, E(10).name)",
        "10 A\n",
    ),
    "members that are strings": (
        MEMBERS + "class S(StrEnum):\n    A = '{0}-{1.shape}'\nclass T(str, Enum):\n    B = 'b'\n"
        "    def __format__(self, spec): return 'T' + format(self.value, spec)\n"
        "import torch\nprint(S.A.format(1, torch.ones(2)), S.A.upper(), f'{T.B:>3}', T.B + 'c', T.B.join('xy'))",
        "1-torch.Size([2]) {0}-{1.SHAPE} T  b bc xby\n",
    ),
    "members that are numbers": (
        MEMBERS + "class I(IntEnum):\n    A = 3\n    B = auto()\nclass F(Flag):\n    R = auto()\n    W = auto()\n"
        "print(I.A ** 2, I.B.bit_length(), I.A < I.B, F.R | F.W, F.R in F(3), [m.name for m in I])",
        "9 3 True F.R|W True ['A', 'B']\n",
    ),
    "slots": (
        "class A:\n    __slots__ = 'x'\na = A()\na.x = 1\nprint(a.x, A.__slots__, hasattr(a, '__dict__'))",
        "1 ('x',) False\n",
    ),
    "fields are read as a copy": (
        "from dataclasses import dataclass, fields\n@dataclass\nclass A:\n    x: int\n"
        "A.__dataclass_fields__.clear()\nprint(A(1), [f.name for f in fields(A)], list(A.__dataclass_fields__))",
        "A(x=1) ['x'] ['x']\n",
    ),
    "a dataclass that is a module": (
        "from dataclasses import dataclass, asdict, replace\nfrom torch import nn\n@dataclass(eq=False)\n"
        "class M(nn.Module):\n    width: int = 2\n    def __post_init__(self):\n        super().__init__()\n"
        "        self.layer = nn.Linear(self.width, 1)\nprint(M(3).layer, asdict(M(3)), replace(M(3), width=4).width)",
        "Linear(in_features=3, out_features=1, bias=True) {'width': 3} 4\n",
    ),
    "attributes of an exception": (
        "class E(Exception):\n    def __init__(self, code, data):\n        super().__init__(code)\n"
        "        self.data = data\ntry:\n    raise E(3, [print]) from KeyError('k')\nexcept E as e:\n"
        "    print(e.data == [print], e.args, e.__cause__.args, e.__context__)",
        "True (3,) ('k',) None\n",
    ),
    "an exception's own arguments": (
        "try:\n    raise ValueError([print], len)\nexcept ValueError as e:\n    e.note = 1\n"
        "    print(e.args == ([print], len), e.note)\n    try:\n        raise\n    except ValueError as f:\n"
        "        print(f is e, f.note)",
        "True 1\nTrue 1\n",
    ),
    "a key that is missing": (
        "class A: pass\na = A()\nfor key in (a, A, (1, 'x'), float, None):\n    try:\n        {}[key]\n"
        "    except KeyError as e:\n        print(e.args[0] is key, end=' ')",
        "True True True True True ",
    ),
    "fields of Python's exceptions": (
        "import json\ntry:\n    json.loads('{')\nexcept json.JSONDecodeError as e:\n    print(e.pos, e.lineno)\n"
        "def g():\n    yield 1\n    return print\ni = g()\nnext(i)\ntry:\n    next(i)\nexcept StopIteration as e:\n"
        "    print(e.value is print)\ntry:\n    exit(3)\nexcept SystemExit as e:\n    print(e.code)",
        "1 1\nTrue\n3\n",
    ),
    "an exception of numpy": (
        CASTING + "try:\n    a += 0.5\nexcept TypeError as e:\n    print(type(e).__name__, str(e)[:24])\n"
        "    try:\n        raise e\n    except TypeError as f:\n        print(f is e, f.__context__)",
        "TypeError Cannot cast ufunc 'add' \nTrue None\n",
    ),
    "one exception when raised again": (
        CASTING + "try:\n    try:\n        a += 0.5\n    except TypeError as e:\n        e.note, first = 3, e\n"
        "        raise\nexcept TypeError as e:\n    print(e.note, e is first)",
        "3 True\n",
    ),
    "methods of classes": (
        "import torch\nfrom torch import nn\nlayer = nn.Linear(2, 1)\nx = torch.ones(2)\n"
        "print(torch.equal(nn.Linear.forward(layer, x), layer(x)), list(map(torch.Tensor.sum, [x, x]))[0],\n"
        "    nn.Module.state_dict(layer).keys() == layer.state_dict().keys(), torch.Tensor.add is torch.Tensor.add)",
        "True tensor(2.) True True\n",
    ),
}


@pytest.mark.parametrize("name", WORKS)
def test_as_in_python(name: str) -> None:
    text, expected = WORKS[name]
    assert run(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "class A:\n    __slots__ = ['__get__']",
        "class A:\n    __set_name__: int",
        "class A:\n    __annotations__ = [1]",
        "class A:\n    __slots__ = [1]",
        "from enum import Enum\nclass E(Enum): pass\nE('F', 'A')",
        "from enum import Enum\nclass E(Enum): pass\nE()",
        "from enum import Enum\nclass E(Enum):\n    A = 1\nE.A._sort_order_",
        "import torch\nclass P(torch.nn.Parameter): pass",
        "import torch\ntorch.nn.Linear.forward()",
        "import torch\ntorch.nn.Linear.forward(torch.nn.ReLU(), torch.ones(1))",
        "import torch\nsuper(torch.nn.Parameter, torch.nn.Parameter(torch.ones(1))).array",
    ],
)
def test_refused(text: str) -> None:
    with pytest.raises(GradtraceError):
        run(text)


def test_an_exception_of_another_class_is_copied() -> None:
    class Inner(LookupError):
        pass

    known = exceptions.as_known(Inner(print, "x"))
    assert type(known) is LookupError and known.args == (str((print, "x")),)
    assert exceptions.as_known(known) is known


def test_only_plain_arguments_are_kept() -> None:
    plain = ValueError(1, "a", (2.0, None), {"k": [True]})
    assert exceptions.as_known(plain) is plain
    known = exceptions.as_known(ValueError(1, print, [print]))
    assert known.args == (1, str(print), str([print]))
