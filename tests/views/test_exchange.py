"""JSON, GraphML, Mermaid and the tree: complete, readable by others, safe for any text."""

import json
import xml.etree.ElementTree as ElementTree

import pytest
import trace_samples as samples

import gradtrace
from gradtrace.errors import UsageError
from gradtrace.views import exchange, tree
from gradtrace.views.dot import DotOptions
from gradtrace.views.fold import fold
from gradtrace.views.layout import LayoutOptions
from gradtrace.views.model import model
from gradtrace.views.render import render, suffix_of

STYLES = ("data", "function", "autograd")
GRAPHML = "{http://graphml.graphdrawing.org/xmlns}"
HOSTILE = [
    '"',
    "\\",
    "<b>&amp;",
    "]]>",
    "a\nb\tc",
    "\x00\x1b[31m",
    "end",
    "subgraph",
    "#quot;",
    "日本 λ",
    "[x](y)",
    "",
    "%%",
]


def test_json_is_a_node_link_graph():
    document = json.loads(exchange.node_link(model(samples.notes())))
    assert (document["schema"], document["version"]) == ("gradtrace/graph", 1)
    assert document["directed"] and document["multigraph"]
    by_id = {node["id"]: node for node in document["nodes"]}
    w = by_id["t1"]
    assert (w["label"], w["value"], w["grad"], w["role"], w["is_leaf"]) == (
        "w",
        1.0,
        5.0,
        "leaf",
        True,
    )
    assert by_id["o1"]["label"] == "add 1" and by_id["o1"]["line"] == 2
    assert [(e["source"], e["target"]) for e in document["edges"]] == [
        ("t0", "o0"),
        ("t1", "o0"),
        ("o0", "t2"),
        ("t1", "o1"),
        ("o1", "t3"),
        ("t2", "o2"),
        ("t3", "o2"),
        ("o2", "t4"),
    ]
    assert len({e["key"] for e in document["edges"]}) == len(document["edges"])


def test_json_is_strict():
    b = samples.Builder()
    b.leaf("x", [float("nan"), float("inf")])
    text = exchange.node_link(model(b.trace()))
    assert json.loads(text, parse_constant=pytest.fail)["nodes"][0]["value"] == ["NaN", "Infinity"]


def test_networkx_reads_both(tmp_path):
    networkx = pytest.importorskip("networkx")
    drawn = model(samples.mlp())
    graph = networkx.node_link_graph(json.loads(exchange.node_link(drawn)), edges="edges")
    (tmp_path / "g.graphml").write_text(exchange.graphml(drawn), encoding="utf-8")
    other = networkx.read_graphml(tmp_path / "g.graphml")
    assert networkx.is_directed_acyclic_graph(graph)
    assert len(graph) == len(other) == len(drawn.nodes)
    assert graph.number_of_edges() == other.number_of_edges() == len(drawn.edges)


def test_graphml_has_typed_fields():
    root = ElementTree.fromstring(exchange.graphml(model(samples.notes())))
    types = {key.get("attr.name"): key.get("attr.type") for key in root.iter(f"{GRAPHML}key")}
    assert (types["value"], types["line"], types["is_leaf"], types["label"]) == (
        "double",
        "long",
        "boolean",
        "string",
    )
    assert len(list(root.iter(f"{GRAPHML}node"))) == 8
    assert len(list(root.iter(f"{GRAPHML}edge"))) == 8


def test_mermaid():
    lines = exchange.mermaid(model(samples.notes())).splitlines()
    assert lines[0] == "flowchart LR"
    assert '  t1(["w<br>value 1<br>grad 5"]):::leaf' in lines
    assert '  o1(("+ 1")):::operation' in lines
    assert "  t1 --> o1" in lines


def test_mermaid_cuts_no_number():
    w = gradtrace.linspace(-1, 1, 60).reshape(3, 20).requires_grad_()
    picture = gradtrace.draw((w * 2).sum())
    text = render(picture.model, picture.options, "mmd").decode()
    assert "<br>value (3, 20)<br>-1..1" in text and "…" not in text


def test_tree():
    assert tree.render(model(samples.notes())) == (
        "y   6   MulBackward0\n"
        "├─ a   3   AddBackward0   grad retained   grad 2\n"
        "│  ├─ x   2   leaf   grad 2\n"
        "│  └─ w   1   leaf   grad 5\n"
        "└─ b   2   AddBackward0\n"
        "   ← w   (above)\n"
    )


def test_tree_of_functions_and_in_ascii():
    text = tree.render(model(samples.notes(), "autograd"), LayoutOptions(ascii=True))
    assert text.isascii()
    assert text.splitlines()[0] == "MulBackward0   of y"
    assert "|  `- w   AccumulateGrad   grad 5" in text


def test_a_long_chain_keeps_to_the_left():
    text = tree.render(model(samples.chain(3000)), LayoutOptions(width=60))
    assert len(text.splitlines()) == 3001
    assert max(map(len, text.splitlines())) <= 60
    assert {line[:2] for line in text.splitlines()[1:]} == {"← "}


def test_tree_in_colour():
    assert "\x1b[1my" in tree.render(model(samples.notes()), LayoutOptions(color=True))


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("name", HOSTILE)
def test_any_text_survives(style, name):
    drawn = model(samples.hostile(name), style)
    ElementTree.fromstring(exchange.graphml(drawn))
    json.loads(exchange.node_link(drawn))
    lines = exchange.mermaid(drawn).splitlines()
    body = [line for line in lines if '"' in line]
    assert all(line.count('"') == 2 for line in body)
    assert "\x1b" not in tree.render(drawn)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("suffix", ["dot", "mmd", "json", "graphml", "txt"])
def test_same_bytes_every_time_folded_or_not(style, suffix):
    trace = samples.chain(200)
    for folded in (None, fold(trace)):
        texts = {
            render(model(trace, style, folded), DotOptions(style=style), suffix) for _ in range(2)
        }
        assert len(texts) == 1


def test_unknown_suffix():
    for name in ("g", "g.jpg", "svg", ""):
        with pytest.raises(UsageError, match="cannot tell what to draw") as caught:
            suffix_of(name)
        assert ".svg" in caught.value.hint and ".mmd" in caught.value.hint
