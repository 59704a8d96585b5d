"""DOT text: what it shows, that it is the same every time, and that no text breaks it."""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import trace_samples as samples
from hypothesis import example, given, settings
from hypothesis import strategies as st

import gradtrace as torch
from gradtrace.errors import UsageError
from gradtrace.program.parse import parse
from gradtrace.program.result import RunOptions
from gradtrace.program.run import running
from gradtrace.trace.capture import capture
from gradtrace.trace.keeper import Keeper
from gradtrace.trace.steps import Watch
from gradtrace.views import dot, image, labels
from gradtrace.views.dot import DotOptions

SVG = "{http://www.w3.org/2000/svg}"


def edges(source):
    return [
        line.split(" [")[0].strip()
        for line in source.splitlines()
        if " -> " in line and "legend" not in line
    ]


def node_line(source, node):
    (line,) = (line for line in source.splitlines() if line.startswith(f"\t{node} ["))
    return line


def picture(trace, **options):
    return ElementTree.fromstring(image.render(dot.source(trace, DotOptions(**options)), "svg"))


def words(root):
    return [element.text or "" for element in root.iter(f"{SVG}text")]


def test_data_graph_has_the_tensors_and_the_operations_between_them():
    source = dot.source(samples.notes())
    wires = [
        "t0 -> o0",
        "t1 -> o0",
        "o0 -> t2",
        "t1 -> o1",
        "o1 -> t3",
        "t2 -> o2",
        "t3 -> o2",
        "o2 -> t4",
    ]
    assert edges(source) == wires
    shown = words(picture(samples.notes()))
    for word in (
        "x",
        "w",
        "a",
        "b",
        "y",
        "+",
        "+ 1",
        "×",
        "AddBackward0",
        "MulBackward0",
        "6",
        "5",
    ):
        assert word in shown
    assert "rankdir=LR" in source


def test_both_operands_of_a_square_are_drawn():
    assert edges(dot.source(samples.square())) == ["t0 -> o0", "t0 -> o0", "o0 -> t1"]


def test_autograd_graph_is_next_functions():
    source = dot.source(samples.notes(), DotOptions(style="autograd"))
    assert sorted(edges(source)) == sorted(
        ["f3 -> f0", "f4 -> f0", "f4 -> f1", "f0 -> f2", "f1 -> f2"]
    )
    shown = words(picture(samples.notes(), style="autograd"))
    assert shown.count("AccumulateGrad") == 2
    assert {"x", "w", "MulBackward0", "saved self", "a = 3"} <= {
        word.strip("\u00a0") for word in shown
    }


def test_autograd_square_keeps_both_edges():
    assert edges(dot.source(samples.square(), DotOptions(style="autograd"))) == [
        "f1 -> f0",
        "f1 -> f0",
    ]


def test_roles_differ_in_shape_border_and_colour():
    b = samples.Builder()
    leaf = b.leaf("p", 1.0, 1.0)
    b.leaf("d", 1.0, requires_grad=False)
    b.leaf("c", 1.0, requires_grad=False, kind="constant")
    n = b.op("sin", "SinBackward0", [leaf], "n", 1.0)
    b.op("sin", None, [leaf], "r", 1.0)
    kept = b.op("cos", "CosBackward0", [n], "k", 1.0, 1.0, retains=True)
    b.op("mul", "MulBackward0", [kept, n], "y", 1.0, output=True)
    source = dot.source(b.trace())
    kinds = set()
    for tensor in range(7):
        attributes = dict(
            part.split("=")
            for part in node_line(source, f"t{tensor}").split(">> ")[1].split(" tooltip")[0].split()
        )
        kinds.add(tuple(attributes.get(key) for key in ("shape", "style", "peripheries")))
    assert len(kinds) == 7
    legend = words(picture(b.trace()))
    for meaning in (
        "leaf, requires grad",
        "◹ leaf without grad",
        "constant",
        "computed",
        "computed, no grad",
        "computed, grad retained",
        "▶ output",
    ):
        assert meaning in legend


def test_legend_names_only_what_is_there_and_can_be_left_out():
    source = dot.source(samples.square())
    assert "leaf without grad" not in source
    assert "legend" not in dot.source(samples.square(), DotOptions(legend=False))


def test_arrays_show_shape_range_and_sparkline():
    shown = words(picture(samples.mlp()))
    assert any("(16, 8)" in word for word in shown)
    assert any("▁" in word and "█" in word for word in shown)
    assert any(" … " in word for word in shown)


def test_first_bad_tensor_is_marked_with_its_line():
    b = samples.Builder()
    x = b.leaf("x", 0.0)
    bad = b.op("log", "LogBackward0", [x], "a", float("-inf"), line=7)
    b.op("mul", "MulBackward0", [bad, x], "y", float("nan"), output=True, line=8)
    shown = words(picture(b.trace()))
    assert shown.count("first NaN or Inf, line 7") == 1
    assert sum("first NaN" in word for word in shown) == 1


