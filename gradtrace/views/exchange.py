"""A model as text for other programs: JSON (node-link), GraphML, Mermaid.

node_link(model)    networkx.node_link_graph(json.load(file), edges="edges") reads it
graphml(model)      networkx.read_graphml, yEd, Gephi and Cytoscape read it
mermaid(model)      Markdown on GitHub and GitLab draws it, within ```mermaid
"""

from __future__ import annotations

import json

from gradtrace.annotations import Any
from gradtrace.lazy_names import words
from gradtrace.views import cells, flow, nodes, numbers
from gradtrace.views.labels import clip, visible
from gradtrace.views.model import Model
from gradtrace.views.style import THEMES

SCHEMA = "gradtrace/graph"
VERSION = 1


# ---- JSON


def document(drawn: Model) -> dict[str, Any]:
    """Return the node-link document as plain data, as networkx reads it; `graph` has the facts
    about the whole model.

    Fields are only ever added to it. A node's and an edge's fields are those of `nodes.py`.
    """
    derivatives = flow.derivatives(drawn.trace)
    edges = [nodes.edge_facts(drawn, edge, derivatives) for edge in drawn.edges]
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "directed": True,
        "multigraph": True,
        "graph": {
            "source": drawn.trace.source_name,
            "style": drawn.style,
            "backward_runs": drawn.trace.backward_runs,
        },
        "nodes": nodes.facts_of(drawn),
        "edges": [{**edge, "key": key} for key, edge in enumerate(edges)],
    }


def node_link(drawn: Model) -> str:
    """Return the document as JSON, ended by a line break."""
    text = json.dumps(
        numbers.jsonable(document(drawn)), ensure_ascii=False, indent=1, allow_nan=False
    )
    return cells.harmless(text) + "\n"


# ---- GraphML

TYPES = {bool: "boolean", int: "long", float: "double"}


def graphml(drawn: Model) -> str:
    """Return the model as GraphML: numbers as numbers, anything else as text (an array as a nested
    list).
    """
    from xml.etree import ElementTree

    root = ElementTree.Element("graphml", xmlns="http://graphml.graphdrawing.org/xmlns")
    contents = document(drawn)
    keys: dict[tuple[str, str], str] = {}
    rows = [("node", fields) for fields in contents["nodes"]] + [
        ("edge", fields) for fields in contents["edges"]
    ]
    for kind, fields in rows:
        for name, value in fields.items():
            noted_type = keys.get((kind, name))
            keys[kind, name] = (
                "string" if noted_type not in (None, graphml_type(value)) else graphml_type(value)
            )
    own = {"node": ("id",), "edge": ("source", "target", "key")}
    for (kind, name), type_ in keys.items():
        if name not in own[kind]:
            ElementTree.SubElement(
                root,
                "key",
                {"id": f"{kind[0]}_{name}", "for": kind, "attr.name": name, "attr.type": type_},
            )
    graph = ElementTree.SubElement(root, "graph", id="G", edgedefault="directed")
    for kind, fields in rows:
        where = (
            {"id": fields["id"]}
            if kind == "node"
            else {"id": f"e{fields['key']}", "source": fields["source"], "target": fields["target"]}
        )
        element = ElementTree.SubElement(graph, kind, where)
        for name, value in fields.items():
            if name not in own[kind]:
                data = ElementTree.SubElement(element, "data", key=f"{kind[0]}_{name}")
                data.text = graphml_text(value)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f"<?xml version='1.0' encoding='UTF-8'?>\n{text}\n"


def graphml_type(value: Any) -> str:
    return TYPES.get(type(value), "string")


def graphml_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    text = (
        value if isinstance(value, str) else json.dumps(numbers.jsonable(value), ensure_ascii=False)
    )
    return visible(text.strip('"') if isinstance(value, float) else text)


# ---- Mermaid

SHAPES = {
    **dict.fromkeys(words("leaf accumulate"), ("([", "])")),
    "data": ("[/", "/]"),
    **dict.fromkeys(words("constant nonleaf result function freed"), ("[", "]")),
    **dict.fromkeys(words("retained failed group series leaves"), ("[[", "]]")),
    **dict.fromkeys(words("output root"), ("{{", "}}")),
    "operation": ("((", "))"),
}
DASHED = frozenset({"result", "freed", "constant"})


