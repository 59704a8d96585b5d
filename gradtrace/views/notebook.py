"""Display in a notebook: a tensor's graph as a picture or a page with a player, and answers about its gradients.

    gradtrace.draw(loss)                 # in a notebook the drawing, at a prompt the tree
    gradtrace.draw(loss).save("g.svg")   # or .png, .html, .mmd, ...: as `gradtrace graph -o`
    gradtrace.page(loss)                 # the page, with the steps of a backward pass to play
    gradtrace.why(w)                     # and why(w, loss), stats(loss), steps(loss)

Names are those of the caller's variables, unless `names` gives others. A tensor's picture has only what its graph holds
(see `trace/live.py`); a Trace, as `gradtrace.trace.capture` makes it, has everything that was recorded.
"""

from __future__ import annotations

import os
import sys
from base64 import b64encode
from html import escape
from importlib import import_module

from gradtrace import files
from gradtrace.analysis import stats as statistics
from gradtrace.analysis import steps as stepping
from gradtrace.analysis.afterwards import afterwards
from gradtrace.annotations import Any, Mapping
from gradtrace.engine import Tensor
from gradtrace.trace import live
from gradtrace.trace.history import bound_names
from gradtrace.trace.record import Trace
from gradtrace.views import arrange, dot, image, model, render, tree
from gradtrace.views import page as page_view
from gradtrace.views import stats as stats_view
from gradtrace.views import steps as steps_view
from gradtrace.views import why as why_view
from gradtrace.views.layout import LayoutOptions
from gradtrace.views.rich import Report

HEIGHT = 620  # pixels of the page within a notebook
LOOK = LayoutOptions(width=110, color=True)
SHELL = ("In", "Out", "exit", "quit", "get_ipython")  # names that IPython puts among the variables


class Picture:
    """A drawing that is made when it is shown or saved."""

    def __init__(self, drawn: model.Model, options: dot.DotOptions) -> None:
        self.model = drawn
        self.options = options

    def save(self, path: str | os.PathLike[str], dpi: int | None = None) -> None:
        """Write the file, in the format of its suffix. UsageError for another suffix, or a path that cannot be written;
        RenderError if no renderer works.
        """
        name = os.fspath(path)
        files.write_output(name, render.render(self.model, self.options, render.suffix_of(name), dpi))

    def svg(self) -> str:
        """Return the drawing as SVG text."""
        return image.render(dot.text_of(self.model, self.options), "svg").decode()

    def __str__(self) -> str:
        return tree.render(self.model).rstrip("\n")

    def __repr__(self) -> str:
        return str(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """What Jupyter shows: the drawing, never wider than its cell."""
        drawing, words = self.svg(), str(self)
        return {"text/html": img(drawing, words), "image/svg+xml": drawing, "text/plain": words}


def img(svg: str, words: str) -> str:
    """Return an HTML image of a drawing, at most as wide as its container; `words` are its alternative text."""
    data = b64encode(svg.encode()).decode()
    look = "max-width:100%;height:auto"
    return f'<img src="data:image/svg+xml;base64,{data}" style="{look}" alt="{escape(words)}">'


class Page:
    """The page of a graph, shown inline: a frame that loads nothing from the network and contains the player."""

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


def draw(
    what: Tensor | Trace,
    *,
    names: Mapping[str, Tensor] | None = None,
    style: str | None = None,
    fit: str = "16:9",
    depth: int | None = None,
    expand: tuple[str, ...] = (),
    direction: str | None = None,
    **options: Any,
) -> Picture:
    """Return the picture of a tensor's graph, or of a Trace.

    `names` maps names to tensors of the graph; by default the names are those of the caller's variables. `style`,
    `fit`, `depth`, `expand` and `direction` are those of `gradtrace graph`, and so are the further options: theme,
    legend, values, gradients, derivatives, detail, levels, color_by. UsageError for an option with an unknown value;
    TypeError for anything but a tensor or a Trace.
    """
    given = {"style": style, "fit": fit, "depth": depth, "expand": expand, "direction": direction, **options}
    if is_torch(what):
        after = of_torch()
        env = names if names is not None else after.variables_of(sys._getframe(1))
        found: Picture = after.picture(what, None, env, given)
        return found
    env = names if names is not None else variables(sys._getframe(1))
    return Picture(*arranged(trace_of(what, "draw", env), **given))


def page(
    what: Tensor | Trace,
    *,
    names: Mapping[str, Tensor] | None = None,
    style: str | None = None,
    fit: str = "none",
    depth: int | None = None,
    expand: tuple[str, ...] = (),
    direction: str | None = None,
    height: int = HEIGHT,
    **options: Any,
) -> Page:
    """Return the page of a tensor's graph, or of a Trace, to explore and to play forward and backward.

    For the player a backward pass is run from the tensor (from its sum, if it has several elements), and every `.grad`
    is restored afterwards. The page has no backward pass to play if saved values were freed, if hooks would run, or for
    a tensor of real PyTorch; a recording (`gradtrace.torch.record`) has one. `height` is the frame's, in pixels; the
    other arguments are those of `draw`.
    """

    env = names if names is not None else caller_variables(what, sys._getframe(1))
    given = {"style": style, "fit": fit, "depth": depth, "expand": expand, "direction": direction, **options}

    def work() -> str:
        return page_view.page(*arranged(trace_of(what, "page", env, rehearse=True), **given))

    text: str = of_torch().undisturbed(work) if is_torch(what) else work()
    return Page(text, height)


def why(what: Tensor, loss: Tensor | None = None) -> Report:
    """Explain `what.grad`; with the loss, also whether the loss depends on `what`.

    The answer uses only the tensor and its graph; a recorded run can say more. TypeError for anything but a tensor.
    """

    env = variables(sys._getframe(1))
    if is_torch(what):
        after = of_torch()
        return Report(str(after.answer(what, loss, env)))
    for tensor in (what,) if loss is None else (what, loss):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"why() takes a tensor, not {type(tensor).__name__}")
    name = next((name for name, tensor in bound_names(env) if tensor is what), "the tensor")
    return Report(why_view.text([afterwards(what, name, loss)], LOOK))


