"""Run a program for a command: make its input tensors, run it, call backward, and return the Trace."""

from __future__ import annotations

import gc
import sys

from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.cli import backward, hints, values
from gradtrace.cli.options import Backward, Inputs, names
from gradtrace.cli.parts import Part
from gradtrace.errors import BudgetError, GradtraceError, ProgramError, UsageError

if TYPE_CHECKING:
    from gradtrace.engine import Tensor
    from gradtrace.engine.state import using
    from gradtrace.lang import Program
    from gradtrace.limits import Budget
    from gradtrace.trace import Trace

PASSES = 8  # of a loop that `stats` and `why` note node by node


def record(
    program: Program,
    inputs: Inputs,
    how: Backward,
    budget: Budget,
    *,
    watched: bool = False,
    everything: bool = False,
    failing: bool = False,
    failures: list[ProgramError] | None = None,
    jacobians: bool = False,
    slopes: bool = True,
    detailed: int | None = None,
    derived: bool = False,
    out: Any = None,
    checking: bool = False,
    part: Part = Part(),
    picture: bool = False,
    save: str | None = None,
) -> Trace:
    """Run the program, call backward as the options say, and return the trace of the run.

    watched      record the steps of backward too
    everything   keep also tensors on which neither the result nor a variable depends
    failing      also return the trace of a program that raised, with the exception in `failure`
    failures     a list that gets the error of a program that raised; the trace then includes the failed operation
    jacobians    record the Jacobian of each backward step whose local derivative is not elementwise
    slopes       record local derivatives; False saves time in long runs
    detailed     number of backward passes of a loop to record node by node (None: all)
    derived      include the graph of gradients made with --create-graph: its operations, and "w.grad"
    out          stream for the program's output; default stderr
    checking     compare each small autograd Function of the program once with finite differences
    part         the step or pass to return
    picture      without a `part`, return only the last step of a training loop
    save         write the whole run, even a failed one, to this file, and return all of it

    For a recorded program, return its record unless an option would change the run. Raise UsageError if the program is
    empty, makes no tensor, or lacks the step.
    """
    from gradtrace.lang import wall
    from gradtrace.trace.capture import capture

    if not program.tree.body:
        what = f"{program.source.name} holds nothing to evaluate"
        raise UsageError(what, "give an expression, a file, or - for stdin")
    if program.record is not None and program.record.about.engine:
        from gradtrace.cli import records

        return records.of_torch(
            program.record, inputs, how, everything, failing, failures, part, picture, save, jacobians
        )
    if part.step is not None or part.chosen:
        everything, detailed = everything or part.chosen, None
    watched = watched or part.pass_number is not None or save is not None
    if program.record is not None and not jacobians and save is None:
        from gradtrace.cli import records

        wanted = records.Wanted(watched, everything, derived, detailed is None, part)
        earlier = records.saved(program.record, inputs, how, wanted)
        if earlier is not None and earlier.failure is not None:
            return ended(earlier, records.failure(program.record, earlier), failing, failures, part, picture)
        if earlier is not None:
            return part.of(with_tensors(earlier), picture)
    how = as_recorded(program, how)
    dtype = dtype_of(program, inputs.dtype)
    tensors = prepare(program, inputs, dtype, budget)
    saving = None
    if save is not None:
        from gradtrace.cli import records

        saving, detailed = records.Saving(save, program, inputs, how, tensors, dtype), records.PASSES
    watch = watcher(jacobians, slopes, detailed) if watched else None
    printed = out or Printed()
    if checking and watch is not None:
        watch.checking = Muted(printed)
    begun: list[tuple[Any, list[Tensor]]] = []
    done: list[tuple[Any, list[Tensor], int]] = []

    def differentiate(run: Any) -> None:
        run = boxed(run)
        roots = roots_of(run)
        noted = run.keeper.passes if watch is None else watch.passes
        called = any(one.stores or watch is not None for one in noted)
        with wall.lowered():
            vectors = [values.read(v, "--grad-tensors", evaluator(dtype, budget)) for v in how.grad_tensors]
        begun.append((run, roots))
        with recorded(run, watch, derived and how.create_graph):
            done.append((run, roots, backward.differentiate(run, roots, tensors, vectors, how, called)))

    try:
        # what the program prints goes to stderr: stdout carries the command's result alone
        with audible(printed) if out is None else straight(out) as heard:
            execute(
                program,
                tensors,
                dtype,
                heard,
                record=True,
                outputs=names(how.output),
                budget=budget,
                watcher=watch,
                then=differentiate,
            )
    except ProgramError as error:
        error.hint = error.hint or hints.of_program(str(error.__cause__), tensors.items())
        if not (error.run is not None or begun) or not (failing or failures is not None or saving is not None):
            raise
        trace = failed(error, begun, tensors, watch)
        if saving is not None:
            saving.save_failed(error, trace, bool(begun))
        return ended(trace, error, failing, failures, part, picture)
    if not done:
        raise ProgramError("the program ended itself while backward ran", "leave out exit()")
    run, roots, count = done[0]
    if saving is not None:
        return saving.save(done[0], tensors, watch)
    with uncollected():
        trace = capture(
            run, roots, count, inputs=tensors, everything=everything, watch=watch, gradients=derived, final=True
        )
    return part.of(with_tensors(trace), picture)


