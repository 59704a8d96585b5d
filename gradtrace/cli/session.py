"""Run a program for a command, call backward, and return the Trace."""

from __future__ import annotations

import gc

from gradtrace.annotations import TYPE_CHECKING, Any, NamedTuple
from gradtrace.cli import backward, hints, running, values
from gradtrace.cli.inputs import evaluator, prepare
from gradtrace.cli.options import Request, names
from gradtrace.errors import ProgramError, UsageError

if TYPE_CHECKING:
    from gradtrace.engine import Tensor
    from gradtrace.engine.data.state import using
    from gradtrace.trace import Trace

LEAVE_OUT = "--no-backward leaves this call out"
PASSES = 8  # of a loop that `stats` and `why` note node by node


class Wanted(NamedTuple):
    """What a command wants of a run.

    watched      record the steps of backward too
    everything   keep also tensors on which neither the result nor a variable depends
    failing      also return the trace of a program that raised, with the exception in `failure`
    failures     a list that gets the error of a program that raised; the trace then includes the
                 failed operation
    jacobians    record the Jacobian of each backward step whose local derivative is not elementwise
    slopes       record local derivatives; False saves time in long runs
    detailed     number of backward passes of a loop to record node by node (None: all)
    derived      include the graph of gradients made with --create-graph: its operations, and
                 "w.grad"
    out          stream for the program's output; default stderr
    checking     compare each small autograd Function of the program once with finite differences
    picture      without a part, return only the last step of a training loop
    save         write the whole run, even a failed one, to this file, and return all of it
    measuring    compare each result with a wider type (`Trace.precision`)
    """

    watched: bool = False
    everything: bool = False
    failing: bool = False
    failures: list[ProgramError] | None = None
    jacobians: bool = False
    slopes: bool = True
    detailed: int | None = None
    derived: bool = False
    out: Any = None
    checking: bool = False
    picture: bool = False
    save: str | None = None
    measuring: bool = False


# for `stats` and `why`: every tensor and every pass, without local derivatives; in a long loop only
# the first passes, the last one and the first with a gradient that is not finite are recorded node
# by node
GRADIENTS = Wanted(watched=True, everything=True, slopes=False, detailed=PASSES)


def record(request: Request, wanted: Wanted = Wanted()) -> Trace:
    """Run the program, call backward as the options say, and return the trace of the run.

    For a recorded program, return its record unless an option would change the run. Raise
    UsageError if the program is empty, makes no tensor, or lacks the step.
    """
    program = request.program
    part = request.part
    if not program.tree.body:
        message = f"{program.source.name} holds nothing to evaluate"
        raise UsageError(message, "give an expression, a file, or - for stdin")
    if part.step is not None or part.chosen:
        wanted = wanted._replace(everything=wanted.everything or part.chosen, detailed=None)
    watched = (
        wanted.watched
        or wanted.measuring
        or part.pass_number is not None
        or wanted.save is not None
    )
    wanted = wanted._replace(watched=watched)
    if program.record is None:
        return record_run(request, wanted)
    from gradtrace.cli import records

    if program.record.about.engine:
        return records.of_torch(request, wanted)
    earlier = records.saved(request, wanted)
    if earlier is None:
        return record_run(
            request._replace(how=records.options_of(program.record, request.how)), wanted
        )
    error = None if earlier.failure is None else records.failure(program.record, earlier)
    return shown(earlier, request, wanted, error)


def record_run(request: Request, wanted: Wanted) -> Trace:
    """Run the program and return the trace of the run, which is written to a file if that is
    wanted.
    """
    from gradtrace.program.result import RunOptions
    from gradtrace.trace.capture import capture
    from gradtrace.trace.keeper import Keeper

    how = request.how
    tensors = prepare(request)
    saving = None
    if wanted.save is not None:
        from gradtrace.cli import records

        saving = records.Saving(wanted.save, request, tensors)
        wanted = wanted._replace(detailed=records.PASSES)
    watch = watcher(wanted) if wanted.watched else None
    printed = wanted.out or running.Printed()
    if wanted.checking and watch is not None:
        watch.checking = running.Muted(printed)
    begun: list[tuple[Any, list[Tensor]]] = []
    done: list[tuple[Any, list[Tensor], int]] = []
    options = RunOptions(
        record=watch.keeper if watch is not None and wanted.measuring else Keeper,
        outputs=names(how.output),
        watcher=watch,
    )
    try:
        # what the program prints goes to stderr: stdout carries the command's result alone
        with (
            running.audible(printed)
            if wanted.out is None
            else running.straight(wanted.out) as heard,
            running.executing(request, tensors, options._replace(stdout=heard)) as run,
        ):
            run = boxed(run)
            roots = roots_of(run)
            noted = run.keeper.passes if watch is None else watch.passes
            called = any(mark.stores or watch is not None for mark in noted)
            evaluate = evaluator(request.dtype, request.budget)
            vectors = [values.read(text, "--grad-tensors", evaluate) for text in how.grad_tensors]
            begun.append((run, roots))
            with recorded(run, watch, wanted.derived and how.create_graph):
                done.append(
                    (run, roots, backward.differentiate(run, roots, tensors, vectors, how, called))
                )
    except ProgramError as error:
        error.hint = error.hint or hints.of_program(
            str(error.__cause__), tensors.items(), error.place
        )
        if begun and watch is None:
            error.hint = "; ".join(filter(None, (error.hint, LEAVE_OUT)))
        shows = wanted.failing or wanted.failures is not None or saving is not None
        if not shows or not (error.run is not None or begun):
            raise
        trace = failed(error, begun, tensors, watch)
        if saving is not None:
            saving.save_failed(error, trace, bool(begun))
        return shown(trace, request, wanted, error)
    if not done:
        raise ProgramError("the program ended itself while backward ran", "leave out exit()")
    run, roots, count = done[0]
    if saving is not None:
        return saving.save(done[0], tensors, watch)
    with uncollected():
        trace = capture(
            run,
            roots,
            count,
            inputs=tensors,
            everything=wanted.everything,
            watch=watch,
            gradients=wanted.derived,
            final=True,
        )
    return shown(trace, request, wanted)