def stats(what: Tensor | Trace) -> Report:
    """Return norm, mean, largest element and zeros of every tensor of a graph and of the gradients that reach them.

    A backward pass is run for the gradients, as for `page`. TypeError for anything but a tensor or a Trace; also for a
    tensor of real PyTorch, whose values were not recorded.
    """

    not_of_torch(what, "stats")
    trace = trace_of(what, "stats", variables(sys._getframe(1)), rehearse=True)
    return Report(stats_view.text(statistics.stats(trace), LOOK))


def steps(what: Tensor | Trace) -> Report:
    """Return every step of a graph, forward and then backward, as `gradtrace trace` shows them.

    A backward pass is run, as for `page`. TypeError for anything but a tensor or a Trace; also for a tensor of real
    PyTorch, whose operations were not recorded.
    """

    not_of_torch(what, "steps")
    trace = trace_of(what, "steps", variables(sys._getframe(1)), rehearse=True)
    return Report("".join(steps_view.table(stepping.steps(trace), LOOK)))


# ---- what is shown


def trace_of(what: Any, caller: str, env: Mapping[str, Any], *, rehearse: bool = False) -> Trace:
    """Return the Trace itself, or that of a tensor's graph. TypeError, with the name of the `caller`, for anything
    else.
    """
    if isinstance(what, Trace):
        return what
    if is_torch(what):
        graph: Trace = of_torch().graph_of(what, env)
        return graph
    if not isinstance(what, Tensor):
        raise TypeError(f"{caller}() takes a tensor or a Trace, not {type(what).__name__}")
    return live.trace_of([what], env, rehearse=rehearse)


def arranged(
    trace: Trace,
    style: str | None,
    fit: str,
    depth: int | None,
    expand: tuple[str, ...],
    direction: str | None,
    **options: Any,
) -> tuple[model.Model, dot.DotOptions]:
    """Return the model and the options that draw it in its frame. UsageError for an option with an unknown value."""
    chosen = dot.DotOptions(style=style or ("data" if trace.operations else "autograd"), **options)
    dot.check(chosen._replace(direction=direction or chosen.direction))
    return arrange.arrange(trace, chosen, fit, depth, expand, direction)


def variables(frame: Any) -> dict[str, Any]:
    """Return the variables that a frame's code can name, local ones first, without those of IPython."""
    found = {**frame.f_locals, **{k: v for k, v in frame.f_globals.items() if k not in frame.f_locals}}
    return {name: value for name, value in found.items() if name[:1] != "_" and name not in SHELL}


# ---- real PyTorch


def is_torch(what: Any) -> bool:
    """Whether this is a tensor of real PyTorch, tested without importing PyTorch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(what, getattr(torch, "Tensor", ()))


def not_of_torch(what: Any, caller: str) -> None:
    """Raise TypeError for a tensor of real PyTorch: its graph holds no values to count or to list."""
    if is_torch(what):
        raise TypeError(
            f"{caller}() of a PyTorch tensor needs a recorded run, for its graph alone has no values; "
            f"with gradtrace.torch.record() as r: ..., then r.{caller}()"
        )


def caller_variables(what: Any, frame: Any) -> dict[str, Any]:
    """Return the caller's variables; for a tensor of real PyTorch, those that its front end reads."""
    if is_torch(what):
        found: dict[str, Any] = of_torch().variables_of(frame)
        return found
    return variables(frame)


def of_torch() -> Any:
    """Return `gradtrace.torch.after`, which needs real PyTorch: imported only for a tensor of PyTorch."""
    return import_module("gradtrace.torch.after")