def with_tensors(trace: Trace) -> Trace:
    """Return the trace; raise UsageError if it has no tensor."""
    if not trace.tensors:
        raise UsageError(f"{trace.source_name} makes no tensor, so there is nothing to show")
    return trace


def ended(
    trace: Trace,
    error: ProgramError,
    failing: bool,
    failures: list[ProgramError] | None,
    part: Part,
    picture: bool,
) -> Trace:
    """Return the trace of a program that `error` ended, if the command can show it; else raise the error."""
    if failing:
        return trace
    if failures is None or not trace.tensors:
        raise error
    from gradtrace.trace.failed import with_failure

    failures.append(error)
    return part.of(with_failure(trace), picture)


def as_recorded(program: Program, how: Backward) -> Backward:
    """Return the backward options; for a recorded program without options, those of the recorded run."""
    if program.record is None:
        return how
    from gradtrace.cli import records

    return records.options_of(program.record, how)


def record_gradients(
    program: Program, inputs: Inputs, how: Backward, budget: Budget, part: Part = Part(), **further: Any
) -> Trace:
    """Record a program for `stats` and `why`: every tensor and every pass, without local derivatives.

    In a long loop only the first passes, the last one and the first with a gradient that is not finite are recorded
    node by node. `further` may have the options `failing` and `checking` of `record`.
    """
    options: dict[str, Any] = {"watched": True, "everything": True, "slopes": False, "detailed": PASSES}
    return record(program, inputs, how, budget, part=part, **options, **further)


def save(program: Program, inputs: Inputs, budget: Budget, path: str, out: Any) -> None:
    """Run a program, which prints to `out`, and write the record of the run to the file `path`."""
    how = Backward((), None, False, False, False, (), (), (), False)
    try:
        record(program, inputs, how, budget, derived=True, out=out, save=path)
    except ProgramError as error:
        if error.run is not None:
            raise
        # the program came to its end: what failed is the backward that other commands call, and the record has it


class Printed:
    """The stream for a recorded program's output: stderr, with a heading if stdout is also a terminal."""

    muted = False

    def __init__(self) -> None:
        from gradtrace.cli import colour

        self.heading = colour.is_terminal(sys.stderr) and colour.is_terminal(sys.stdout)

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
    """Context manager that discards the program's output while one of its Functions is run again for a check."""

    def __init__(self, printed: Any) -> None:
        self.printed = printed

    def __enter__(self) -> None:
        self.printed.muted = True

    def __exit__(self, *_: object) -> None:
        self.printed.muted = False


def audible(stream: Any) -> Any:
    """Return a context for a program's output; on a terminal it shows progress if the program is long silent."""
    from gradtrace.cli import colour

    if not colour.is_terminal(sys.stderr):
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


class uncollected:
    """Context manager that pauses the cycle collector: a trace is a million small records without cycles.

    At the end it calls gc.freeze, since traversing these records would take as long as analysing the trace.
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
    """Return a context that, if `wanted`, adds the operators of the backward pass to a finished run's records."""
    from gradtrace.engine.state import using
    from gradtrace.engine.watch import Scope
    from gradtrace.lang.run import make_recorder

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
    return capture(
        run,
        roots,
        inputs=tensors,
        everything=True,
        watch=watch,
        failure=failure_of(error, run.program.source.name),
        final=True,
    )


