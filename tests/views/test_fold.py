"""Folding: by scope and depth, series with a count, what is opened, what is taken together where nothing else helps."""

import pytest
import trace_samples as samples

from gradtrace.errors import UsageError
from gradtrace.program.parse import parse
from gradtrace.program.run import run as run_program
from gradtrace.trace.capture import capture
from gradtrace.trace.keeper import Keeper
from gradtrace.trace.steps import Watch
from gradtrace.views import dot, image
from gradtrace.views.chains import taken_together
from gradtrace.views.dot_extras import level_of
from gradtrace.views.fold import EVERYTHING, FITS, LONGEST, fold, folded_length
from gradtrace.views.model import model

NET = """
import torch
from torch import nn
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
    def forward(self, x):
        return x + torch.tanh(self.fc(x))
net = nn.Sequential(Block(), Block(), Block(), Block(), nn.Linear(2, 1))
x = torch.ones(1, 2)
loss = net(x).sum()
"""
LOOP = """
import torch
w = torch.tensor(0.5, requires_grad=True)
h = torch.tensor(1.0)
for i in range({}):
    h = torch.sin(h * w)
h.backward()
"""


def traced(text, watch=None):
    run = run_program(parse(text, name="s.py"), record=Keeper, watcher=watch)
    return capture(run, watch=watch)


def shown(trace, found, detail=False):
    drawn = model(trace, "data", found, detail=detail)
    return [trace.tensors[n.record].label for n in drawn.nodes if n.kind == "tensor"]


def test_nothing_is_folded_that_fits():
    found = fold(traced(NET))
    assert not found.groups and not found.automatic


def test_depth_0_folds_a_module_with_its_parameters():
    trace = traced(NET)
    found = fold(trace, 0)
    assert [(g.kind, g.name, g.detail, g.copies) for g in found.groups] == [
        ("module", "net", "Sequential", 1)
    ]
    assert shown(trace, found) == ["x", "loss"]
    drawn = model(trace, "data", found)
    assert [trace.tensors[t].label for t in drawn.results.values()] == ["net(x)"]
    assert shown(trace, found, detail=True) == ["x", "net(x)", "loss"]


def test_a_module_folds_with_the_parameters_that_an_optimizer_updated():
    update = "opt = torch.optim.SGD(net.parameters(), lr=0.1)\nloss.backward()\nopt.step()\n"
    trace = traced(NET + update)
    assert any(t.is_parameter and t.first != t.id for t in trace.tensors)
    assert shown(trace, fold(trace, 0)) == ["x", "loss"]


def test_equal_neighbours_are_one_group_with_a_count():
    trace = traced(NET)
    found = fold(trace, 1)
    assert [(g.name, g.copies, len(g.operations)) for g in found.groups] == [
        ("net.0 … 3", 4, 16),
        ("net.4", 1, 2),
    ]
    text = dot.source(trace, dot.DotOptions(), found)
    assert "4 blocks of 4: 16 operations" in text and "24 parameters" in text
    assert "cluster_s0" in text


def test_expand_opens_one_and_what_is_around_it():
    trace = traced(NET)
    found = fold(trace, 0, ["net.1.fc"])
    assert [g.name for g in found.groups] == ["net.0", "net.2", "net.3", "net.4"]
    assert "net.1.fc.weight" in shown(trace, found)
    assert fold(trace, 0, ["2"]).groups[-1].name == "net.4"
    assert not fold(trace, 0, ["all"]).groups


def test_the_passes_of_a_loop():
    watch = Watch()
    trace = traced(LOOP.format(10), watch)
    loop = fold(trace, 0)
    assert [(g.kind, g.name) for g in loop.groups] == [("loop", "for i in range(10)")]
    passes = fold(trace, 1)
    assert [(g.name, g.detail, g.copies) for g in passes.groups] == [
        ("passes 0–9", "for i in range(10)", 10)
    ]
    text = dot.source(trace, dot.DotOptions(), passes)
    assert "10 passes of 2: 20 operations" in text and "|grad|" in text and "▁" in text
    assert [name for name in shown(trace, passes) if name in "wh"] == ["w", "h"]
    assert len(fold(trace, 2).groups) == 0


def test_wires_into_a_group_are_counted():
    trace = traced(LOOP.format(10))
    drawn = model(trace, "data", fold(trace, 0))
    w = trace.tensor("w").id
    assert [(e.source, e.target, e.times) for e in drawn.edges if e.source == f"t{w}"] == [
        (f"t{w}", "g0", 10)
    ]


def test_a_long_loop_is_folded_by_itself():
    found = fold(traced(LOOP.format(300)))
    assert found.automatic and found.shown == 1


def test_a_long_formula_is_taken_together():
    trace = samples.chain(3000)
    found = fold(trace)
    assert found.automatic
    assert [(g.name, g.copies, len(g.operations)) for g in found.groups] == [
        ("sin, exp, tanh", 1000, 3000)
    ]
    assert shown(trace, found) == ["x", "tanh(t)"]
    assert len(model(trace, "autograd", found).nodes) <= FITS


