"""What a notebook displays: a graph as a picture, or as a page with a player."""

from __future__ import annotations

import os
from base64 import b64encode
from html import escape

from gradtrace import files
from gradtrace.annotations import Any
from gradtrace.trace.record import Trace
from gradtrace.views import arrange, dot, image, model, render, terminal, tree

HEIGHT = 620  # pixels of the page within a notebook


class Report:
    """Text shown with colours in a notebook and without at a prompt. `painted` contains the
    terminal's escape codes.
    """

    def __init__(self, painted: str) -> None:
        self.painted = painted

    def __str__(self) -> str:
        return terminal.without_codes(self.painted)

    def __repr__(self) -> str:
        return str(self).rstrip("\n")

    def _repr_html_(self) -> str:
        return terminal.html(self.painted)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self._repr_html_(), "text/plain": repr(self)}


class Picture:
    """A drawing that is made when it is shown or saved."""

    def __init__(self, drawn: model.Model, options: dot.DotOptions) -> None:
        self.model = drawn
        self.options = options

    def save(self, path: str | os.PathLike[str], dpi: int | None = None) -> None:
        """Write the file, in the format of its suffix. UsageError for another suffix, or a path
        that cannot be written; RenderError if no renderer works.
        """
        name = os.fspath(path)
        files.write_output(
            name, render.render(self.model, self.options, render.suffix_of(name), dpi)
        )

    def svg(self) -> str:
        """Return the drawing as SVG text."""
        return image.render(dot.text_of(self.model, self.options), "svg").decode()

    def __str__(self) -> str:
        return tree.render(self.model).rstrip("\n")

    def __repr__(self) -> str:
        return str(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """What Jupyter shows: the drawing, never wider than its cell."""
        drawing = self.svg()
        words = str(self)
        return {"text/html": img(drawing, words), "image/svg+xml": drawing, "text/plain": words}


def img(svg: str, words: str) -> str:
    """Return an HTML image of a drawing, at most as wide as its container; `words` are its
    alternative text.
    """
    data = b64encode(svg.encode()).decode()
    look = "max-width:100%;height:auto"
    return f'<img src="data:image/svg+xml;base64,{data}" style="{look}" alt="{escape(words)}">'


class Page:
    """The page of a graph, shown inline: a frame that loads nothing from the network and contains
    the player.
    """

    def __init__(self, text: str, height: int = HEIGHT) -> None:
        self.text = text
        self.height = height

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page. UsageError for a path that cannot be written."""
        files.write_output(os.fspath(path), self.text.encode())

    def __repr__(self) -> str:
        return "<gradtrace page: shown by a notebook; .save(path) writes it>"

    def _repr_html_(self) -> str:
        look = f"width:100%;height:{self.height}px;box-sizing:border-box;border:1px solid #8888"
        frame = f'<iframe title="gradtrace" sandbox="allow-scripts allow-downloads" style="{look}"'
        return f'{frame} srcdoc="{escape(self.text)}"></iframe>'

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self._repr_html_(), "text/plain": repr(self)}


def picture_of(trace: Trace, **options: Any) -> Picture:
    """Return the picture of a trace; see `gradtrace.draw` for the options."""
    return Picture(*arranged(trace, **options))


def arranged(
    trace: Trace,
    style: str | None = None,
    fit: str = "16:9",
    depth: int | None = None,
    expand: tuple[str, ...] = (),
    direction: str | None = None,
    **options: Any,
) -> tuple[model.Model, dot.DotOptions]:
    """Return the model and the options that draw it in its frame. UsageError for an option with an
    unknown value.
    """
    chosen = dot.DotOptions(style=style or ("data" if trace.operations else "autograd"), **options)
    dot.check(chosen._replace(direction=direction or chosen.direction))
    return arrange.arrange(trace, chosen, fit, depth, expand, direction)
