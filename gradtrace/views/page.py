"""A run as one HTML file without dependencies: the drawing to explore, and a player of what
happened.

Graphviz draws all SVG pictures beforehand (`page_views.py` chooses which); each is in a
`<template>` until it is shown. The data for the script (page_files/page.js) is one JSON document.
The page loads nothing from the network: its own content security policy forbids it.
"""

from __future__ import annotations

import json
import os
import re
from html import escape

from gradtrace.analysis.ledger.step import StepBooks
from gradtrace.annotations import Any, NamedTuple
from gradtrace.trace.record import FunctionEdge, Trace
from gradtrace.views import flow, image, nodes, numbers, page_views
from gradtrace.views.cells import harmless
from gradtrace.views.dot import DotOptions, text_of
from gradtrace.views.labels import visible
from gradtrace.views.ledger import books_html
from gradtrace.views.model import Model
from gradtrace.views.page_recipe import recipe
from gradtrace.views.page_views import View, views_of
from gradtrace.views.story import story
from gradtrace.views.style import FONT, THEMES

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
PLAYED = 5_000  # operations up to which the page has the player
COMMON = (' xml:space="preserve"', f' font-family="{FONT}"')
FURTHER = "// FURTHER FILES\n"  # the place in the page's script for the other ones
ALSO_DOWN = 80  # nodes up to which a view has a drawing for narrow screens


class Lesson(NamedTuple):
    """What a page is made for: to guess "values" or "gradients" (`predict`), or to stand in a frame
    (`embed`).
    """

    predict: str = ""
    embed: bool = False


def page(
    drawn: Model, options: DotOptions, lesson: Lesson = Lesson(), books: StepBooks | None = None
) -> str:
    """Return the page of a model, with the books of its training step. Only a watched run has a
    backward pass to play.
    """
    trace = drawn.trace
    views, start = views_of(drawn)
    pictures = drawings(views, drawn, options)
    name = trace.source_name.rpartition("/")[2] or trace.source_name
    data = {**document(trace, views, start), **lesson._asdict()}
    texts = {
        "TITLE": escape(visible(name)),
        "BOOKS": "" if books is None else books_html(books),
    }
    templates = "\n".join(
        f'<template id="{key}">{picture}</template>' for key, picture in pictures.items()
    )
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(visible(name))} – gradtrace</title>",
            f"<style>\n{own_file('page.css')}{dark_rules()}</style></head>",
            f'<body class="{" ".join(body_classes(lesson))}">',
            re.sub("TITLE|BOOKS", lambda place: texts[place[0]], own_file("page.html")),
            templates,
            f'<script type="application/json" id="data">{embedded(data)}</script>',
            f"<script>\n{script()}</script>",
            "</body></html>",
            "",
        ]
    )


def body_classes(lesson: Lesson) -> list[str]:
    """Return the classes of the page's body, for its style sheet."""
    return [name for name, is_on in (("embed", lesson.embed), ("predict", lesson.predict)) if is_on]


def script() -> str:
    return own_file("page.js").replace(FURTHER, own_file("squeeze.js") + own_file("teach.js"))


def own_file(name: str) -> str:
    with open(
        os.path.join(os.path.dirname(os.path.abspath(__file__)), "page_files", name),
        encoding="utf-8",
    ) as file:
        return file.read()


def drawings(views: list[View], drawn: Model, options: DotOptions) -> dict[str, str]:
    """Return each view's drawing as an HTML element, by the id of its template.

    A view that is not too large has a second drawing, from top to bottom, for narrow screens.
    """
    wide = options._replace(theme="light")
    texts = {}
    for i, view in enumerate(views):
        look = wide if view.model is drawn else wide._replace(rows={})
        texts[f"view{i}"] = text_of(view.model, look)
        if options.direction == "right" and len(view.model.nodes) <= ALSO_DOWN:
            texts[f"view{i}down"] = text_of(view.model, look._replace(direction="down", rows={}))
    pictures = image.render_many(list(texts.values()), "svg")
    return {key: element(picture.decode()) for key, picture in zip(texts, pictures, strict=True)}


def element(text: str) -> str:
    """Return a drawing as an element of the page; what all its texts have in common stands there
    once.
    """
    text = re.sub(r"<!--.*?-->\n?", "", text[text.index("<svg") :], flags=re.DOTALL)
    for common in (*COMMON, ' text-anchor="start"'):
        text = text.replace(common, "")
    return re.sub(
        r'<svg width="[^"]*" height="[^"]*"', f'<svg role="group"{"".join(COMMON)}', text, count=1
    )


