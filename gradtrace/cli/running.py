"""Run a program for a command: its output and warnings."""

from __future__ import annotations

import os
import sys

from gradtrace.annotations import TYPE_CHECKING, Any, Iterator
from gradtrace.cli import hints, output
from gradtrace.context import context
from gradtrace.errors import GradtraceError, ProgramError

if TYPE_CHECKING:
    from gradtrace.cli.options import Request
    from gradtrace.engine import Tensor
    from gradtrace.program.result import Run, RunOptions

PACKAGE = __file__.removesuffix(os.path.join("cli", "running.py"))
# What needs the packages that gradtrace itself uses.
USES = {
    "numpy": "arrays, float32 and larger pictures need it",
    "graphviz": "graphs made by make_dot need it",
}


def offer_pictures() -> None:
    """Let programs draw graphs with graphviz and torchviz."""
    from gradtrace.engine.data.higher import higher

    higher.update(draw_dot=draw_dot, graph_of=graph_of)


def draw_dot(source: str, format: str) -> bytes:
    """Return the picture of DOT text."""
    from gradtrace.views.image import render

    return render(source, format)


def graph_of(tensors: list[Tensor], names: dict[str, Any]) -> Any:
    """Return autograd's graph of some tensors as a graph of the package graphviz."""
    import graphviz

    from gradtrace.trace.live import trace_of
    from gradtrace.views import dot, notebook

    picture = notebook.picture_of(trace_of(tensors, names), style="autograd")
    graph = graphviz.Digraph()
    graph.body += dot.text_of(picture.model, picture.options).splitlines(keepends=True)[1:-1]
    return graph


def execute(request: Request, tensors: dict[str, Tensor], stdout: Any) -> Run:
    """Run the program of a request; output goes to `stdout`, warnings go to stderr."""
    from gradtrace.program.result import RunOptions

    with executing(request, tensors, RunOptions(stdout=stdout)) as run:
        pass
    return run


@context
def executing(request: Request, tensors: dict[str, Tensor], options: RunOptions) -> Iterator[Run]:
    """Run the program of a request and give its run, whose settings apply until the context ends.
    Each warning is written to stderr, with its line.
    """
    import warnings

    from gradtrace.program.expression import evaluating
    from gradtrace.program.grammar import is_expression

    try:
        program = request.program
        with warning_lines(program.source.name):
            options = options._replace(
                dtype=request.dtype, budget=request.budget, stderr=sys.stderr
            )
            # without what only programs need: modules, scopes, output
            if is_expression(program.tree):
                # the values of variables are lists without variables
                if program.inputs and (number := hints.decimal_comma(program)):
                    warnings.warn(f"a comma makes two values; {number} is one number", stacklevel=1)
                with evaluating(program, tensors, options) as run:
                    yield run
                return
            from gradtrace.program.run import running

            offer_pictures()
            with running(program, tensors, options) as run:
                yield run
    except ProgramError as error:
        if (missing := without_package(error.__cause__)) is not None:
            missing.place = error.place
            raise missing from None
        raise


@context
def warning_lines(name: str) -> Iterator[None]:
    """Write each UserWarning of a program to stderr: file, line and source, as Python writes them.

    A warning about a line of gradtrace itself is about the line of the program that runs; an
    expression has no such line.
    """
    import warnings

    def show(
        message: Any, category: type[Warning], filename: str, lineno: int, *_: Any, **__: Any
    ) -> None:
        from gradtrace.cli import report

        text = report.escaped(str(message))
        if filename.startswith(PACKAGE):
            frame: Any = sys._getframe()
            while frame is not None and frame.f_code.co_filename != name:
                frame = frame.f_back
            if frame is None:
                report.write(f"{name}: {category.__name__}: {text}")
                return
            filename, lineno = name, frame.f_lineno
        report.write(warnings.formatwarning(text, category, filename, lineno).rstrip())

    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = show
        yield


def without_package(error: BaseException | None) -> GradtraceError | None:
    """Return the error that says what to install, for a failed import of a package that gradtrace
    uses; None for any other error.
    """
    name = error.name or "" if isinstance(error, ModuleNotFoundError) else ""
    package = name.partition(".")[0]
    if package not in USES:
        return None
    return GradtraceError(f"{package} is not installed: {USES[package]}", f"pip install {package}")


class Printed:
    """The stream for a recorded program's output: stderr, with a heading if stdout is also a
    terminal.
    """

    muted = False

    def __init__(self) -> None:
        self.heading = output.is_terminal(sys.stderr) and output.is_terminal(sys.stdout)

    def write(self, text: str) -> int:
        if self.muted:
            return len(text)
        if self.heading and text:
            sys.stderr.write("printed by the program:\n")
            self.heading = False
        return sys.stderr.write(text)

    def __getattr__(self, name: str) -> Any:  # isatty, encoding, flush
        return getattr(sys.stderr, name)


class Muted:
    """Context manager that discards the program's output while one of its Functions is run again
    for a check.
    """

    def __init__(self, printed: Any) -> None:
        self.printed = printed

    def __enter__(self) -> None:
        self.printed.muted = True

    def __exit__(self, *_: object) -> None:
        self.printed.muted = False


def audible(stream: Any) -> Any:
    """Return a context for a program's output; on a terminal it shows progress if the program is
    long silent.
    """
    if not output.is_terminal(sys.stderr):
        return straight(stream)
    from gradtrace.cli import progress

    return progress.running(stream)


class straight:
    """Context manager that returns a stream unchanged."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __enter__(self) -> Any:
        return self.stream

    def __exit__(self, *_: object) -> None:
        pass
