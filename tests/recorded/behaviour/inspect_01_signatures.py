"""inspect.signature: parameters, defaults of all kinds, and functions that wrap others."""

import functools
import inspect

import torch
from torch import nn


def f(a, b=(1, 2), c=[3], d=torch.float32, *rest, e=None, g=nn.ReLU, **more):
    pass


def wrap(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs)

    return inner


class A:
    def f(self, a, b=[1]):
        pass

    @wrap
    def g(self, a, b=(1, 2)):
        pass


class B:
    def __init__(self, x, y=[4]):
        pass


def show(called):
    for name, p in inspect.signature(called).parameters.items():
        print(name, p.name, p.kind, "-" if p.default is inspect.Parameter.empty else p.default, p.default is p.empty)


for called in (f, wrap(f), wrap(wrap(f)), A.f, A().f, A.g, A().g, wrap(A().f), B):
    show(called)
print(list(inspect.signature(nn.Linear(2, 2).forward).parameters))
P = inspect.Parameter
print([p.kind == P.VAR_KEYWORD for p in inspect.signature(f).parameters.values()], P.KEYWORD_ONLY)
print([n for n, p in inspect.signature(f).parameters.items() if p.kind in (p.VAR_POSITIONAL, p.KEYWORD_ONLY)], P.empty)
functools.wraps(wrap(f))(f)
try:
    inspect.signature(f)
except ValueError as error:
    print(str(error).split(" <")[0])
