"""Recorded runs as files: what `graph -o run.gt` writes, and what every command reads as its source."""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.cli.options import Backward, Inputs
from gradtrace.cli.parts import Part
from gradtrace.errors import ProgramError, UsageError
from gradtrace.trace.capture import capture
from gradtrace.trace.file import About, Record, write

if TYPE_CHECKING:
    from gradtrace.engine import Tensor
    from gradtrace.lang import Program
    from gradtrace.trace import Trace


def save(path: str, program: Program, inputs: Inputs, done: Any, tensors: dict[str, Tensor], watch: Any) -> None:
    """Write a finished run. Commands keep different parts of it, so it is captured as each of them does."""
    from gradtrace.cli import session
    from gradtrace.views import files

    run, roots, count = done

    def captured(everything: bool, watch: Any, gradients: bool) -> Trace:
        options: dict[str, Any] = {"everything": everything, "watch": watch, "gradients": gradients, "final": True}
        return capture(run, roots, count, inputs=tensors, **options)

    with session.uncollected():
        traces = {
            "all": captured(True, watch, False),
            "eval": captured(False, None, False),
            "graph": captured(False, None, True),
            "watched": captured(False, watch, True),
        }
        dtype = session.dtype_of(program, inputs.dtype)
        source = program.source
        content = write(About(source.name, source.text, dtype, inputs.seed, count > 0), traces)
    files.write_output(path, content)


def saved(record: Record, inputs: Inputs, how: Backward, kept: tuple[bool, bool, bool], part: Part) -> Trace | None:
    """The trace that a run for these options would have; None if the program must run again for them."""
    given = (inputs.given, inputs.set, inputs.params, inputs.no_grad, inputs.dtype)
    plain = not any(given) and inputs.seed is None
    asked = how._replace(no_backward=False)
    unchanged = not any(asked) and not (how.no_backward and record.about.backward)
    if not plain or not unchanged:
        return None
    watched, everything, derived = kept
    if part.chosen and not watched and part.pass_number is None:
        return unwatched(record.trace("all"))
    if everything or part.chosen:
        return record.trace("all")
    return record.trace("eval" if not derived else "watched" if watched else "graph")


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
    """The trace of a recorded run of PyTorch, as `session.record` returns it: nothing of it can be run again here."""
    name = record.about.source_name
    given = (inputs.given, inputs.set, inputs.params, inputs.no_grad, inputs.dtype, inputs.seed is not None)
    if any(given) or any(how._replace(no_backward=False)) or jacobians:
        raise not_run_again(name)
    trace = record.trace("all" if everything or part.chosen else "graph")
    for note in trace.left_out:
        from gradtrace.cli import report

        report.write(f"{name}: {report.escaped(note)}")
    if save is not None:
        from gradtrace.views import files

        files.write_output(
            save, write(record.about, {key: record.trace(key) for key in ("all", "eval", "graph", "watched")})
        )
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
    """What ended a recorded program, as an error with its place."""
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


def unwatched(trace: Trace) -> Trace:
    """The trace as it is of a run that nobody watched."""
    operations = tuple(o if o.grad_enabled else o._replace(grad_enabled=True) for o in trace.operations)
    return trace._replace(operations=operations, steps=(), passes=(), escapes=(), changes=(), begun=())


def add_inputs(record: Record, known: dict[str, Any], raw: dict[str, Any], frozen: set[str]) -> None:
    """The recorded values of a program's inputs that no option sets."""
    whole = record.trace("all")
    names = dict(whole.names)
    for name in known:
        if name in raw or name not in names:
            continue
        t = whole.tensors[whole.tensors[names[name]].first]
        if t.value is not None and t.value.is_whole:
            raw[name] = t.value.data
            if not t.requires_grad:
                frozen.add(name)
