"""Modules and leaves in plain objects, lists, dicts and tuples have the program's path to them as their name."""

import csv
import subprocess
import sys

import pytest

HELD = """
import torch
from collections import namedtuple
from torch import nn
Pair = namedtuple("Pair", "first second")
class Inner:
    def __init__(self):
        self.head = nn.Linear(2, 1)
class Trainer:
    def __init__(self):
        self.net = nn.Linear(2, 2)
        self.layers = [nn.Linear(2, 2), self.net]
        self.parts = {"a": nn.Linear(2, 2)}
        self.pair = Pair(nn.Linear(2, 2), 1)
        self.inner = Inner()
        self.scale = torch.ones(2, requires_grad=True)
        self.data = torch.ones(1, 2)
    def named_modules(self):
        raise RuntimeError("the program's own method")
    def step(self):
        x = self.layers[0](self.net(self.data))
        x = self.pair.first(self.parts["a"](x)) * self.scale
        return self.inner.head(x).mean()
t = Trainer()
models = {"m": nn.Linear(2, 1)}
heads = (nn.Linear(2, 1),)
loss = t.step() + models["m"](t.data).sum() + heads[0](t.data).sum()
loss.backward()
for p in t.net.parameters():
    pass
"""
MODULES = (
    "t.net",
    "t.layers[0]",
    "t.parts['a']",
    "t.pair.first",
    "t.inner.head",
    "models['m']",
    "heads[0]",
)
NAN = """
import torch
from torch import nn
class T:
    def __init__(self):
        self.net = nn.Linear(2, 1)
        with torch.no_grad():
            self.net.weight.fill_(1.0)
            self.net.bias.fill_(0.0)
t = T()
opt = torch.optim.SGD(t.net.parameters(), lr=0.1)
for i in range(3):
    opt.zero_grad()
    loss = (t.net(torch.tensor([[2.0, -2.0]])) * 0).sqrt().mean()
    loss.backward()
    opt.step()
"""
UNNAMED = """
import torch
from torch import nn
class A(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
    def forward(self, x):
        return self.layer(x)
def f(x):
    net = A()
    return net(x) + nn.ReLU()(torch.ones(2))
x = torch.ones(1, 2)
y = f(x).sum()
y.backward()
"""

ODD = """
import torch
from collections import deque
from torch import nn
class Slots:
    __slots__ = ("net", "never")
    def __init__(self, net):
        self.net = net
s = Slots(nn.Linear(1, 1))
q = deque([nn.Linear(1, 1)])
bag = {nn.Linear(1, 1)}
k = {(1, "a"): nn.Linear(1, 1), None: nn.Linear(1, 1), 0.5: nn.Linear(1, 1)}
def f(x):
    local = {"in": nn.Linear(1, 1)}
    return local["in"](x)
x = torch.ones(1, 1)
y = s.net(x) + q[0](x) + sum(m(x) for m in bag) + k[1, "a"](x) + k[None](x) + k[0.5](x) + f(x)
y.sum().backward()
"""
OUTPUT = """
import gradtrace.torch, torch
class Output(dict):  # as those of transformers: items by a method of its own, and attributes
    def __init__(self, state):
        super().__init__(state=state)
        self.state = state
    def __getitem__(self, key):
        return {**self}[key]
with gradtrace.torch.record() as recorded:
    out = Output(torch.ones(2, requires_grad=True))
    (list(dict.values(out))[0] * 3).sum().backward()
print([tensor.label for tensor in recorded.trace().tensors])
"""
FRAME = """
import gradtrace.torch, torch
from torch import nn
def train():
    local = {"in": nn.Linear(1, 1)}
    with gradtrace.torch.record() as recorded:
        local["in"](torch.ones(1, 1)).sum().backward()
    return [tensor.label for tensor in recorded.trace().tensors]
print(train())
"""


def test_each_holder_names_what_it_holds(by_engine):
    rows = by_engine("stats", HELD, "--all", "--format", "csv")
    labels = [row.split(",")[0].strip('"') for row in rows.splitlines()]
    for module in MODULES:
        assert f"{module}.weight" in labels and f"{module}.bias" in labels, labels
    assert "t.scale" in labels and "self.data" in labels
    assert not {"constant", "self", "p", "t.layers[1].weight"} & set(labels)


def test_a_parameter_of_an_object_is_found_by_its_name(by_engine):
    assert by_engine(
        "eval", HELD, "--get", "t.scale.is_leaf", "--get", "t.layers[0].weight.shape"
    ).split() == [
        "True",
        "(2,",
        "2)",
    ]


def test_why_names_the_parameter_with_a_nan(by_engine):
    answer = by_engine("why", NAN)
    assert "t.net.bias.grad is nan" in answer and "constant" not in answer
    assert "t.net" in by_engine("graph", NAN)


def test_a_modules_operands_are_not_its_arguments(by_engine):
    rows = by_engine("stats", UNNAMED, "--all", "--format", "csv")
    labels = [row.split(",")[0] for row in rows.splitlines()]
    assert labels.count("x") == 1 and "self" not in labels
    assert "torch.ones(2)" in labels


def test_what_odd_containers_hold_has_a_name_and_what_none_holds_its_class(by_engine):
    rows = by_engine("stats", ODD, "--all", "--format", "csv")
    labels = [next(csv.reader([row]))[0] for row in rows.splitlines()]
    for module in ("s.net", "q[0]", "list(bag)[0]", "k[(1, 'a')]", "k[None]", "k[0.5]"):
        assert f"{module}.weight" in labels and f"{module}.bias" in labels, labels
    assert labels.count("a parameter of Linear") == 2 and "constant" not in labels


@pytest.mark.slow
@pytest.mark.parametrize("program, name", [(FRAME, "local['in'].weight"), (OUTPUT, "out.state")])
def test_what_a_program_of_its_own_holds_has_a_name(tmp_path, program, name):
    pytest.importorskip("torch")
    (tmp_path / "program.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert name in done.stdout and "constant" not in done.stdout
