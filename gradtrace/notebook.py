"""Display in a notebook: a tensor's graph as a picture or a page with a player, and answers about
its gradients.

    gradtrace.draw(loss)                 # in a notebook the drawing, at a prompt the tree
    gradtrace.draw(loss).save("g.svg")   # or .png, .html, .mmd, ...: as `gradtrace graph -o`
    gradtrace.page(loss)                 # the page, with the steps of a backward pass to play
    gradtrace.why(w)                     # and why(w, loss), stats(loss), steps(loss)

Names are those of the caller's variables, unless `names` gives others. A tensor's picture has only
what its graph holds (see `trace/live.py`); a Trace, as `gradtrace.trace.capture` makes it, has
everything that was recorded.
"""

from __future__ import annotations

import sys

from gradtrace.analysis import stats as statistics
from gradtrace.analysis import steps as stepping
from gradtrace.analysis.afterwards import afterwards
from gradtrace.annotations import Any, Mapping
from gradtrace.engine import Tensor
from gradtrace.trace import live
from gradtrace.trace.cell_values import of_note
from gradtrace.trace.history import bound_names
from gradtrace.trace.record import Trace
from gradtrace.views import page as page_view
from gradtrace.views import stats as stats_view
from gradtrace.views import steps as steps_view
from gradtrace.views import why as why_view
from gradtrace.views.layout import LayoutOptions
from gradtrace.views.notebook import HEIGHT, Page, Picture, Report, arranged, picture_of

LOOK = LayoutOptions(width=110, color=True)
SHELL = ("In", "Out", "exit", "quit", "get_ipython")  # names that IPython puts among the variables


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

    `names` maps names to tensors of the graph; by default the names are those of the caller's
    variables. `style`, `fit`, `depth`, `expand` and `direction` are those of `gradtrace graph`, and
    so are the further options: theme, legend, values, gradients, derivatives, detail, levels,
    color_by. UsageError for an option with an unknown value; TypeError for anything but a tensor or
    a Trace.
    """
    settings = {
        "style": style,
        "fit": fit,
        "depth": depth,
        "expand": expand,
        "direction": direction,
        **options,
    }
    if is_torch(what):
        from gradtrace.torch import after
        from gradtrace.torch.recording import variables_of

        env = names if names is not None else variables_of(sys._getframe(1))
        picture: Picture = after.picture(what, None, env, settings)
        return picture
    env = names if names is not None else variables(sys._getframe(1))
    return picture_of(trace_of(what, "draw", env), **settings)


def page(
    what: Tensor | Trace,
    *,
    names: Mapping[str, Tensor] | None = None,
    fit: str = "4:3",
    height: int = HEIGHT,
    **options: Any,
) -> Page:
    """Return the page of a tensor's graph, or of a Trace, to explore and to play forward and
    backward.

    For the player a backward pass is run from the tensor (from its sum, if it has several
    elements), and every `.grad` is restored afterwards. The page has no backward pass to play if
    saved values were freed, if hooks would run, or for a tensor of real PyTorch; a recording
    (`gradtrace.torch.record`) has one. `height` is the frame's, in pixels; the other arguments are
    those of `draw`.
    """

    env = names if names is not None else caller_variables(what, sys._getframe(1))

    def work() -> str:
        return page_view.page(
            *arranged(trace_of(what, "page", env, rehearse=True), fit=fit, **options)
        )

    if not is_torch(what):
        return Page(work(), height)
    from gradtrace.torch.recording import undisturbed

    return Page(undisturbed(work), height)


def why(what: Tensor, loss: Tensor | None = None) -> Report:
    """Explain `what.grad`; with the loss, also whether the loss depends on `what`.

    The answer uses only the tensor and its graph; a recorded run can say more. TypeError for
    anything but a tensor.
    """

    env = variables(sys._getframe(1))
    if is_torch(what):
        from gradtrace.torch import after

        return Report(str(after.answer(what, loss, env)))
    for tensor in (what,) if loss is None else (what, loss):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"why() takes a tensor, not {type(tensor).__name__}")
    name = next((name for name, tensor in bound_names(env) if tensor is what), "the tensor")
    return Report(why_view.text([afterwards(what, name, loss)], LOOK))


def stats(what: Tensor | Trace) -> Report:
    """Return norm, mean, largest element and zeros of every tensor of a graph and of the gradients
    that reach them.

    A backward pass is run for the gradients, as for `page`. TypeError for anything but a tensor or
    a Trace; also for a tensor of real PyTorch, whose values were not recorded.
    """

    not_of_torch(what, "stats")
    trace = trace_of(what, "stats", variables(sys._getframe(1)), rehearse=True)
    return Report(stats_view.text(statistics.stats(trace), LOOK))


def steps(what: Tensor | Trace) -> Report:
    """Return every step of a graph, forward and then backward, as `gradtrace trace` shows them.

    A backward pass is run, as for `page`. TypeError for anything but a tensor or a Trace; also for
    a tensor of real PyTorch, whose operations were not recorded.
    """

    not_of_torch(what, "steps")
    trace = trace_of(what, "steps", variables(sys._getframe(1)), rehearse=True)
    return Report("".join(steps_view.table(stepping.steps(trace), LOOK)))


# ---- what is shown


def trace_of(subject: Any, caller: str, env: Mapping[str, Any], *, rehearse: bool = False) -> Trace:
    """Return the Trace itself, or that of a tensor's graph. TypeError, with the name of the
    `caller`, for anything else.
    """
    if isinstance(subject, Trace):
        return subject
    if is_torch(subject):
        from gradtrace.torch import after

        return after.graph_of(subject, env)
    if not isinstance(subject, Tensor):
        raise TypeError(f"{caller}() takes a tensor or a Trace, not {type(subject).__name__}")
    return live.trace_of([subject], env, rehearse=rehearse)


def variables(frame: Any) -> dict[str, Any]:
    """Return the variables that a frame's code can name, local ones first, without those of
    IPython.
    """
    if of_note:
        bindings = dict(of_note[-1])
    else:
        bindings = {
            **frame.f_locals,
            **{k: v for k, v in frame.f_globals.items() if k not in frame.f_locals},
        }
    return {
        name: value for name, value in bindings.items() if name[:1] != "_" and name not in SHELL
    }


# ---- real PyTorch


def is_torch(subject: Any) -> bool:
    """Whether this is a tensor of real PyTorch, tested without importing PyTorch."""
    torch = sys.modules.get("torch")
    return (
        torch is not None
        and isinstance(subject, getattr(torch, "Tensor", ()))
        and not isinstance(subject, Tensor)
    )


def not_of_torch(subject: Any, caller: str) -> None:
    """Raise TypeError for a tensor of real PyTorch: its graph holds no values to count or to
    list.
    """
    if is_torch(subject):
        raise TypeError(
            f"{caller}() of a PyTorch tensor needs a recorded run, for its graph alone has no "
            f"values; with gradtrace.torch.record() as r: ..., then r.{caller}()"
        )


def caller_variables(subject: Any, frame: Any) -> dict[str, Any]:
    """Return the caller's variables; for a tensor of real PyTorch, those that its front end
    reads.
    """
    if is_torch(subject):
        from gradtrace.torch.recording import variables_of

        return variables_of(frame)
    return variables(frame)
