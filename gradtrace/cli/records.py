"""Recorded runs as files: `-o run.gt` writes them, and every command accepts one as its source."""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, NamedTuple
from gradtrace.cli.options import Backward, Inputs
from gradtrace.cli.parts import Part
from gradtrace.errors import ProgramError, UsageError
from gradtrace.lang import syntax as ast
from gradtrace.trace.file import About, Record, write
from gradtrace.trace.values import frozen
from gradtrace.trace.variants import unwatched, variants

if TYPE_CHECKING:
    from gradtrace.engine import Tensor
    from gradtrace.lang import Program
    from gradtrace.trace import Trace

SUFFIX = "gt"
GENERATORS = ("random", "numpy.random")
KINDS = {"backward": int, **dict.fromkeys(("output", "grad_tensors", "inputs", "retain_grad"), tuple)}
KINDS.update(dict.fromkeys(("no_backward", "retain_graph", "create_graph", "zero_grad"), bool))
PASSES = 100  # of a longer loop so many are noted node by node; for the others a command runs the program again


class Saving:
    """A run that will be written to the file `path`; its inputs are copied before the run starts."""

    def __init__(
        self, path: str, program: Program, inputs: Inputs, how: Backward, tensors: dict[str, Tensor], dtype: str
    ) -> None:
        import gradtrace
        from gradtrace.cli import session

        source = program.source
        noted = tuple((name, frozen(tensor), tensor.requires_grad) for name, tensor in tensors.items())
        seed = session.seed_of(program, inputs)
        self.path = path
        random_state = gradtrace.get_rng_state().numpy().tobytes()
        files = tuple((one.source.name, one.source.text) for one in (program.modules or {}).values())
        about = About(source.name, source.text, dtype, seed, False, files, noted)
        options = tuple((name, value) for name, value in how._asdict().items() if value)
        self.about = about._replace(random_state=random_state, detailed=PASSES, options=options)

    def save(self, done: Any, tensors: dict[str, Tensor], watch: Any) -> Trace:
        """Write a finished run to the file and return its full trace."""
        from gradtrace.cli import session

        run, roots, count = done
        with session.uncollected():
            traces = variants(run, roots, count, tensors, watch)
            self.write(self.about._replace(backward=count > 0), traces)
        return traces["all"]

    def save_failed(self, error: ProgramError, trace: Trace, backward: bool) -> None:
        """Write the run of a failed program; `backward`: it failed in the backward that the command called."""
        self.write(self.about._replace(failure=(error.message, error.hint), backward=backward), {"all": trace})

    def write(self, about: About, traces: dict[str, Trace]) -> None:
        from gradtrace import files

        files.write_output(self.path, lambda stream: write(about, traces, stream))


class Wanted(NamedTuple):
    """The parts of a trace that a command needs."""

    watched: bool  # the backward passes
    everything: bool  # what neither the result nor a variable depends on
    derived: bool  # gradients with a history of their own
    detailed: bool  # every pass node by node
    part: Part


def saved(record: Record, inputs: Inputs, how: Backward, wanted: Wanted) -> Trace | None:
    """Return the trace that a run with these options would have; None if the program must run again for them."""
    about, part = record.about, wanted.part
    given = (inputs.given, inputs.set, inputs.params, inputs.no_grad, inputs.dtype)
    asked = how._replace(no_backward=False)
    if any(given) or inputs.seed is not None or any(asked) or (how.no_backward and about.backward):
        return None
    if wanted.watched and wanted.detailed and len(record.trace("all").passes) > about.detailed:
        return None
    whole = wanted.everything or part.chosen or about.failure is not None
    name = "all" if whole else "eval" if not wanted.derived else "watched" if wanted.watched else "graph"
    return record.trace(name) if wanted.watched else unwatched(record.trace(name))


def options_of(record: Record, how: Backward) -> Backward:
    """Return the backward options for repeating a run: the command's if it has any, else the recorded ones."""
    known: dict[str, Any] = {name: value for name, value in record.about.options if type(value) is KINDS.get(name)}
    return how if any(how) else how._replace(**known)


def of_torch(
    record: Record,
    inputs: Inputs,
    how: Backward,
    everything: bool,
    failing: bool,
    failures: list[ProgramError] | None,
    part: Part,
    picture: bool,
    save: str | None,
    jacobians: bool,
) -> Trace:
    """Return the trace of a recorded PyTorch run; options as in `session.record`, but none may change the run."""
    name = record.about.source_name
    given = (inputs.given, inputs.set, inputs.params, inputs.no_grad, inputs.dtype, inputs.seed is not None)
    if any(given) or any(how._replace(no_backward=False)) or jacobians:
        raise not_run_again(name)
    trace = record.trace("all" if everything or part.chosen else "graph")
    for note in trace.left_out:
        from gradtrace.cli import report

        report.write(f"{name}: {report.escaped(note)}")
    if save is not None:
        from gradtrace import files

        traces = {key: record.trace(key) for key in ("all", "eval", "graph", "watched")}
        files.write_output(save, lambda stream: write(record.about, traces, stream))
    if not trace.tensors:
        raise UsageError(f"{name} makes no tensor, so there is nothing to show")
    if trace.failure is not None and not failing:
        if failures is None:
            return part.of(trace, picture)
        from gradtrace.trace.failed import with_failure

        failures.append(ended(trace))
        trace = with_failure(trace)
    return part.of(trace, picture)


def ended(trace: Trace) -> ProgramError:
    """Return the error that ended a recorded PyTorch run, with its place."""
    from gradtrace.lang.source import Source, Span

    failure = trace.failure
    assert failure is not None
    error = ProgramError(f"{failure.kind}: {failure.message}", "")
    if failure.span is not None:
        file = Source(failure.span.file or trace.source_name, trace.text_of(failure.span))
        error.place = file.place(Span(*failure.span[:4]))
    return error


def not_run_again(name: str) -> UsageError:
    return UsageError(
        f"{name} is a recorded run of PyTorch, which cannot be run again here",
        "leave out what would change the run (variables, --backward, --seed, ...); or record it again: --engine torch",
    )


def refuse_random(program: Program) -> None:
    """Raise UsageError if the recorded program draws unseeded random numbers: a second run would differ."""
    for one in (program, *(program.modules or {}).values()):
        if draws_unseeded(one):
            raise UsageError(
                f"{one.source.name} draws numbers of random or numpy.random, so it cannot run again as it was recorded",
                "call their seed(N) in the program, or use torch's random numbers; and record it again",
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
            seeded = seeded or "seed" in (getattr(node.func, "attr", ""), getattr(node.func, "id", ""))
    return used and not seeded


def failure(record: Record, trace: Trace) -> ProgramError:
    """Return the error that ended a recorded program, with its place."""
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