def test_a_bad_gradient_is_marked_where_backward_met_it_first():
    b = samples.Builder()
    x = b.leaf("x", 0.0, float("nan"))
    a = b.op("sqrt", "SqrtBackward0", [x], "a", 0.0, float("inf"), retains=True)
    b.op("mul", "MulBackward0", [a, a], "y", 0.0, 1.0, output=True)
    trace = b.trace()
    assert [word for word in words(picture(trace)) if "first NaN" in word] == [
        "first NaN or Inf in a gradient"
    ]
    assert "first NaN" in node_line(dot.source(trace), f"t{a}")


def test_a_number_as_a_constant_says_its_value_once():
    b = samples.Builder()
    two = b.leaf("2.0", 2.0, requires_grad=False, kind="constant")
    b.op("sqrt", None, [two], "y", 1.5, output=True)
    assert words(picture(b.trace(), legend=False)).count("2") == 0
    assert ">2.0<" in node_line(dot.source(b.trace()), "t0")


def test_comparisons_have_signs():
    b = samples.Builder()
    b.op("gt", None, [b.leaf("x", 1.0), "0"], "y", True, output=True)
    assert "> 0" in words(picture(b.trace()))


def test_the_graph_may_go_up():
    source = dot.source(samples.notes(), DotOptions(direction="up"))
    assert "rankdir=BT" in source and "tailport=n" in source and "headport=s" in source


def test_the_graph_may_go_down():
    source = dot.source(samples.notes(), DotOptions(direction="down"))
    assert "rankdir=TB" in source and "tailport=s" in source and "headport=n" in source
    with pytest.raises(UsageError, match="unknown direction 'left'"):
        dot.source(samples.square(), DotOptions(direction="left"))


def test_equal_elements_are_told_once():
    b = samples.Builder()
    b.leaf("x", [1.0] * 20, requires_grad=False)
    assert "all 1" in words(picture(b.trace()))


def test_wires_without_a_gradient_are_dashed():
    b = samples.Builder()
    x = b.leaf("x", 1.0, requires_grad=False)
    w = b.leaf("w", 1.0, 1.0)
    b.op("mul", "MulBackward0", [x, w], "y", 1.0, output=True)
    source = dot.source(b.trace())
    assert "style=dashed" in next(line for line in source.splitlines() if "t0 -> o0" in line)
    assert "dashed" not in next(line for line in source.splitlines() if "t1 -> o0" in line)


def test_operands_whose_order_matters_are_told_apart():
    b = samples.Builder()
    x = b.leaf("x", 1.0)
    w = b.leaf("w", 2.0)
    b.op("sub", "SubBackward0", [x, w], "y", -1.0, output=True)
    b.op("add", "AddBackward0", [x, w], "s", 3.0)
    shown = words(picture(b.trace()))
    assert "x − w" in shown and "+" in shown and not {"left", "right"} & set(shown)
    b.op("sub", "SubBackward0", ["1", x], "z", 0.0)
    assert "1 −" in words(picture(b.trace()))


def watched(text="a = x + w\nb = w + 1\ny = a * b\n", **inputs):
    watch = Watch()
    tensors = {
        name: torch.tensor(v, requires_grad=True)
        for name, v in (inputs or {"x": 2.0, "w": 1.0}).items()
    }
    program = parse(text, name="expr.txt")
    with running(program, tensors, RunOptions(record=Keeper, watcher=watch)) as run:
        run.root.backward()
    return capture(run, [run.root], 1, watch=watch)


def test_derivatives_label_their_wire():
    shown = [word.strip() for word in words(picture(watched(), derivatives=True))]
    assert "∂y/∂a = b = 2" in shown


def test_accumulate_nodes_on_request():
    assert "AccumulateGrad" not in dot.source(samples.notes())
    b = samples.notes()
    b = b._replace(tensors=tuple(t._replace(function=3) if t.name == "x" else t for t in b.tensors))
    assert "f3 [label=" in dot.source(b, DotOptions(accumulate=True))


def test_unknown_style_and_theme():
    with pytest.raises(UsageError, match="unknown graph style 'x'"):
        dot.source(samples.square(), DotOptions(style="x"))
    with pytest.raises(UsageError, match="unknown theme 'x'"):
        dot.source(samples.square(), DotOptions(theme="x"))


