"""What tables become where the terminal is too narrow for them: shapes for ranges, lines of their own for paths."""

import pytest

from gradtrace.analysis import matrices, paths, stats, steps
from gradtrace.program.parse import parse
from gradtrace.program.run import run as run_program
from gradtrace.trace.capture import capture
from gradtrace.trace.keeper import Keeper
from gradtrace.trace.steps import Watch
from gradtrace.views import cells, layout, table, tree
from gradtrace.views import matrices as matrix_view
from gradtrace.views import paths as path_view
from gradtrace.views import stats as stats_view
from gradtrace.views import steps as step_view
from gradtrace.views.layout import Cell, Column, LayoutOptions
from gradtrace.views.model import model

MODEL = """\
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
loss = net(torch.randn(16, 4)).pow(2).mean()
loss.backward()
"""


@pytest.fixture
def trace():
    watch = Watch(True)
    return capture(
        run_program(parse(MODEL), record=Keeper, watcher=watch), everything=True, watch=watch
    )


def test_values_are_told_by_their_shapes(trace):
    wide = "".join(step_view.table(steps.steps(trace), LayoutOptions()))
    narrow = "".join(step_view.table(steps.steps(trace), LayoutOptions(80)))
    assert "(16, 8)  0.." in wide and max(map(len, narrow.splitlines())) <= 80
    assert "ReluBackward0" in narrow and " (16, 8) " in narrow and "(16, 8)  0.." not in narrow


def test_paths_take_lines_of_their_own(trace):
    found = paths.paths(trace, None, trace.tensor("net.0.weight"), 100)
    wide, narrow = (path_view.table([found], LayoutOptions(width)) for width in (None, 80))
    assert "local derivatives" in wide and "local derivatives" not in narrow
    assert max(map(len, narrow.splitlines())) <= 80
    assert "J(128x32) · J(32x32) = (8, 4)" in narrow


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("(16, 8)  0..1  mean 0.2", "(16, 8)"),
        ("(3,)  0..1", "(3,)"),
        ("[1, 2]", "[1, 2]"),
        ("(a)  b", "(a)  b"),
        ("all 1", "all 1"),
    ],
)
def test_the_shape_of_a_value(text, short):
    assert layout.shape_of(text) == short


def test_a_row_of_derivatives_stands_in_the_shape_of_the_input():
    from gradtrace.trace.record import Value

    np = pytest.importorskip("numpy")
    flat = np.arange(32.0).reshape(1, 32)
    block = matrices.Block("loss", "w", (), (8, 4), Value((1, 32), "float64", flat), None, None)
    lines = matrix_view.jacobian_text([block], LayoutOptions(60)).splitlines()
    assert (
        lines[0] == "d loss / d w: 1 x 32"
        and " ".join(lines[1].split()) == "[:, 0] [:, 1] [:, 2] [:, 3]"
    )
    assert lines[3].split() == ["[0]", "0", "1", "2", "3"] and lines[-1].split() == [
        "[7]",
        "28",
        "29",
        "30",
        "31",
    ]
    block = block._replace(by_shape=(32,))
    lines = matrix_view.jacobian_text([block], LayoutOptions(60)).splitlines()
    assert lines[1].split() == ["loss"] and lines[-1].split() == ["w[31]", "31"]


# ---- numbers, and the tree


@pytest.mark.parametrize("columns", range(1, 40))
def test_no_number_is_cut(columns):
    text = "-0.0012345..3.25e-10  mean 12345.678, of layer"
    numbers = {"-0.0012345", "3.25e-10", "12345.678", "-0.0012345..3.25e-10"}
    for clipped in (cells.clip(text, columns), cells.clip_middle(text, columns)):
        assert cells.width(clipped) <= max(columns, 1)
        left = [word.strip(",…") for word in clipped.replace("…", " … ").split()]
        assert {word for word in left if word[:1] in "-0123456789" and word} <= numbers


@pytest.mark.parametrize("columns", [-3, 0, 1, 5])
def test_a_number_longer_than_a_line_is_broken(columns):
    number = "1234567890.123456789"
    lines = cells.wrap(number, columns)
    assert "".join(lines) == number
    assert all(len(line) <= max(columns, 1) for line in lines)


@pytest.mark.parametrize("columns", [20, 26, 60])
def test_columns_of_one_title_keep_their_values(columns):
    names = ("grad: first", "last", "update: first", "last")
    values = ("1.25", "1.97", "0.75", "0.353")
    table = [Column("parameter", [Cell("model.weight")])]
    table += [
        Column(name, [Cell(value, "", True)]) for name, value in zip(names, values, strict=True)
    ]
    text = "\n".join(layout.lines(table, LayoutOptions(columns), {"parameter": 6, "last": 4}))
    assert [word for word in text.split() if word in values] == list(values)


def test_columns_of_numbers_are_not_shortened():
    columns = [
        Column("name", [Cell("a_long_name_of_a_tensor")]),
        Column("value", [Cell("1234.56789", "", True)]),
    ]
    first, second = layout.lines(columns, LayoutOptions(24), {"name": 6, "value": 4})[2:]
    assert first.split() == ["a_long_name_", "1234.56789"] and second == "of_a_tensor"


DEEP = """\
import torch
weight_of_the_first_layer = torch.tensor(0.123456, requires_grad=True)
bias_of_the_first_layer = torch.tensor([0.5, 0.25], requires_grad=True)
y = weight_of_the_first_layer
for i in range(6):
    y = (y * weight_of_the_first_layer + bias_of_the_first_layer.sum() * 2) / (y + 2)
y.backward()
"""


def test_the_tree_keeps_every_leafs_gradient_on_a_narrow_terminal():
    drawn = model(capture(run_program(parse(DEEP), record=Keeper)))
    wide = tree.render(drawn)
    narrow = "".join(tree.render(drawn, LayoutOptions(40)).replace("│", " ").split())
    gradients = [
        line.partition("grad ")[2] for line in wide.splitlines() if "   leaf   grad " in line
    ]
    assert len(gradients) == 2 and "[" in gradients[1]
    assert all("grad" + "".join(gradient.split()) in narrow for gradient in gradients)


def test_the_tree_fits_where_there_is_room():
    text = MODEL.replace("loss =", "scale = torch.tensor(0.25, requires_grad=True)\nloss = scale *")
    drawn = model(capture(run_program(parse(text), record=Keeper)))
    lines = tree.render(drawn, LayoutOptions(60)).splitlines()
    assert max(map(cells.width, lines)) <= 60
    assert any("scale" in line and "grad " in line for line in lines)


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_every_table_stays_within_the_terminal(trace, columns):
    options = LayoutOptions(columns)
    tables = [
        table.render(trace, options),
        "".join(step_view.table(steps.steps(trace), options)),
        stats_view.text(stats.stats(trace), options),
    ]
    for shown in tables:
        assert max(map(cells.width, shown.splitlines())) <= columns, shown
    assert "net.0.weight" in tables[1]