def mermaid(drawn: Model) -> str:
    """Return a Mermaid flowchart with shapes and colours close to the drawing's."""
    lines = ["flowchart LR"]
    used = []
    open_scopes: list[str] = []
    rows = sorted(nodes.facts_of(drawn), key=lambda row: row.get("scope", []))
    for row in rows:
        open_scopes = enter(lines, open_scopes, row.get("scope", []))
        role = row.get("role", row["kind"])
        used.append(role)
        before, after = SHAPES[role]
        indent = "  " * (len(open_scopes) + 1)
        lines.append(f'{indent}{row["id"]}{before}"{mermaid_label(row)}"{after}:::{role}')
    enter(lines, open_scopes, [])
    derivatives = flow.derivatives(drawn.trace)
    for edge in drawn.edges:
        row = nodes.edge_facts(drawn, edge, derivatives)
        written = row.get("text", f"×{row['times']}" if "times" in row else "")
        arrow = "-->" if edge.flows else "-.->"
        between = f'{arrow}|"{escaped(written)}"|' if written else arrow
        lines.append(f"  {edge.source} {between} {edge.target}")
    theme = THEMES["light"]
    for role in dict.fromkeys(used):
        look = theme.looks[role]
        dashes = ",stroke-dasharray:4" if role in DASHED else ""
        lines.append(
            f"  classDef {role} "
            f"fill:{look.fill},stroke:{look.border},stroke-width:{look.width:g}px,color:{theme.ink}{dashes}"
        )
    bad, _ = nodes.failed_in_backward(drawn.trace) or nodes.first_bad(drawn.trace)
    if any(node.key == f"t{bad}" for node in drawn.nodes):
        lines.append(f"  style t{bad} stroke:{theme.bad},stroke-width:3px")
    lines += [
        f"  style {name} fill:none,stroke:{theme.scope},stroke-dasharray:4"
        for name in frames_in(lines)
    ]
    return "\n".join(lines) + "\n"


def frames_in(lines: list[str]) -> list[str]:
    """Return the names of the subgraphs."""
    return [
        line.split()[1].partition("[")[0] for line in lines if line.lstrip().startswith("subgraph ")
    ]


def enter(lines: list[str], opened: list[str], wanted: list[str]) -> list[str]:
    """Close and open subgraphs until exactly `wanted` are open."""
    same = 0
    while same < min(len(opened), len(wanted)) and opened[same] == wanted[same]:
        same += 1
    for depth in range(len(opened), same, -1):
        lines.append("  " * depth + "end")
    for depth in range(same, len(wanted)):
        number = sum(line.lstrip().startswith("subgraph ") for line in lines)
        lines.append(
            "  " * (depth + 1) + f'subgraph s{number}["{escaped(clip(wanted[depth], 40))}"]'
        )
    return list(wanted)


def mermaid_label(row: dict[str, Any]) -> str:
    parts = [clip(row.get("sign", row["label"]), 32)]
    if row["kind"] == "function" and row["label"] != row["grad_fn"]:
        parts.append(row["grad_fn"])
    if row["kind"] == "tensor" and "grad_fn" in row:
        parts.append(row["grad_fn"])
    for name in ("value", "grad"):
        if name in row:
            # of a large array its shape, its range and its mean
            first, *more = row[name + "_text"].split("  ")
            parts.append(f"{name} {cells.clip_middle(first, 40)}")
            parts += more[:1]
    if row.get("role") == "failed":
        parts.append(clip(row["grad_note"], 80))
    if row["kind"] == "group":
        parts.append(row["text"])
    return "<br>".join(escaped(part) for part in parts)


def escaped(text: str) -> str:
    """Escape text for a Mermaid label with Mermaid's entities."""
    safe = visible(text).replace("#", "#35;")
    for char, code in (("&", 38), ("<", 60), (">", 62), ('"', 34), ("\\", 92), ("`", 96)):
        safe = safe.replace(char, f"#{code};")
    return safe