def failure_of(error: ProgramError, program: str) -> Any:
    """Convert a program's exception to the Failure that a trace stores."""
    from gradtrace.trace import Failure

    place: Any = error.place
    cause = error.__cause__
    kind = type(cause).__name__ if cause is not None else error.message.partition(":")[0]
    message = str(cause) if cause is not None else error.message.partition(": ")[2]
    spans = [None if one is None else span_at(one, program) for one in (place, error.forward)]
    return Failure(kind, message, *spans)


def span_at(place: Any, program: str) -> Any:
    """Return the span of a place in a message, with columns converted from characters to bytes."""
    from gradtrace.trace import Span

    start = len(place.text[: place.column - 1].encode())
    end = start + len(place.text[place.column - 1 : place.column - 1 + place.width].encode())
    return Span(place.line, start, place.line, end, "" if place.name == program else place.name)


def watcher(jacobians: bool, slopes: bool, detailed: int | None) -> Any:
    from gradtrace.trace.steps import Watch

    return Watch(jacobians, slopes, detailed)


def execute(program: Program, tensors: dict[str, Tensor], dtype: str, stdout: Any, **options: Any) -> Any:
    """Call lang.run with a default dtype; output goes to `stdout`, each warning as a line to stderr."""
    import warnings

    from gradtrace import lang

    def show(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
        from gradtrace.cli import report

        report.write(f"{program.source.name}: {category.__name__}: {report.escaped(str(message))}")

    budget = options.get("budget")
    drawings = new_drawings() if budget is not None and budget.allow_write else None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default", UserWarning)
            warnings.showwarning = show
            streams = {"stdout": stdout, "stderr": sys.stderr}
            return lang.run(program, tensors, dtype=dtype, host=host, drawings=drawings, **streams, **options)
    finally:
        if drawings is not None and drawings.calls:
            from gradtrace.views import figures

            figures.draw(drawings, sys.stderr.write)


def new_drawings() -> Any:
    """Return an object that records a program's plotting calls for `views/figures.py`."""
    from gradtrace.lang.figures import Drawings

    return Drawings()


def host(module: str, hosting: Any) -> dict[str, Any]:
    """Return the names of a module that the views provide to programs: TensorBoard's SummaryWriter."""
    from gradtrace.views import summary

    return summary.modules(module, hosting)


def boxed(run: Any) -> Any:
    """Return the run with a plain number as its result ("2+3") converted to a tensor."""
    from gradtrace.engine import Tensor

    if run.outputs or not isinstance(run.root, (bool, int, float)):
        return run
    plain = run.root if isinstance(run.root, (bool, float)) else values.whole(run.root)
    return run._replace(root=Tensor._wrap(plain))


def roots_of(run: Any) -> list[Tensor]:
    """Return the tensors that backward starts from: those of --output, else the program's last value.

    Raise UsageError for a tensor that escaped from a function under vmap, since its value is lost.
    """
    from gradtrace.engine import Tensor

    values = [run.root]
    if run.outputs:
        values = [tensor for _, tensor in run.outputs]
    elif isinstance(run.root, (list, tuple)):
        values = list(run.root)
    found = [value for value in values if isinstance(value, Tensor)]
    if any(tensor.escaped for tensor in found):
        raise UsageError(
            "the result escaped from a function under vmap and can no longer be read",
            "return it from that function; or --output NAME another tensor",
        )
    return found


def dtype_of(program: Program, asked: str | None) -> str:
    """Return a run's floating dtype: --dtype, else the record's, else float32 with torch and float64 without."""
    recorded = None if program.record is None else program.record.dtype
    return asked or recorded or ("float32" if program.imports_torch else "float64")


# ---- inputs


def seed_of(program: Program, inputs: Inputs) -> int | None:
    """Return the seed of a run: that of --seed, else that of the recorded run."""
    if inputs.seed is None and program.record is not None:
        recorded: int | None = program.record.seed
        return recorded
    return inputs.seed


def prepare(program: Program, inputs: Inputs, dtype: str, budget: Budget | None = None) -> dict[str, Tensor]:
    """Return the tensors of the program's inputs; raise UsageError if a value is missing or wrong."""
    if program.record is not None and program.record.about.engine:
        from gradtrace.cli import records

        raise records.not_run_again(program.source.name)
    seed = seed_of(program, inputs)
    if seed is not None:
        import gradtrace

        gradtrace.manual_seed(seed)
    known = {given.name: given for given in program.inputs}
    raw = read_all(known, inputs, dtype, budget)
    frozen = set(names(inputs.no_grad))
    check_known(frozen, known, "--no-grad")
    if program.record is not None:
        from gradtrace.cli import records

        records.refuse_random(program)
    for name, (value, requires_grad) in recorded_inputs(program).items():
        if name in known and name not in raw:
            raw[name] = value
            frozen |= set() if requires_grad else {name}
    missing = [given for given in program.inputs if given.name not in raw and given.is_required]
    if missing:
        raise lacking(program, missing, inputs.own)
    tensors: dict[str, Tensor] = {}
    for name, given in known.items():
        if given.optional and name not in raw:
            continue
        found = raw[name] if name in raw else default(program, given, dtype, budget)
        tensors[name] = values.tensor(found, dtype, floating=given.kind != "data")
        if given.kind != "data" and name not in frozen:
            tensors[name].requires_grad_()
    if program.record is not None and inputs.seed is None:
        import gradtrace
        from gradtrace.engine.lazy import np

        gradtrace.set_rng_state(gradtrace.tensor(np.frombuffer(program.record.about.random_state, np.uint8)))
    return tensors


def recorded_inputs(program: Program) -> dict[str, tuple[Any, bool]]:
    """Return the inputs of a recorded run: raw values by name, and whether each required grad."""
    if program.record is None:
        return {}
    return {name: (value.data, requires_grad) for name, value, requires_grad in program.record.about.inputs}


def default(program: Program, given: Any, dtype: str, budget: Budget | None = None) -> Any:
    """Return the default value of `w` in `w: leaf = 1.0`; raise UsageError, with its place, for an invalid value."""
    try:
        return values.constant(given.default, f"the default of {given.name}", evaluator(dtype, budget))
    except UsageError as error:
        error.place = error.place or program.source.place(given.span)
        raise


def read_all(known: dict[str, Any], inputs: Inputs, dtype: str, budget: Budget | None = None) -> dict[str, Any]:
    """Return the raw values by name; a variable's own option overrides --set, which overrides --params."""
    evaluate = evaluator(dtype, budget)
    raw = values.parameters(inputs.params, evaluate) if inputs.params is not None else {}
    check_known(raw, known, "--params")
    for text in inputs.set:
        name, value = values.assignment(text)
        check_known([name], known, "--set")
        raw[name] = values.read(value, f"--set {name}", evaluate)
    for name, value in inputs.given.items():
        raw[name] = values.read(value, f"--{name}", evaluate)
    return raw


def check_known(asked: Any, known: dict[str, Any], option: str) -> None:
    """Raise UsageError for a name that is not a variable of the program."""
    for name in asked:
        if name not in known:
            from gradtrace.views.pick import close

            there = f"its variables are {', '.join(known)}" if known else "it has none"
            raise UsageError(f"{option}: the program has no variable '{name}'", close(name, known) or there)


def evaluator(dtype: str, budget: Budget | None = None) -> values.Evaluate:
    """Return a function that evaluates constant expressions in the dtype and budget of the run."""

    def evaluate(text: str, option: str) -> Any:
        from gradtrace import lang

        try:
            program = lang.parse(text, name=option, budget=budget)
            if program.inputs:
                raise UsageError(f"name '{program.inputs[0].name}' is not defined")
            return execute(program, {}, dtype, sys.stderr, budget=budget).root
        except BudgetError:
            raise
        except GradtraceError as error:
            raise values.wrong(option, text, error) from error

    return evaluate


def lacking(program: Program, missing: list[Any], own: set[str]) -> UsageError:
    """Return the error for variables without a value; its hint has the options that set them."""
    ways = [f"--{m.name} VALUE" if m.name in own else f"-s {m.name}=VALUE" for m in missing]
    what = f"no value for {', '.join(m.name for m in missing)}"
    return UsageError(what, f"give {' '.join(ways)}", program.source.place(missing[0].span))