def shown(
    trace: Trace, request: Request, wanted: Wanted, error: ProgramError | None = None
) -> Trace:
    """Return the part of a trace that the command shows; raise `error`, which ended the program, if
    it shows none.

    Raise UsageError for a trace without tensors.
    """
    if error is None and not trace.tensors:
        hint = hints.of_constants(request.program.tree)
        raise UsageError(f"{trace.source_name} makes no tensor, so there is nothing to show", hint)
    if error is not None:
        if wanted.failing:
            return trace
        if wanted.failures is None or not trace.tensors:
            raise error
        from gradtrace.trace.failed import with_failure

        wanted.failures.append(error)
        trace = with_failure(trace)
    return request.part.of(trace, wanted.picture)


def save(request: Request, path: str, out: Any, measuring: bool = False) -> None:
    """Run a program, which prints to `out`, and write the record of the run, measured if wanted, to
    the file `path`.
    """
    try:
        record(request, Wanted(derived=True, out=out, save=path, measuring=measuring))
    except ProgramError as error:
        if error.run is not None:
            raise
        # the program came to its end: what failed is the backward that other commands call, and the
        # record has it


class uncollected:
    """Context manager that pauses the cycle collector: a trace is a million small records without
    cycles.

    At the end it calls gc.freeze, since traversing these records would take as long as analysing
    the trace.
    """

    def __enter__(self) -> None:
        self.before = gc.isenabled()
        gc.unfreeze()  # what an earlier run of an interactive session left
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self.before:
            gc.freeze()
            gc.enable()


def recorded(run: Any, watch: Any, wanted: bool) -> using:
    """Return a context that, if `wanted`, adds the operators of the backward pass to a finished
    run's records.
    """
    from gradtrace.engine.data.state import Scope, using
    from gradtrace.program.result import make_recorder

    if not wanted:
        return using()
    return using(
        recorder=make_recorder(run.records, run.scopes, watch),
        scope=Scope(None, "backward", "the derivative's own graph"),
    )


def failed(error: ProgramError, begun: list[Any], tensors: dict[str, Tensor], watch: Any) -> Trace:
    """Return the trace of a program that raised, up to the error."""
    from gradtrace.trace.capture import capture

    run, roots = begun[0] if begun else (error.run, [])
    trace = capture(run, roots, inputs=tensors, everything=True, watch=watch, final=True)
    return trace._replace(failure=failure_of(error, run.program.source.name))


def failure_of(error: ProgramError, program: str) -> Any:
    """Convert a program's exception to the Failure that a trace stores."""
    from gradtrace.trace import Failure

    place: Any = error.place
    cause = error.__cause__
    kind = type(cause).__name__ if cause is not None else error.message.partition(":")[0]
    message = str(cause) if cause is not None else error.message.partition(": ")[2]
    span, forward = (
        None if position is None else span_at(position, program)
        for position in (place, error.forward)
    )
    return Failure(kind, message, span, forward)


def span_at(place: Any, program: str) -> Any:
    """Return the span of a place in a message, with columns converted from characters to bytes."""
    from gradtrace.trace import Span

    start = len(place.text[: place.column - 1].encode())
    end = start + len(place.text[place.column - 1 : place.column - 1 + place.width].encode())
    return Span(place.line, start, place.line, end, "" if place.name == program else place.name)


def watcher(wanted: Wanted) -> Any:
    from gradtrace.trace.steps import Watch

    if wanted.measuring:
        from gradtrace.trace.measuring import MeasuringWatch

        return MeasuringWatch(wanted.jacobians, wanted.slopes, wanted.detailed)
    return Watch(wanted.jacobians, wanted.slopes, wanted.detailed)


def boxed(run: Any) -> Any:
    """Return the run with a plain number as its result ("2+3") converted to a tensor."""
    from gradtrace.engine import Tensor

    if run.outputs or not isinstance(run.root, (bool, int, float)):
        return run
    plain = run.root if isinstance(run.root, (bool, float)) else values.whole(run.root)
    return run._replace(root=Tensor._wrap(plain))


def roots_of(run: Any) -> list[Tensor]:
    """Return the tensors that backward starts from: those of --output, else the program's last
    value.
    """
    from gradtrace.engine import Tensor

    values = [run.root]
    if run.outputs:
        values = [tensor for _, tensor in run.outputs]
    elif isinstance(run.root, (list, tuple)):
        values = list(run.root)
    return [value for value in values if isinstance(value, Tensor)]
