"""The formats of pictures: the suffixes of their files, how these begin, and how the help of -o
shows them.

To add one that is text, write its row here and its function, of a Model, in a module of `views/`;
others also need a line in `views/render.py`.
"""

from __future__ import annotations

from gradtrace.annotations import NamedTuple


class PictureFormat(NamedTuple):
    """A format of pictures. A file may be overwritten if it begins like one; () where any text may
    be one.

    `shown` is the format in the help of -o; "" for those that another one mentions. `writer` is the
    function that writes a text, "module:function".
    """

    kind: str
    begins: tuple[bytes, ...] = ()
    shown: str = ""
    writer: str = ""


# drawings and animations fit a frame
DRAWING, ANIMATION, PAGE, TEXT = "drawing", "animation", "page", "text"
PICTURES = {
    "svg": PictureFormat(DRAWING, (b"<?xml", b"<svg", b"<!doctype svg"), ".svg"),
    "png": PictureFormat(DRAWING, (b"\x89png",), ".png"),
    "pdf": PictureFormat(DRAWING, (b"%pdf",), ".pdf"),
    "dot": PictureFormat(DRAWING, (b"digraph", b"strict", b"graph", b"//", b"/*"), ".dot"),
    "html": PictureFormat(PAGE, (b"<!doctype html", b"<html"), ".html"),
    "gif": PictureFormat(ANIMATION, (b"gif8",), ".gif (.apng, .webp, .mp4 with ffmpeg)"),
    "apng": PictureFormat(ANIMATION, (b"\x89png",)),
    "webp": PictureFormat(ANIMATION, (b"riff",)),
    "mp4": PictureFormat(ANIMATION),
    "mmd": PictureFormat(TEXT, (b"flowchart", b"graph", b"%%", b"---"), ".mmd", "exchange:mermaid"),
    "json": PictureFormat(TEXT, (b"{", b"["), ".json", "exchange:node_link"),
    "graphml": PictureFormat(TEXT, (b"<?xml", b"<graphml"), ".graphml", "exchange:graphml"),
    "txt": PictureFormat(TEXT, (), ".txt", "tree:render"),
}
SUFFIXES = tuple(PICTURES)


def of_kinds(*kinds: str) -> tuple[str, ...]:
    """Return the suffixes of the formats of these kinds."""
    return tuple(suffix for suffix, picture in PICTURES.items() if picture.kind in kinds)


def listed() -> str:
    """Return the formats as the help of -o lists them: ".svg, .png, ... or .txt"."""
    *shown, last = [picture.shown for picture in PICTURES.values() if picture.shown]
    return f"{', '.join(shown)} or {last}"