def embedded(data: Any) -> str:
    """Return data as JSON that is safe within a script element."""
    text = json.dumps(
        numbers.jsonable(data), ensure_ascii=False, separators=(",", ":"), allow_nan=False
    )
    return harmless(text).replace("<", "\\u003c")


def dark_rules() -> str:
    """Return CSS rules that turn the light theme's colours into the dark one's on dark systems (not
    in print).
    """
    pairs = {old: new for old, new in colour_pairs(THEMES["light"], THEMES["dark"]) if old != new}
    rules = [
        f'svg [{part}="{old}"]{{{part}:{new}}}'
        for old, new in pairs.items()
        for part in ("fill", "stroke")
    ]
    return "@media screen and (prefers-color-scheme: dark) {\n" + "\n".join(rules) + "\n}\n"


def colour_pairs(light: Any, dark: Any) -> list[tuple[str, str]]:
    """Return the pairs of colours at the same places of two themes."""
    pairs: list[tuple[str, str]] = []
    for first, second in zip(light, dark, strict=True):
        if isinstance(first, str):
            pairs += [(first, second)] if first.startswith("#") else []
        elif isinstance(first, dict):
            pairs += [pair for name in first for pair in colour_pairs(first[name], second[name])]
        elif isinstance(first, tuple):
            pairs += colour_pairs(first, second)
    return pairs


# ---- what the script knows


def document(trace: Trace, views: list[View], start: int) -> dict[str, Any]:
    derivatives = flow.derivatives(trace)
    played = len(trace.operations) <= PLAYED
    return {
        "source": {"name": trace.source_name, "text": trace.source_text},
        "style": views[start].model.style,
        "start": start,
        "views": [
            {
                "name": view.name,
                "nodes": placed(view.model),
                "edges": [
                    nodes.edge_facts(view.model, edge, derivatives) for edge in view.model.edges
                ],
                "groups": [group.operations for group in view.model.groups] if played else [],
                **ways,
            }
            for view, ways in zip(views, page_views.folding(views), strict=True)
        ],
        "recipe": recipe(trace),
        "scopes": page_views.scope_data(trace, views),
        "operations": [operation_data(trace, i) for i in range(len(trace.operations))]
        if played
        else [],
        "story": story_data(trace) if played else [],
    }


def placed(drawn: Model) -> list[dict[str, Any]]:
    """Return the facts of a view's nodes, with the scope that each belongs to."""
    return [
        fact if node.scope is None else {**fact, "place": node.scope}
        for node, fact in zip(drawn.nodes, nodes.facts_of(drawn), strict=True)
    ]


def operation_data(trace: Trace, index: int) -> dict[str, Any]:
    operation = trace.operations[index]
    output_label = trace.tensors[operation.outputs[0]].label if operation.outputs else ""
    return {
        "label": operation.label,
        "made": output_label,
        "module": trace.module_around(operation.scope),
        "outputs": operation.outputs,
        "function": operation.function,
    }


def story_data(trace: Trace) -> list[dict[str, Any]]:
    """Return the moments of the story; those of backward also have the gradients that flowed."""
    edges = {(edge.source, edge.input_index): edge for edge in trace.function_edges}
    moments = []
    for moment in story(trace):
        fields = {
            name: value for name, value in moment._asdict().items() if value not in (None, (), "")
        }
        moments.append(
            fields if moment.step is None else {**fields, **step_data(trace, moment.step, edges)}
        )
    return moments


def step_data(
    trace: Trace, index: int, edges: dict[tuple[int, int], FunctionEdge]
) -> dict[str, Any]:
    """Return the data of one visit: gradients received, local derivatives, gradients sent, and to
    which tensors.
    """
    step = trace.steps[index]
    function = trace.functions[step.function]
    sent = []
    for place, value in enumerate(step.downstream):
        edge = edges.get((step.function, place))
        if edge is None or value is None:
            continue
        target = trace.functions[edge.target]
        tensor = (
            target.variable
            if target.variable is not None
            else dict(enumerate(target.outputs)).get(edge.output_nr)
        )
        local = step.local[place] if place < len(step.local) else None
        entry = {"to": edge.target, "tensor": tensor, "value": numbers.short(value)}
        sent.append(entry if local is None else {**entry, "local": numbers.short(local)})
    visit = {
        "pass": step.number,
        "function": step.function,
        "name": function.name,
        "made": function.outputs if function.variable is None else (function.variable,),
        "upstream": [numbers.short(value) for value in step.upstream],
        "sent": sent,
        "freed": step.freed,
    }
    leaf = {"leaf": function.variable, "after": numbers.short(step.grad_after)}
    return visit if function.variable is None else {**visit, **leaf}
