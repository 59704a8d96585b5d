"""Recorded runs as files: what `-o run.gt` writes, and what every command reads as its source."""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.cli.options import Backward, Inputs
from gradtrace.cli.parts import Part
from gradtrace.errors import ProgramError
from gradtrace.trace.file import About, Record, write
from gradtrace.trace.values import frozen
from gradtrace.trace.variants import unwatched, variants

if TYPE_CHECKING:
    from gradtrace.engine import Tensor
    from gradtrace.lang import Program
    from gradtrace.trace import Trace

SUFFIX = "gt"


class Saving:
    """A run that is to be written to the file `path`: its inputs are noted before it begins."""

    def __init__(self, path: str, program: Program, inputs: Inputs, tensors: dict[str, Tensor], dtype: str) -> None:
        from gradtrace.cli import session

        source = program.source
        noted = tuple((name, frozen(tensor), tensor.requires_grad) for name, tensor in tensors.items())
        seed = session.seed_of(program, inputs)
        self.path = path
        self.about = About(source.name, source.text, dtype, seed, False, inputs=noted)

    def save(self, done: Any, tensors: dict[str, Tensor], watch: Any) -> Trace:
        """Write a finished run, and return all of it."""
        from gradtrace.cli import session

        run, roots, count = done
        with session.uncollected():
            traces = variants(run, roots, count, tensors, watch)
            self.write(self.about._replace(backward=count > 0), traces)
        return traces["all"]

    def save_failed(self, error: ProgramError, trace: Trace) -> None:
        """Write the run of a program that raised."""
        self.write(self.about._replace(failure=(error.message, error.hint)), {"all": trace})

    def write(self, about: About, traces: dict[str, Trace]) -> None:
        from gradtrace.views import files

        about = about._replace(files=traces["all"].files)
        files.write_output(self.path, lambda stream: write(about, traces, stream))


def saved(record: Record, inputs: Inputs, how: Backward, kept: tuple[bool, bool, bool], part: Part) -> Trace | None:
    """The trace that a run for these options would have; None if the program must run again for them."""
    given = (inputs.given, inputs.set, inputs.params, inputs.no_grad, inputs.dtype)
    plain = not any(given) and inputs.seed is None
    asked = how._replace(no_backward=False)
    unchanged = not any(asked) and not (how.no_backward and record.about.backward)
    if not plain or not unchanged:
        return None
    watched, everything, derived = kept
    if record.about.failure is not None:
        return record.trace("all") if watched else unwatched(record.trace("all"))
    if part.chosen and not watched and part.pass_number is None:
        return unwatched(record.trace("all"))
    if everything or part.chosen:
        return record.trace("all")
    return record.trace("watched") if watched and derived else unwatched(record.trace("graph" if derived else "eval"))


def failure(record: Record, trace: Trace) -> ProgramError:
    """The error that ended a recorded program, as the run told it."""
    from gradtrace.lang.source import Source, Span

    assert record.about.failure is not None
    found, texts = trace.failure, {"": record.about.source_text, **dict(record.about.files)}

    def place(span: Any) -> Any:
        if span is None:
            return None
        return Source(span.file or record.about.source_name, texts.get(span.file, "")).place(Span(*span[:4]))

    error = ProgramError(*record.about.failure)
    if found is not None:
        error.place, error.forward = place(found.span), place(found.forward)
    return error

