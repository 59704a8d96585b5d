"""Pictures from Python: `gradtrace.draw(loss)`, which a notebook shows, and which saves itself in any format.

    picture = gradtrace.draw(loss, names={"w": w, "x": x})
    picture.save("graph.svg")            # or .png, .html, .mmd, ...: as `gradtrace graph -o`
    picture                              # in a notebook: the drawing; at a prompt: the tree

Of a tensor there is the graph that PyTorch keeps (style `autograd`), for nothing recorded the operators' other
arguments. A Trace, as `gradtrace.trace.capture` makes it, can be drawn in every style.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

from gradtrace.annotations import Any, Mapping, NamedTuple
from gradtrace.engine import Tensor
from gradtrace.trace.capture import capture
from gradtrace.trace.record import Trace
from gradtrace.views import dot, files, fold, image, model, render, tree


class Picture:
    """A drawing that is made when it is shown or saved."""

    def __init__(self, drawn: model.Model, options: dot.DotOptions) -> None:
        self.model = drawn
        self.options = options

    def save(self, path: str | os.PathLike[str], dpi: int | None = None) -> None:
        """Writes the file, in the format of its suffix. UsageError for another suffix, or a place that cannot be
        written; RenderError if nothing can draw."""
        name = os.fspath(path)
        files.write_output(name, render.render(self.model, self.options, render.suffix_of(name), dpi))

    def svg(self) -> str:
        """The drawing as SVG text."""
        return image.render(dot.text_of(self.model, self.options), "svg").decode()

    def __str__(self) -> str:
        return tree.render(self.model).rstrip("\n")

    def __repr__(self) -> str:
        return str(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """What Jupyter shows."""
        return {"image/svg+xml": self.svg(), "text/plain": str(self)}


class _Source(NamedTuple):
    """Stands for a program where there is none."""

    name: str = "tensor"
    text: str = ""


class _Run(NamedTuple):
    """A run of which only the end is known."""

    program: Any
    env: dict[str, Any]
    root: Any
    inputs: dict[str, Tensor]
    outputs: tuple[Any, ...] = ()
    records: tuple[Any, ...] = ()
    scopes: tuple[Any, ...] = ()
    spans: tuple[Any, ...] = ()


def draw(
    what: Tensor | Trace,
    *,
    names: Mapping[str, Tensor] | None = None,
    style: str | None = None,
    depth: int | None = None,
    expand: tuple[str, ...] = (),
    **options: Any,
) -> Picture:
    """The picture of a tensor's graph, or of a Trace.

    `names` gives tensors of the graph the names that they are shown by; `style`, `depth` and `expand` are those of
    `gradtrace graph`, and so are the further options: theme, legend, values, gradients, derivatives, direction, levels,
    color_by. UsageError for an option that has no such choice; TypeError for anything but a tensor or a Trace.
    """
    if isinstance(what, Tensor):
        trace = trace_of(what, names or {})
    elif isinstance(what, Trace):
        trace = what
    elif is_torch(what):
        after = live()
        env = names if names is not None else after.variables_of(sys._getframe(1))
        given = {"style": style, "depth": depth, "expand": expand, **options}
        found: Picture = after.picture(what, None, env, given)
        return found
    else:
        raise TypeError(f"draw() takes a tensor or a Trace, not {type(what).__name__}")
    chosen = dot.DotOptions(style=style or ("data" if trace.operations else "autograd"), **options)
    dot.check(chosen)
    return Picture(model.model(trace, chosen.style, fold.fold(trace, depth, expand)), chosen)


def is_torch(what: Any) -> bool:
    """Whether this is a tensor of real PyTorch, asked without importing it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(what, getattr(torch, "Tensor", ()))


def why(what: Any, loss: Any = None) -> str:
    """Why the gradient of a real PyTorch tensor is what it is, from the graph alone (see `gradtrace.torch.why`).

    TypeError for anything else; of a script `gradtrace why` answers.
    """
    if not is_torch(what):
        raise TypeError(f"why() takes a tensor of PyTorch, not {type(what).__name__}")
    after = live()
    return str(after.answer(what, loss, after.variables_of(sys._getframe(1))))


def live() -> Any:
    """The layer above, which needs real PyTorch: loaded by its name, and only for a tensor of PyTorch."""
    return import_module("gradtrace.torch.after")


def trace_of(tensor: Tensor, names: Mapping[str, Tensor]) -> Trace:
    """What a tensor still knows of how it was made, as a Trace without operations."""
    run = _Run(_Source(), dict(names), tensor, {})
    return capture(run, [tensor])
