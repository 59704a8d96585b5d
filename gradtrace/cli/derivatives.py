"""Run a program for `jacobian` and `hessian` up to its call of backward, and choose what to differentiate."""

from __future__ import annotations

import sys

from gradtrace.annotations import TYPE_CHECKING, Any, Callable, NamedTuple, TypeVar
from gradtrace.cli import running, session
from gradtrace.cli.inputs import prepare
from gradtrace.cli.options import Request, names
from gradtrace.errors import UsageError

if TYPE_CHECKING:
    from gradtrace.engine import Tensor

T = TypeVar("T")


class Choice(NamedTuple):
    """The outputs to differentiate and the tensors to differentiate by, each with its name."""

    outputs: list[tuple[str, Tensor]]
    wrt: list[tuple[str, Tensor]]


def at_the_end(
    request: Request,
    output: tuple[str, ...],
    wrt: tuple[str, ...],
    work: Callable[[Choice], T],
) -> T:
    """Run the program and return `work(choice)`, called at its end while the run's settings still apply."""
    from gradtrace.trace.probe import Stop

    tensors = prepare(request)
    stop = Stop()
    done: list[T] = []

    def then(run: Any) -> None:
        from gradtrace.engine.state import state

        state.watcher, run = None, session.boxed(run)
        done.append(work(chosen(run, tensors, stop, names(output), names(wrt))))

    running.execute(request, tensors, sys.stderr, record=True, watcher=stop, then=then)
    return done[0]


def chosen(run: Any, tensors: dict[str, Tensor], stop: Any, output: tuple[str, ...], wrt: tuple[str, ...]) -> Choice:
    from gradtrace.trace.history import bound_names

    known = {**tensors, **dict(bound_names(run.env))}
    by_id = {id(tensor): name for name, tensor in reversed(known.items())}
    if output:
        outputs = [(name, find(known, name, "--output")) for name in output]
    else:
        roots = list(stop.outputs) if stop.outputs else session.roots_of(run)
        outputs = [(by_id.get(id(t)) or result_text(run, t), t) for t in roots]
    if not outputs:
        raise UsageError("the program's value is not a tensor", "choose one with --output NAME")
    inner = [(name, find(known, name, "--wrt")) for name in wrt]
    for name, tensor in inner:
        if not tensor.requires_grad:
            raise UsageError(f"--wrt: {name} does not require grad", "let it require grad, or choose another")
    leaves = [(name, t) for name, t in known.items() if t.is_leaf and t.requires_grad]
    if not inner and not leaves:
        raise UsageError("no variable requires grad", "leave out --no-grad")
    return Choice(outputs, inner or leaves)


def find(known: dict[str, Tensor], name: str, option: str) -> Tensor:
    if name in known:
        return known[name]
    from gradtrace.views.pick import close

    raise UsageError(f"{option}: no tensor '{name}'", close(name, known) or f"there are {', '.join(known)}")


def result_text(run: Any, tensor: Tensor) -> str:
    """Return the expression that computes an unnamed result."""
    from gradtrace.trace.labels import SourceText

    fn = tensor.grad_fn
    text = SourceText(run).excerpt(fn.origin) if fn is not None else ""
    return text or "y"
