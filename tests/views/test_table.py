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
    assert found[0].split() == ["name", "value", "shape", "dtype", "is_leaf", "requires_grad", "grad_fn", "grad"]


def test_names_are_cut_in_the_middle_and_what_is_equal_is_told_below():
    found = lines(scalars(LONG), width=80)
    assert max(map(cells.width, found)) <= 80
    assert found[3].startswith("first_l") and "…" in found[3].split()[0]
    assert found[4].split()[0].startswith("first_l") and "scaling" in found[4][:40]
    assert found[-1] == "in every row: shape (), dtype float64"


def test_titles_fold_before_anything_is_left_out():
    found = lines(scalars(), width=70)
    assert found[0].split() == ["is_", "requires_"]
    assert "dtype" in found[1]
    assert found[3].split() == ["x", "2", "()", "float64", "True", "True", "None", "12"]


@pytest.mark.parametrize("width", [40, 60, 80])
def test_arrays_take_two_lines(width):
    found = lines(arrays(), width=width)
    assert max(map(cells.width, found)) <= width
    assert (found[0] + found[1] * (width == 40)).split() == ["name", "value", "grad"]
    if width == 80:
        assert found[3].split("  ")[0] == "x"
        assert "[[1, 2], [3, 4]]" in found[3] and "[[0.125, 0.25], [0.5, 1]]" in found[3]
        assert found[4].split() == ["(2,", "2)", "float64", "True", "True", "None"]


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


@pytest.mark.parametrize("columns", [14, 20, 30])
def test_different_names_are_not_shortened_to_the_same_text(columns):
    names = [f"model.features.{i}.{j}.block.conv.weight" for i in (3, 4, 10) for j in range(2)]
    names += ["model.head.weight", "weights(1024, 2048)", "weights(1024, 2049)", names[0]]
    shown = cells.clip_distinct(names, columns)
    assert len(set(shown)) == len(set(names)) and shown[-1] == shown[0]
    assert max(map(cells.width, shown)) <= columns
    if columns == 20:
        assert shown[:2] == ["…3.0.block.conv.wei…", "…3.1.block.conv.wei…"]


def test_names_of_like_layers_stay_different_in_few_columns():
    layers = [f"model.features.{i}.{j}.norm{k}" for i in (1, 3) for j in (0, 1) for k in (1, 2)]
    names = [f"model.features.{layer}.{kind}" for layer in ("0.0", "0.2", "1.0.norm1") for kind in ("weight", "bias")]
    assert len(set(cells.clip_distinct(names, 12))) == len(names)
    names += [f"{layer}.{kind}" for layer in layers[1:] for kind in ("weight", "bias")]
    shown = cells.clip_distinct(names, 14)
    assert len(set(shown)) == len(names) and max(map(cells.width, shown)) <= 14


def test_no_tensor_is_no_table():
    assert render(samples.Builder().trace()) == ""
