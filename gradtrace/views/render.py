"""Write a model in the format of a file's suffix.

render(model, options, "svg") -> bytes

dot svg png pdf    Graphviz                 html    a page to explore, with a player
json graphml       node and edge lists      mmd     Mermaid
txt                a tree                   mp4     an animation, with ffmpeg
gif apng webp      an animation
"""

from __future__ import annotations

from importlib import import_module

from gradtrace.annotations import NamedTuple
from gradtrace.errors import UsageError
from gradtrace.views.dot import DotOptions, check, drawing_of
from gradtrace.views.frame import Layout
from gradtrace.views.model import Model
from gradtrace.views.suffixes import ANIMATION, DRAWING, PAGE, PICTURES, SUFFIXES, of_kinds

DRAWN = of_kinds(DRAWING)
ANIMATED = of_kinds(ANIMATION)
WATCHED = of_kinds(PAGE, ANIMATION)  # they tell also of backward, if the run was watched


class Film(NamedTuple):
    """Options of an animation: its speed as a factor, and its size in pixels (None: the drawing's
    size).
    """

    speed: float = 1.0
    size: tuple[int, int] | None = None


def suffix_of(name: str, among: tuple[str, ...] = SUFFIXES) -> str:
    """Return the format that a file's suffix stands for. UsageError if the suffix is unknown."""
    suffix = name.rpartition(".")[2].lower() if "." in name else ""
    if suffix not in among:
        raise UsageError(
            f"cannot tell what to draw from '{name}'", f"end it in .{', .'.join(among)}"
        )
    return suffix


def render_dot(text: str, suffix: str, dpi: int | None = None) -> bytes:
    """Return DOT text unchanged, or drawn in another format."""
    if suffix == "dot":
        return text.encode()
    from gradtrace.views import image

    return image.render(text, suffix, dpi=dpi)


def render(
    drawn: Model, options: DotOptions, suffix: str, dpi: int | None = None, film: Film = Film()
) -> bytes:
    """Return the file's content. UsageError for an unknown suffix, RenderError if no renderer
    works.
    """
    check(options)
    if suffix in DRAWN:
        drawing = drawing_of(drawn, options)
        if suffix == "png":
            from gradtrace.views import image

            image.refuse_too_long(max(Layout(drawing).size()), dpi)
        return render_dot(drawing.text, suffix, dpi)
    if suffix == "html":
        from gradtrace.views import page

        return page.page(drawn, options).encode()
    if suffix in ANIMATED:
        from gradtrace.views import animation

        return animation.render(drawn, options, suffix, dpi, film.speed, film.size)
    if suffix not in PICTURES:
        raise UsageError(f"unknown format '{suffix}'", f"use one of: {', '.join(SUFFIXES)}")
    module, _, name = PICTURES[suffix].writer.partition(":")
    text: str = getattr(import_module(f"gradtrace.views.{module}"), name)(drawn)
    return text.encode()
