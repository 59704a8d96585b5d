"""Check the pages and SVG pictures of a process in which any code may have run.

A file is accepted only if each of its tokens is one that gradtrace's own views write: elements and
attributes of a short list, none of which has an address, scripts and style sheets that are this
package's own to the byte, data that is valid JSON without "<", and the content security policy
before all else. The tokens are so plain (no comments, every "<" begins a tag, elements closed in
order) that every browser reads the same ones.
"""

from __future__ import annotations

import json
import re

from gradtrace.errors import UsageError
from gradtrace.lazy_names import words

TOKEN = re.compile(
    r"""<(?P<name>[a-z][a-zA-Z0-9]*)(?P<attributes>(?:\s+[a-z][\w:-]*(?:="[^"<]*")?)*)\s*(?P<empty>/?)>"""
    r"""|</(?P<end>[a-z][a-zA-Z0-9]*)>|(?P<text>[^<]+)"""
)
ATTRIBUTE = re.compile(r"""\s+([a-z][\w:-]*)(?:="([^"<]*)")?""")
COMMENT = re.compile(r"<!--(?:[^<>-]|-(?!-))*-->\n?")
ELEMENTS = frozenset(
    words("""a aside b body br button code dialog div dl ellipse figcaption figure footer form g h1 h2 h3 head
    header html i input label line main meta ol output p path polygon polyline pre script section select span style svg
    table tbody td template text th thead title tr""")
)
OF_SVG = frozenset(words("a ellipse g line path polygon polyline svg text title"))
ATTRIBUTES = frozenset(
    words("""aria-describedby aria-label aria-labelledby aria-live autocomplete charset class content cx cy d
    data-file data-line data-row fill fill-opacity font-family font-size font-style font-weight for height hidden
    http-equiv id lang method min name placeholder points role rx ry spellcheck stroke stroke-dasharray stroke-opacity
    stroke-width tabindex text-anchor title transform type value viewBox width x x1 x2 xlink:title xml:space xmlns
    xmlns:xlink y y1 y2""")
)
# elements whose end tag is not looked at
EMPTY = ("meta", "input", "br", "td", "th", "tr", "tbody", "thead")
PAGE_START = "<!DOCTYPE html>\n"
PICTURE_START = re.compile(
    r"""(?:<\?xml version="1\.0" encoding="UTF-8" standalone="no"\?>\s*)?"""
    r"""(?:<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1\.1//EN"\s+"""
    r""""http://www\.w3\.org/Graphics/SVG/1\.1/DTD/svg11\.dtd">\s*)?"""
)
NAMESPACES = ("http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink")
DATA = {"type": "application/json", "id": "data"}


class Foreign(Exception):
    """Raised for a token that no view of gradtrace writes."""


def check(content: bytes, suffix: str) -> None:
    """Raise UsageError unless a page (".html") or picture (".svg") has only what gradtrace's own
    views write.
    """
    try:
        text = content.decode("utf-8")
        if suffix == ".svg":
            start = PICTURE_START.match(text)
            check_tokens(COMMENT.sub("", text[start.end() if start else 0 :]), OF_SVG)
        elif text.startswith(PAGE_START):
            check_tokens(text[len(PAGE_START) :], ELEMENTS)
        else:
            raise Foreign("another beginning")
    except (Foreign, ValueError) as error:
        complaint = f"what the program's process made is not a {suffix} file of gradtrace"
        raise UsageError(f"{complaint}: {error}", "please report this") from None


def check_tokens(text: str, elements: frozenset[str]) -> None:
    opened: list[str] = []
    metas = position = 0
    while position < len(text):
        token = TOKEN.match(text, position)
        if token is None:
            raise Foreign(f"{text[position : position + 20]!r} is not a tag")
        position = token.end()
        name = token["name"]
        if token["end"]:
            if token["end"] in EMPTY:
                continue
            if not opened or opened.pop() != token["end"]:
                raise Foreign(f"</{token['end']}> ends nothing")
        elif name:
            attributes = checked_attributes(name, token["attributes"], elements)
            if name == "meta":
                metas += 1
                check_meta(attributes, metas)
            elif metas < 2 and name not in ("html", "head") and elements is ELEMENTS:
                raise Foreign(f"<{name}> stands before the content security policy")
            if name in ("script", "style"):
                position = check_raw(name, attributes, text, position, opened)
            elif not token["empty"] and name not in EMPTY:
                opened.append(name)
    if opened:
        raise Foreign(f"<{opened[-1]}> is not closed")


def checked_attributes(name: str, text: str, elements: frozenset[str]) -> dict[str, str | None]:
    if name not in elements:
        raise Foreign(f"it has the element {name}")
    attributes: dict[str, str | None] = dict(ATTRIBUTE.findall(text))
    for key, value in attributes.items():
        if key not in ATTRIBUTES:
            raise Foreign(f"it has the attribute {key}")
        if key.startswith("xmlns") and value not in NAMESPACES:
            raise Foreign("it has another namespace")
        if key in ("fill", "stroke") and "(" in (value or ""):
            raise Foreign(f"its {key} is not a colour")
    return attributes


def check_meta(attributes: dict[str, str | None], number: int) -> None:
    """The first one names the encoding, the second one the policy; others cannot loosen it."""
    from gradtrace.views import flight, page

    policies = [
        {"http-equiv": "Content-Security-Policy", "content": policy}
        for policy in (page.POLICY, flight.POLICY)
    ]
    others = (
        {"charset": "utf-8"},
        {"name": "viewport", "content": "width=device-width, initial-scale=1"},
        {"http-equiv": "refresh", "content": str(flight.RELOADED)},
    )
    if attributes not in (*policies, *others):
        raise Foreign("it has another meta element")
    if number == 2 and attributes not in policies:
        raise Foreign("it has no content security policy")


def check_raw(
    name: str, attributes: dict[str, str | None], text: str, start: int, opened: list[str]
) -> int:
    """Check a script or a style sheet; return the place after it."""
    end = text.find(f"</{name}>", start)
    if end < 0 or opened not in (["html", "head"], ["html", "body"]):
        raise Foreign(f"a {name} stands elsewhere")
    content = text[start:end]
    if name == "style":
        if attributes or content not in own_styles():
            raise Foreign("it has a style sheet that is not gradtrace's")
    elif attributes == DATA:
        if "<" in content:
            raise Foreign("its data has a tag")
        try:
            json.loads(content)
        except RecursionError:
            raise Foreign("its data is nested too deeply") from None
    elif attributes or content not in own_scripts():
        raise Foreign("it has a script that is not gradtrace's")
    return end + len(f"</{name}>")


def own_scripts() -> tuple[str, ...]:
    from gradtrace.views import page

    return f"\n{page.script()}", f"\n{page.own_file('diff.js')}"


def own_styles() -> tuple[str, ...]:
    from gradtrace.views import flight, page

    return (
        f"\n{page.own_file('page.css')}{page.dark_rules()}",
        f"\n{page.own_file('diff.css')}",
        flight.STYLE,
    )
