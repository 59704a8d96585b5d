"""Attributes: nothing leads out of the language, what the tool provides is frozen, and what scripts need is there."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from gradtrace import lang
from gradtrace.errors import GradtraceError, ProgramError, UnknownNameError

IMPORTS = (
    "import torch, math, functools, collections, random, sys, warnings, itertools, copy, time, typing, operator\n"
    "import numpy as np\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
    "x = torch.ones(2, requires_grad=True)\nlin = nn.Linear(2, 1)\nopt = torch.optim.SGD(lin.parameters(), lr=0.1)\n"
    "def f(a): return a\nclass A:\n    def m(self): return 1\na = A()\ng = (i for i in [1])\n"
)


def run(text: str) -> str:
    out = io.StringIO()
    lang.run(lang.parse(IMPORTS + text), stdout=out)
    return out.getvalue()


INNER = (Path(__file__).parent / "escapes.txt").read_text().splitlines()


@pytest.mark.parametrize("text", INNER)
def test_nothing_leads_out(text: str) -> None:
    with pytest.raises((UnknownNameError, ProgramError)) as raised:
        run(text)
    assert "is not available" in raised.value.message or "AttributeError" in raised.value.message
    owner, _, name = text.rpartition(".")
    assert run(f"print(hasattr({owner}, '{name}'), getattr({owner}, '{name}', 'none'))") == "False none\n"


@pytest.mark.parametrize("text", [t for t in INNER if not t.startswith(("super", "(", "'", "ValueError"))])
def test_nor_by_format(text: str) -> None:
    owner, _, name = text.rpartition(".")
    with pytest.raises(GradtraceError):
        run(f"print('{{x.{name}}}'.format(x={owner}))")
    with pytest.raises(GradtraceError):
        run(f"print('{{0.{name}:{{1}}}}'.format({owner}, 5))")


@pytest.mark.parametrize(
    "text",
    [
        "type('B', (), {})",
        "type(type(1))('B', (), {})",
        "type(f)('n', 'q', None, print)",
        "type(g)()",
        "type(print)()",
        "a.__class__.__class__('B', (), {})",
        "type(x.sum().grad_fn)()",
        "type(torch.relu)()",
        "type(math)('os')",
        "type(opt.step)(f, a)",
        "type(len)()",
        "open('f')",
        "eval('1')",
        "exec('1')",
        "__import__('os')",
        "compile('1', '', 'eval')",
        "globals()",
        "locals()",
        "vars(1)",
        "locals()",
        "input()",
        "breakpoint()",
        "memoryview(1)",
        "bytes(1)",
        "__builtins__",
        "super(str, 'x').format",
        "from os import system",
        "from torch import os",
        "import gradtrace.cli",
        "import gradtrace.engine",
        "from gradtrace import lang",
        "import numpy.lib",
        "np.array([['a']])",
        "np.array([a])",
        "np.array([1], dtype='O')",
        "np.zeros(1, 'V99')",
        "np.array([[1]], dtype=object)",
        "np.ones(2)[a]",
        "np.ones(2).astype('object')",
        "np.ones(2) + 'a'",
        "from sys import _getframe",
        "from builtins import open",
    ],
)
def test_what_would_make_or_reach_more(text: str) -> None:
    with pytest.raises(GradtraceError):
        run(text)


FROZEN = [
    "torch.x = 1",
    "torch.sum = f",
    "math.pi = 3",
    "nn.Linear = A",
    "torch.Tensor.add = f",
    "torch.nn.Linear.forward = f",
    "int.x = 1",
    "print.x = 1",
    "torch.relu.x = 1",
    "x._data = 1",
    "x.shape = 1",
    "x.is_leaf = False",
    "torch.float32.name = 'a'",
    "del torch.relu",
    "del math.pi",
    "'a'.x = 1",
    "(1).real = 2",
    "[].x = 1",
    "sys.stdout.write = f",
    "torch.Size.numel = f",
    "ValueError.x = 1",
    "a.__class__ = A",
    "a.__dict__ = {}",
    "A.__bases__ = ()",
    "lin._parameters = {}",
    "opt._x = 1",
    "x.sum().grad_fn.origin = 1",
    "torch.no_grad.x = 1",
    "functools.wraps(f)(nn.Linear).__wrapped__",
    "f.__code__ = 1",
]


@pytest.mark.parametrize("text", FROZEN)
def test_what_is_provided_is_frozen(text: str) -> None:
    with pytest.raises(GradtraceError) as raised:
        run(text)
    assert not isinstance(raised.value, ProgramError) or "AttributeError" in raised.value.message


CONTROLS = {
    "print(x.shape, x.dtype, x.requires_grad, x.is_leaf, x.grad, x.T.shape, x.device)": "torch.Size([2]) torch.float32 True True None torch.Size([2]) cpu",
    "print(x.sum().grad_fn.name(), x.sum().grad_fn.next_functions[0][1])": "SumBackward0 0",
    "x.grad = torch.ones(2); x.requires_grad = False; print(x.grad, x.requires_grad)": "tensor([1., 1.]) False",
    "lin.p = 1; lin.weight.requires_grad_(False); lin.bias.data.fill_(2); print(lin.p, lin.bias, lin.training)": "1 Parameter containing:\ntensor([2.], requires_grad=True) True",
    "print(type(lin).__name__, lin.__class__.__name__, isinstance(lin, nn.Module), type(lin) is nn.Linear)": "Linear Linear True True",
    "print(type(x), type(x).__name__, type(x.sum().grad_fn).__name__)": "<class 'torch.Tensor'> Tensor SumBackward0",
    "a.x = 1; a._y = 2; A.z = 3; setattr(a, 'w', 4); print(a.x, a._y, a.z, a.w, a.__dict__)": "1 2 3 4 {'x': 1, '_y': 2, 'w': 4}",
    "f.count = 1; f.count += 1; print(f.count, f.__name__, f.__doc__)": "2 f None",
    "print(type(f), type(print), type(g), type(A), type(None), type(type(1)))": "<class 'function'> <class 'function'> <class 'generator'> <class 'type'> <class 'NoneType'> <class 'type'>",
    "print(opt.param_groups[0]['lr'], len(opt.state), [n for n, _ in lin.named_parameters()])": "0.1 0 ['weight', 'bias']",
    "print(lin._parameters.keys(), x._version, x.sum()._base, lin._get_name())": "dict_keys(['weight', 'bias']) 0 None Linear",
    "print(torch.cuda.is_available(), torch.__version__ >= '2', torch.backends.mps.is_available())": "False True False",
    "n = x.detach().numpy(); n[0] = 5; print(n, n.shape, n.dtype, x[0].item(), torch.from_numpy(n), torch.tensor(n))": "[5. 1.] (2,) float32 5.0 tensor([5., 1.]) tensor([5., 1.])",
    "print('{0.shape} {1.x}'.format(x, (setattr(a, 'x', 1), a)[1]), '%s' % x.shape)": "torch.Size([2]) 1 2",
    "r = torch.max(x.detach(), 0); print(r.values, r.indices, r[0])": "tensor(1.) tensor(0) tensor(1.)",
    "with torch.no_grad() as m, torch.autograd.set_grad_enabled(False): print(torch.is_grad_enabled())": "False",
    "e = ValueError('a', 1); e.extra = 2; print(e.args, e.extra, e.__cause__)": "('a', 1) 2 None",
    "print(functools.partial(f, 1).args, functools.partial(f, 1)(), functools.reduce(operator.add, [1, 2]))": "(1,) 1 3",
}


@pytest.mark.parametrize("text", CONTROLS)
def test_what_scripts_need_is_there(text: str) -> None:
    said = run(text).rstrip("\n")
    assert said.replace("gradtrace.engine.data.tensor.Tensor", "torch.Tensor") == CONTROLS[text]


def test_ctx_keeps_any_name() -> None:
    text = """
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, v):
        ctx.a, ctx.shape, ctx.next, ctx._own, ctx.op = 2.0, v.shape, 'n', 'o', 'p'
        return v * 2
    @staticmethod
    def backward(ctx, grad):
        print(ctx.a, ctx.shape, ctx.next, ctx._own, ctx.op, ctx.needs_input_grad)
        return grad * ctx.a
Twice.apply(x).sum().backward()
print(x.grad)
"""
    assert run(text) == "2.0 torch.Size([2]) n o p (True,)\ntensor([2., 2.])\n"
