"""Recorded runs as files: `-o run.gt` writes them, and every command accepts one as its source."""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.cli import session
from gradtrace.cli.options import Backward, Request
from gradtrace.errors import ProgramError, UsageError
from gradtrace.files import write_output
from gradtrace.program import syntax as ast
from gradtrace.trace.file import About, Record, write
from gradtrace.trace.relevant import relevant
from gradtrace.trace.values import frozen
from gradtrace.trace.variants import unwatched, variants

if TYPE_CHECKING:
    from gradtrace.cli.session import Wanted
    from gradtrace.engine import Tensor
    from gradtrace.program.parse import Program
    from gradtrace.trace import Trace

SUFFIX = "gt"
GENERATORS = ("random", "numpy.random")
KINDS = {
    "backward": int,
    **dict.fromkeys(("output", "grad_tensors", "inputs", "retain_grad"), tuple),
}
KINDS.update(dict.fromkeys(("no_backward", "retain_graph", "create_graph", "zero_grad"), bool))
NOT_AGAIN = "is a recorded run of PyTorch, which cannot be run again here"
# of a longer loop so many are noted node by node; for the others a command runs the program again
PASSES = 100


class Saving:
    """A run that will be written to the file `path`; its inputs are copied before the run
    starts.
    """

    def __init__(self, path: str, request: Request, tensors: dict[str, Tensor]) -> None:
        import gradtrace

        program = request.program
        source = request.program.source
        noted = tuple(
            (name, frozen(tensor), tensor.requires_grad) for name, tensor in tensors.items()
        )
        self.path = path
        random_state = gradtrace.get_rng_state().numpy().tobytes()
        files = tuple(
            (module.source.name, module.source.text) for module in (program.modules or {}).values()
        )
        about = About(source.name, source.text, request.dtype, request.seed, False, files, noted)
        options = tuple((name, value) for name, value in request.how._asdict().items() if value)
        self.about = about._replace(random_state=random_state, detailed=PASSES, options=options)

    def save(self, done: Any, tensors: dict[str, Tensor], watch: Any) -> Trace:
        """Write a finished run to the file and return its full trace."""
        run, roots, count = done
        with session.uncollected():
            traces = variants(run, roots, count, tensors, watch)
            self.write(self.about._replace(backward=count > 0), traces)
        return traces["all"]

    def save_failed(self, error: ProgramError, trace: Trace, backward: bool) -> None:
        """Write the run of a failed program; `backward`: it failed in the backward that the command
        called.
        """
        self.write(
            self.about._replace(failure=(error.message, error.hint), backward=backward),
            {"all": trace},
        )

    def write(self, about: About, traces: dict[str, Trace]) -> None:
        write_output(self.path, lambda stream: write(about, traces, stream))


def saved(request: Request, wanted: Wanted) -> Trace | None:
    """Return the trace that a run for this request would have; None if the program must run again
    for it.
    """
    record = request.program.record
    how = request.how
    part = request.part
    about: About = record.about
    changes = changed(request) or (how.no_backward and about.backward)
    if changes or wanted.jacobians or wanted.save is not None:
        return None
    if wanted.measuring and record.trace("all").precision is None:
        return None
    if (
        wanted.watched
        and wanted.detailed is None
        and len(record.trace("all").passes) > about.detailed
    ):
        return None
    if wanted.everything or part.chosen or about.failure is not None:
        name = "all"
    elif not wanted.derived:
        name = "eval"
    else:
        name = "watched" if wanted.watched else "graph"
    return record.trace(name) if wanted.watched else unwatched(record.trace(name))


def changed(request: Request) -> bool:
    """Whether any option but --no-backward changes the run."""
    return (
        any(request.inputs._replace(own=frozenset(), seed=None))
        or request.inputs.seed is not None
        or any(request.how._replace(no_backward=False))
    )


def options_of(record: Record, how: Backward) -> Backward:
    """Return the backward options for repeating a run: the command's if it has any, else the
    recorded ones.
    """
    recorded: dict[str, Any] = {
        name: value for name, value in record.about.options if type(value) is KINDS.get(name)
    }
    return how if any(how) else how._replace(**recorded)


def of_torch(request: Request, wanted: Wanted) -> Trace:
    """Return the trace of a recorded PyTorch run; no option may change the run."""
    record = request.program.record
    part = request.part
    name = record.about.source_name
    if changed(request):
        raise UsageError(
            f"{name} {NOT_AGAIN}",
            "leave out what would change the run (variables, --backward, --seed, ...); or change "
            "the program, and record it again: --engine torch",
        )
    if wanted.jacobians:
        raise UsageError(
            f"{name} {NOT_AGAIN}, and has no local derivatives, which are multiplied along a path",
            "gradtrace trace shows the gradient at each step of backward",
        )
    whole = record.trace("all")
    trace = whole if wanted.everything or part.chosen else relevant(whole)
    for note in trace.left_out:
        from gradtrace.cli import report

        report.write(f"{name}: {report.escaped(note)}")
    if wanted.save is not None:
        write_output(wanted.save, lambda stream: write(record.about, {"all": whole}, stream))
    if not trace.tensors:
        raise UsageError(f"{name} makes no tensor, so there is nothing to show")
    if trace.failure is not None and not wanted.failing:
        if wanted.failures is None:
            return part.of(trace, wanted.picture)
        from gradtrace.trace.failed import with_failure

        wanted.failures.append(failure(record, trace))
        trace = with_failure(trace)
    return part.of(trace, wanted.picture)


def needs_running(name: str) -> UsageError:
    """Return the error of a command that runs its source itself."""
    return UsageError(
        f"{name} {NOT_AGAIN}, as this command would need",
        "why, graph, stats, trace, diff and eval answer from the record alone",
    )


def refuse_random(program: Program) -> None:
    """Raise UsageError if the recorded program draws unseeded random numbers: a second run would
    differ.
    """
    for module in (program, *(program.modules or {}).values()):
        if draws_unseeded(module):
            raise UsageError(
                f"{module.source.name} draws numbers of random or numpy.random, so it cannot run "
                "again as it was recorded",
                "call their seed(N) in the program, or use torch's random numbers; and record it "
                "again",
            )


def draws_unseeded(program: Program) -> bool:
    """Whether a program uses `random` or `numpy.random` without calling seed()."""
    used = seeded = False
    for node in ast.walk(program.tree):
        if isinstance(node, ast.Import):
            used = used or any(alias.name in GENERATORS for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            used = used or node.module in GENERATORS
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            used = used or (node.attr == "random" and program.imports("numpy"))
        if isinstance(node, ast.Call):
            seeded = seeded or "seed" in (
                getattr(node.func, "attr", ""),
                getattr(node.func, "id", ""),
            )
    return used and not seeded


def failure(record: Record, trace: Trace) -> ProgramError:
    """Return the error that ended a recorded program, with its place."""
    from gradtrace.program.source import Source, Span

    about = record.about
    failed = trace.failure
    assert failed is not None
    texts = {"": trace.source_text, **dict(trace.files), **dict(about.files)}

    def place(span: Any) -> Any:
        if span is None:
            return None
        return Source(span.file or trace.source_name, texts.get(span.file, "")).place(
            Span(*span[:4])
        )

    error = ProgramError(*(about.failure or (f"{failed.kind}: {failed.message}", "")))
    error.place, error.forward = place(failed.span), place(failed.forward)
    return error
