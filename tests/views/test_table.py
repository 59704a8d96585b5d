"""The table: what stands in its cells, and how it fits a terminal."""

import pytest
import trace_samples as samples

from gradtrace.views import cells
from gradtrace.views.layout import LayoutOptions
from gradtrace.views.table import render

LONG = "first_layer_weights_after_normalisation_and_scaling"


def lines(trace, **options):
    return render(trace, LayoutOptions(**options)).splitlines()


def scalars(name="x"):
    b = samples.Builder()
    x = b.leaf(name, 2.0, 12.0)
    b.op("mul", "MulBackward0", [x, x], None, 4.0, label=f"{name} * {name}")
    b.op("log", "LogBackward0", [1], "y", 1.386294, output=True)
    return b.trace()


def arrays():
    b = samples.Builder()
    x = b.leaf("x", [[1.0, 2.0], [3.0, 4.0]], [[0.125, 0.25], [0.5, 1.0]])
    b.op("mm", "MmBackward0", [x, x], "y", [[7.0, 10.0], [15.0, 22.0]], output=True)
    b.op("sum", "SumBackward0", [1], "s", 54.0)
    return b.trace()


def test_a_pipe_gets_everything_on_one_line_each():
    found = lines(scalars(LONG))
    assert [line.split()[0] for line in found[2:4]] == [LONG, LONG]
    assert f"{LONG} * {LONG}  " in found[3]
    assert found[0].split() == [
        "name",
        "value",
        "shape",
        "dtype",
        "is_leaf",
        "requires_grad",
        "grad_fn",
        "grad",
    ]


def test_names_take_several_lines_and_what_is_equal_is_told_below():
    found = lines(scalars(LONG), width=80)
    assert max(map(cells.width, found)) <= 80
    column = [line[: found[1].index("value")].strip() for line in found[3:-3]]
    assert "".join(column).startswith(LONG + LONG)
    assert found[-1] == "in every row: shape (), dtype float64"


def test_titles_fold_before_anything_is_left_out():
    found = lines(scalars(), width=70)
    assert found[0].split() == ["is_", "requires_"]
    assert "dtype" in found[1]
    assert found[3].split() == ["x", "2", "()", "float64", "True", "True", "None", "12"]


@pytest.mark.parametrize("width", [40, 60, 80])
def test_arrays_take_several_lines(width):
    found = lines(arrays(), width=width)
    assert max(map(cells.width, found)) <= width
    if width == 80:
        assert found[1].split() == ["name", "value", "grad", "shape", "leaf", "grad", "grad_fn"]
        assert found[3].startswith("x     [[1, 2], [3, 4]]  [[0.125, 0.25],") and found[3].endswith(
            "None"
        )
        assert found[4].strip() == "[0.5, 1]]"


def test_notes_are_told_once():
    said = render(scalars())
    assert said.count("non-leaf: not retained") == 1
    assert said.count("None ¹") == 2
    assert "None [1]" in render(scalars(), LayoutOptions(ascii=True))


def test_bad_values_are_red():
    b = samples.Builder()
    b.leaf("x", float("nan"), 1.0)
    assert "\x1b[31mnan\x1b[0m" in render(b.trace(), LayoutOptions(color=True))
    assert "\x1b" not in render(b.trace())


@pytest.mark.parametrize(
    ("text", "columns", "shown"),
    [
        ("abcdefgh", 8, "abcdefgh"),
        ("abcdefgh", 5, "ab…gh"),
        ("abcdefgh", 6, "abc…gh"),
        ("日本語日本語", 7, "日…語"),
        ("ab", 1, "…"),
    ],
)
def test_clipping_in_the_middle(text, columns, shown):
    assert cells.clip_middle(text, columns) == shown
    assert cells.width(cells.clip_middle(text, columns)) <= columns


def test_no_tensor_is_no_table():
    assert render(samples.Builder().trace()) == ""
