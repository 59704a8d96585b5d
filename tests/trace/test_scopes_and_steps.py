"""Where operations were called, and backward as it happened."""

import pytest

from gradtrace.program.parse import parse
from gradtrace.program.run import run as run_program
from gradtrace.trace.capture import capture
from gradtrace.trace.keeper import Keeper
from gradtrace.trace.steps import Watch

LOOP = """
import torch
def f(x):
    return x.sin()
h = torch.ones(2, requires_grad=True)
for i in range(2):
    h = f(h + 1)
y = h.sum()
"""


def traced(text, watch=None):
    run = run_program(parse(text, name="s.py"), record=Keeper, watcher=watch)
    return capture(run, watch=watch)


def path(trace, operation):
    """The scopes of an operation, outermost first."""
    found, at = [], trace.operations[operation].scope
    while at is not None:
        scope = trace.scopes[at]
        found.insert(0, (scope.kind, scope.name, scope.turn))
        at = scope.parent
    return found


def test_loops_passes_and_functions():
    trace = traced(LOOP)
    loop = "for i in range(2)"
    assert [o.name for o in trace.operations] == ["add", "sin", "add", "sin", "sum"]
    assert path(trace, 0) == [("loop", loop, None), ("pass", loop, 0)]
    assert path(trace, 3) == [("loop", loop, None), ("pass", loop, 1), ("function", "f", None)]
    assert path(trace, 4) == []
    assert trace.scopes[0].span.line == 6


def test_a_break_and_an_exception_leave_the_scope():
    trace = traced("""
import torch
x = torch.ones(2)
for i in range(3):
    y = x + 1
    break
while True:
    try:
        y = y * 2
        raise ValueError
    except ValueError:
        y = y * 3
        break
z = y - 1
""")
    assert [p[-1:] for p in (path(trace, i) for i in range(4))] == [
        [("pass", "for i in range(3)", 0)],
        [("pass", "while True", 0)],
        [("pass", "while True", 0)],
        [],
    ]


def test_modules_go_by_their_path():
    trace = traced("""
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    def forward(self, x):
        return self.layers(x).sum()
net = Net()
y = net(torch.ones(1, 2))
""")
    assert [(s.name, s.detail) for s in trace.scopes] == [
        ("net", "Net"),
        ("net.layers", "Sequential"),
        ("net.layers.0", "Linear"),
        ("net.layers.1", "ReLU"),
    ]
    assert path(trace, len(trace.operations) - 1) == [("module", "net", None)]


def test_steps_are_the_engines_order_with_what_flowed():
    watch = Watch()
    trace = traced(
        """
import torch
x = torch.tensor(2.0, requires_grad=True)
y1 = x + 1
y2 = 2 * x
loss = (y1 - y2) ** 2
loss.backward()
""",
        watch,
    )
    seen = [
        (trace.functions[s.function].name, s.upstream[0].data, [v and v.data for v in s.downstream])
        for s in trace.steps
    ]
    assert seen == [
        ("PowBackward0", 1.0, [-2.0]),
        ("SubBackward0", -2.0, [-2.0, 2.0]),
        ("MulBackward0", 2.0, [4.0, None]),
        ("AddBackward0", -2.0, [-2.0, None]),
        ("AccumulateGrad", 2.0, []),
    ]
    assert [v and v.data for v in trace.steps[1].local] == [1.0, -1.0]
    assert [s.freed for s in trace.steps] == [True, False, True, False, False]


def test_what_arrives_has_the_shape_of_the_input():
    watch = Watch()
    trace = traced(
        """
import torch
x = torch.ones(4, 3)
w = torch.ones(3, requires_grad=True)
(x * w).sum().backward()
""",
        watch,
    )
    product = next(s for s in trace.steps if trace.functions[s.function].name == "MulBackward0")
    assert product.downstream[1].shape == (3,)
    assert product.downstream[1].data.tolist() == [4, 4, 4]


def test_watching_changes_no_gradient():
    plain, watched = traced(LOOP + "y.backward()\n"), traced(LOOP + "y.backward()\n", Watch())
    assert plain.tensors == watched.tensors
    assert not plain.steps and watched.steps


def test_operands_know_their_edge():
    trace = traced("""
import torch
w = torch.tensor(2.0, requires_grad=True)
y = 3 - w * w
z = torch.stack([w, y])
""")
    edges = [[(o.tensor, o.edge) for o in op.inputs] for op in trace.operations]
    assert edges == [[(0, 0), (0, 1)], [(None, None), (1, 0)], [(0, 0), (2, 1), (None, None)]]


@pytest.mark.parametrize("depth", [400])
def test_recursion_is_as_deep_as_ever(depth):
    trace = traced(f"""
import torch
def f(x, n):
    return x if n == 0 else f(x + 1, n - 1)
y = f(torch.ones(1), {depth})
""")
    assert len(path(trace, depth - 1)) == depth
