"""Pages and pictures with something foreign in them: what the parent accepts must be harmless to another parser."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from random import Random
from xml.etree import ElementTree

from gradtrace.errors import UsageError
from tests.fuzz import mutate

FOREIGN = (
    "<script>alert(1)</script>",
    '<g onload="alert(1)">',
    "</g>",
    '<a href="javascript:alert(1)">',
    '<img src="x">',
    "<!--",
    "-->",
    "]]>",
    "<![CDATA[",
    "<?x",
    '<!ENTITY a "b">',
    '<style>@import "x";</style>',
    "</script>",
    "</style>",
    "</title>",
    "<title>",
    "<template>",
    "</template>",
    "<svg>",
    "</svg>",
    '<meta http-equiv="refresh" content="0;url=x">',
    '<base href="x">',
    '<iframe srcdoc="x">',
    ' onclick="x"',
    ' style="a:url(x)"',
    "&lt;script&gt;",
    "&#60;script&#62;",
    "<SCRIPT>",
    '<script src="x">',
    '<script type="module">',
    "<table>",
    "<td>",
    "<p>",
    "<textarea>",
    '"',
    "'",
    ">",
    "<",
    "/",
)
ADDRESSES = (
    "href",
    "src",
    "xlink:href",
    "action",
    "formaction",
    "srcdoc",
    "data",
    "style",
    "srcset",
    "poster",
)


@cache
def seeds() -> dict[str, list[bytes]]:
    from gradtrace.cli import main, source

    found: dict[str, list[bytes]] = {".html": [], ".svg": []}
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        for text in ("(x+w)*(w+1)", "x.sin().sum()"):
            for name in ("a.html", "a.svg"):
                source.forget()
                main.run(["graph", text, "--x", "1,2", "-s", "w=2", "-o", name])
                if Path(name).exists():
                    found[name[1:]].append(Path(name).read_bytes())
                    Path(name).unlink()
    return found


def make(rng: Random) -> tuple[str, bytes]:
    suffix = rng.choice((".html", ".svg"))
    made = bytearray(rng.choice(seeds()[suffix]))
    scripts = made.find(b"<script>")
    for _ in range(rng.randint(1, 3)):
        if rng.random() < 0.2:
            return suffix, mutate.data(rng, [bytes(made)], 300_000)
        # beside a tag, outside of the package's own script, which is most of a page
        places = [
            at for at in range(len(made[:scripts] if scripts > 0 else made)) if made[at] in b'<>"'
        ]
        at = rng.choice(places) + rng.randrange(2)
        made[at:at] = rng.choice(FOREIGN).encode()
    return suffix, bytes(made)


class Reader(HTMLParser):
    """A parser of its own kind, which says what is harmful."""

    def __init__(self) -> None:
        super().__init__()
        self.harmful: list[str] = []
        self.script: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.harmful += [
            f"{tag} {name}" for name, _ in attrs if name.startswith("on") or name in ADDRESSES
        ]
        if tag in (
            "img",
            "iframe",
            "base",
            "link",
            "object",
            "embed",
            "use",
            "image",
            "foreignobject",
            "animate",
        ):
            self.harmful.append(tag)
        if tag == "script":
            self.script = ""

    def handle_data(self, data: str) -> None:
        if self.script is not None:
            self.script += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "script" and self.script is not None:
            from gradtrace.views import markup

            if self.script not in markup.own_scripts():
                json.loads(self.script)
            self.script = None


def run(made: tuple[str, bytes]) -> None:
    from gradtrace.views import markup

    suffix, content = made
    try:
        markup.check(content, suffix)
    except UsageError:
        return
    reader = Reader()
    reader.feed(content.decode())
    reader.close()
    assert not reader.harmful, reader.harmful
    if suffix == ".svg":
        with suppress(ElementTree.ParseError):  # a browser shows nothing of it
            for element in ElementTree.fromstring(content).iter():
                assert "script" not in element.tag