STRAIGHT = """
import torch
x = torch.tensor(0.5, requires_grad=True)
v0 = v1 = x
"""


def test_statements_in_a_row_are_folded_by_repetition_and_by_lines():
    """No loop, no function: 1,000 statements of a pattern between 300 and 300 of none."""
    import random

    mixed = random.Random(1)
    kinds = [
        "v0 = v0.sin()",
        "v1 = v1.exp()",
        "v0 = v0 * v1",
        "v1 = v1 + v0",
        "v0 = v1.tanh()",
        "v1 = v0.cos()",
    ]
    lines = (
        mixed.choices(kinds, k=300)
        + ["v0 = v0 + 1", "v1 = v0 * v1"] * 500
        + mixed.choices(kinds[:4], k=300)
    )
    trace = traced(STRAIGHT + "\n".join([*lines, "y = v0 * v1"]))
    found = fold(trace)
    assert found.shown <= LONGEST
    series = [g for g in found.groups if g.copies > 1]
    assert [g.name for g in series] in (["add 1, mul"], ["mul, add 1"]) and series[0].copies in (
        499,
        500,
    )
    assert found.groups[0].name.startswith("lines 5–")
    opened = fold(trace, None, ["lines 100-103"])
    assert opened.shown > found.shown
    lone = [
        o.span.line
        for o, group in zip(trace.operations, opened.member, strict=True)
        if group is None
    ]
    ran = {o.span.line for o in trace.operations}
    assert {100, 101, 102, 103} & ran <= set(lone) and 101 in lone
    assert len(level_of(model(trace, "data", opened))) == len(model(trace, "data", opened).nodes)


@pytest.mark.parametrize("joined", [False, True])
def test_independent_examples_are_not_one_box(joined):
    examples = "".join(
        f"x{i} = torch.tensor({i}.0, requires_grad=True)\n"
        f"y{i} = torch.sin(x{i}) * x{i} + torch.exp(x{i}) - x{i} ** 2\ny{i}.backward()\n"
        for i in range(1, 15)
    )
    total = "total = " + " + ".join(f"y{i}.detach()" for i in range(1, 15)) + "\n"
    trace = traced("import torch\n" + examples + total * joined)
    groups = taken_together(trace, fold(trace)).groups
    assert (len(groups) < 14) is joined
    assert joined or {len(group.operations) for group in groups} == {6}


def test_a_name_that_nothing_has():
    with pytest.raises(UsageError, match="no module, function or loop is named 'nets'"):
        fold(traced(NET), 0, ["nets"])
    with pytest.raises(UsageError, match="calls no modules"):
        fold(samples.notes(), None, ["f"])


def test_a_group_has_no_way_back_to_itself():
    """Layers in a row with something between them are no series: it would have to stand before and after the box."""
    trace = traced("""
import torch
from torch import nn
a, b, c = nn.Tanh(), nn.Tanh(), nn.Tanh()
x = torch.ones(2, requires_grad=True)
y = c(b(a(x) + 1) + 1)
""")
    found = fold(trace, 0)
    assert [g.copies for g in found.groups] == [1, 1, 1]
    drawn = model(trace, "data", found)
    assert len(level_of(drawn)) == len(drawn.nodes)


def test_levels_say_what_can_run_at_once():
    trace = samples.notes()
    level = level_of(model(trace))
    assert {trace.tensors[int(k[1:])].label: n for k, n in level.items() if k[0] == "t"} == {
        "x": 0,
        "w": 0,
        "a": 1,
        "b": 1,
        "y": 2,
    }
    text = dot.source(trace, dot.DotOptions(levels=True))
    assert "level 2" in text and "2 at once" in text and "rank=same" in text


def test_the_autograd_style_folds_too():
    trace = traced(NET)
    drawn = model(trace, "autograd", fold(trace, 0))
    names = [trace.functions[n.record].name for n in drawn.nodes if n.kind == "function"]
    assert names == ["SumBackward0"]
    assert [(e.source, e.target) for e in drawn.edges] == [("g0", drawn.nodes[0].key)]


def test_longest_path():
    for trace, length in ((samples.chain(30), 30), (samples.notes(), 2)):
        assert folded_length(trace, fold(trace, EVERYTHING)) == length


def test_levels_have_no_frames():
    """A level through frames is what Graphviz crashes on."""
    trace = traced(NET)
    assert "cluster" in dot.source(trace)
    assert "cluster" not in dot.source(trace, dot.DotOptions(levels=True))


def test_what_could_crash_is_drawn_by_a_child():
    trace = traced(NET)
    assert not image.is_simple(dot.source(trace))
    assert not image.is_simple(dot.source(samples.notes(), dot.DotOptions(levels=True)))
    assert image.is_simple(dot.source(samples.notes(), dot.DotOptions(legend=False)))