@pytest.mark.parametrize("style", ["data", "autograd"])
def test_the_same_bytes_from_another_process(style):
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import trace_samples as s;"
        "from gradtrace.views import dot, image;"
        "text = dot.source(s.mlp(), dot.DotOptions(style=sys.argv[2]));"
        "sys.stdout.buffer.write(text.encode() + image.render(text, 'svg'))"
    )
    here = str(Path(__file__).parent)
    runs = {
        subprocess.run(
            [sys.executable, "-c", code, here, style],
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1 and runs.pop()


HOSTILE = [
    "\\L", "\\\\L \\E",
    '"', "\\", "\\N \\l", "\\\\N", 'a"b\\', "<b>x</b>", "a<b", "&amp;", "&", "x|{y}|z", "日本 λ é 🙂", "a\nb\tc",
    "]]>", "-->", "\x00\x1b[31m", "\ud800", "\ufffe", "", " ", "<>", "<a>", "digraph {", "x;y", "%s", "a" * 500,
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("style", ["data", "autograd"])
def test_any_text_survives(name, style):
    root = picture(samples.hostile(name), style=style)
    seen = "".join(labels.clip(labels.visible(name)).split())
    assert seen in "".join("".join(words(root)).split())


@given(st.text(max_size=20))
@example("\r\n")
@example("a\r\nb\r")
@example(" \n\r ")
@settings(max_examples=60)
def test_any_text_survives_in_tooltips(name):
    titles = [
        element.get("{http://www.w3.org/1999/xlink}title")
        for element in picture(samples.hostile(name)).iter(f"{SVG}a")
    ]
    # Graphviz keeps a run of spaces by making all but the first non-breaking.
    shown = [title.replace("\xa0", " ") for title in titles if title]
    assert (
        any(title.startswith(labels.visible(name).replace("\xa0", " ")) for title in shown)
        or not name
    )


def test_a_long_chain_is_drawn_without_recursion():
    source = dot.source(samples.chain(3000))
    assert len(edges(source)) == 6000


def test_functions_are_nodes_in_their_style():
    source = dot.source(samples.notes(), DotOptions(style="function"))
    assert edges(source) == edges(dot.source(samples.notes()))
    shown = words(picture(samples.notes(), style="function"))
    assert {"add", "add 1", "mul", "AddBackward0", "MulBackward0"} <= set(shown)


def test_a_gradient_that_passed_is_told_from_one_that_is_kept():
    trace = watched()
    assert any("passed, not kept" in word for word in words(picture(trace)))
    assert not any("passed" in word for word in words(picture(samples.notes())))


def test_backward_view_shows_what_flows():
    shown = words(picture(watched(), style="autograd", derivatives=True))
    assert "upstream" in "".join(shown) and "local 0" in "".join(shown).replace("\u00a0", " ")
    source = dot.source(watched(), DotOptions(style="autograd", derivatives=True))
    written = [
        re.search(r"\blabel=<<FONT[^>]*>([^<]*)<", line)
        for line in source.splitlines()
        if " -> " in line
    ]
    assert sorted(found[1] for found in written if found) == ["2", "2", "2", "3", "3"]


def test_colour_by_gradient_has_a_scale():
    source = dot.source(watched(), DotOptions(color_by="grad-norm"))
    assert "logarithmic" in source
    fills = {
        line.split(" [")[0].strip(): line.split("fillcolor=")[1].split()[0]
        for line in source.splitlines()
        if "fillcolor" in line and line.startswith("\tt")
    }
    assert fills["t1"] != fills["t4"]  # w has gradient 5, y has 1
    assert 'COLOR="#8a3b00"' not in "".join(
        line for line in source.splitlines() if line.startswith("\tt")
    )
    with pytest.raises(UsageError, match="cannot colour by 'x'"):
        dot.source(samples.square(), DotOptions(color_by="x"))


@pytest.mark.parametrize(("style", "leaf"), [("data", "t1"), ("autograd", "f401")])
def test_a_leaf_of_many_uses_has_small_copies_in_a_large_graph(style, leaf):
    """One node with hundreds of long edges covers the picture, and takes Graphviz minutes."""
    b = samples.Builder()
    t, w = b.leaf("x", 1.0), b.leaf("w", 1.0)
    for _ in range(400):
        t = b.op("mul", "MulBackward0", [t, w], None, 1.0, label="t*w")
    drawn = edges(dot.source(b.trace(), DotOptions(style=style)))
    starts = [edge.split(" -> ")[0] for edge in drawn]
    assert starts.count(leaf) == 1
    assert sum(start.startswith(f"{leaf}c") for start in starts) == 399
    small = samples.Builder()
    u, v = small.leaf("x", 1.0), small.leaf("w", 1.0)
    for _ in range(20):
        u = small.op("mul", "MulBackward0", [u, v], None, 1.0)
    assert sum(edge.startswith("t1 ->") for edge in edges(dot.source(small.trace()))) == 20


@pytest.mark.parametrize(
    "source, shown",
    [
        ("binary_cross_entropy reduction=sum", "binary_cross_entropy…=sum"),
        (
            "log_softmax in nn.functional.cross_entropy(out, target)",
            "log_softmax in cross_entropy(…)",
        ),
        ("mul in torch.autograd.grad(y, x, create_graph=True) #2", "mul in grad(…) #2"),
        ("exp in net.first(x) + net.second(x + 1) ** 2", "exp in net.first(x) +…+ 1) ** 2"),
        ("1 + log_var - mean.pow(2) - log_var.exp()", "1 + log_var - mean….exp()"),
    ],
)
def test_labels_are_cut_between_words(source, shown):
    assert labels.clip(source) == shown
