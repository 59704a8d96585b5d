"""Run a program: compile it, bind its inputs, locate its errors, and restore global state."""

from __future__ import annotations

import sys

from gradtrace.annotations import Any, Callable, NamedTuple
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.observers import WriteWatcher
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor
from gradtrace.errors import GradtraceError, LanguageError, ProgramError
from gradtrace.lang import wall
from gradtrace.lang.attribute_errors import explain_refusal
from gradtrace.lang.budget import Meter, is_out_of_memory, out_of_memory
from gradtrace.lang.machine import make_machine
from gradtrace.lang.parse import Program, too_deep
from gradtrace.lang.statements import compile_statement, has_no_effect
from gradtrace.lang.unit import Code, Machine, Unit
from gradtrace.lang.watchdog import watched
from gradtrace.limits import Budget, advice
from gradtrace.program import syntax as ast
from gradtrace.program.depth import deep
from gradtrace.program.expression import is_expression, run_expression
from gradtrace.program.restore import restored
from gradtrace.program.result import (
    MakeKeeper,
    Run,
    assigned_root,
    chosen_output,
    default_dtype,
    is_result,
    make_recorder,
)
from gradtrace.program.source import Span
from gradtrace.program.watchdog import watches

__all__ = ["EarlierRecords", "MakeKeeper", "Run", "SharedNamespace", "make_recorder", "run"]


class EarlierRecords(NamedTuple):
    """Records of the programs run so far in a shared namespace; later programs append to them."""

    records: list[Any]
    scopes: list[Any]
    spans: list[Span]
    keeper: WriteWatcher | None


class SharedNamespace(NamedTuple):
    """State shared by programs that run one after another, such as the cells of a notebook."""

    variables: dict[str, Any]
    classes: set[type]  # classes defined by the programs
    past: EarlierRecords | None = None
    leave: Callable[[], None] | None = None  # called after a program, before its global changes are undone
    recorder: Any = None  # gets operator calls where the program is not recorded


def run(
    program: Program,
    inputs: dict[str, Tensor] | None = None,
    *,
    budget: Budget | None = None,
    stdout: Any = None,
    stderr: Any = None,
    record: MakeKeeper | None = None,
    outputs: Any = (),
    dtype: Any = None,
    watcher: Any = None,
    planner: Any = None,
    within: SharedNamespace | None = None,
    then: Callable[[Run], None] | None = None,
    host: Any = None,
    show: Callable[[Any, str], None] | None = None,
    drawings: Any = None,
) -> Run:
    """Run a program; raise ProgramError for its exceptions, LanguageError for unsupported code, or BudgetError.

    Raise SystemExit if the program exits with a nonzero status.

    record      keep the operator calls, as passed to `state.recorder`, and what they overwrite, in the keeper that this
                makes (`trace.keeper.Keeper`); a GradtraceError has the calls so far in `run`
    outputs     the names of the tensors to use as outputs in place of the last value
    dtype       the default dtype, by name or object; None: float64 without imports, else float32
    watcher     gets the events other than operator calls (`engine/data/observers.py`)
    planner     is called instead of the recorder, also during `then`, and for values that a plan would lose
    within      the namespace to run in
    then        is called with the run at its end, while its dtype, limits and error places still apply: backward may
                call code of the program
    host        provides the modules of `lang/hosted.py`
    show        gets the value of each expression statement and its repr
    drawings    gets the program's plotting calls (`lang/figures.py`)
    """
    if within is None and is_expression(program.tree):
        return run_expression(
            program,  # type: ignore[arg-type]
            inputs,
            budget=budget,
            record=record,
            outputs=outputs,
            dtype=dtype,
            watcher=watcher,
            planner=planner,
            then=then,
            show=show,
        )
    if watches():
        wall.build()
    env = dict(inputs or {}) if within is None else within.variables
    recorder = None if within is None else within.recorder
    past = None if within is None else within.past
    records: list[Any] = past.records if past is not None and record is not None else []
    scopes: list[Any] = past.scopes if past is not None and record is not None else []
    meter = Meter(budget or Budget())
    meter.deadline -= min(program.seconds, meter.budget.seconds)
    keeper = None
    if record is not None:
        keeper = past.keeper if past is not None else record(records, meter.budget.record_bytes)
    if program.modules is None and meter.budget.allow_import:
        from gradtrace.lang.own_modules import with_modules

        program = with_modules(program, meter.budget)
    machine = make_machine(program, meter, env, stdout or sys.stdout, stderr or sys.stderr, host, drawings)
    if program.modules is not None:
        from gradtrace.lang.own_modules import OwnModules

        machine.own_modules = OwnModules(program.modules)
    if within is not None:
        machine.gate.own = within.classes
    if past is not None:
        machine.spans = past.spans
        machine.first = (
            0 if record is not None else len(past.spans)
        )  # a recorded program's text includes that of earlier ones

    def finished(root: Any, outputs: tuple[tuple[str, Tensor], ...]) -> Run:
        given = dict(inputs or {})
        kept = records, machine.spans, given, scopes, keeper, machine.sources
        return Run(program, env, root, outputs, *kept)  # type: ignore[arg-type]

    watch = watched(meter, lambda: machine.place(state.origin))
    with restored(), deep(meter.deepest), watch, wall.raised():
        dtypes.set_default_dtype(default_dtype(program, dtype))  # type: ignore[arg-type]
        machine.recording = record is not None
        state.set(
            grad_enabled=True,
            inference=False,
            devices=() if within is None else state.devices,
            recorder=make_recorder(records, scopes, watcher) if record is not None else planner or recorder,
            watcher=watcher,
            keeper=keeper,
            planner=planner,
            spend=meter.count_flops,
            scope=None,
            origin=0,
            classes=machine.gate.own,
        )
        try:
            last = execute(machine, program.tree, show)
        except GradtraceError as error:
            if record is not None:
                error.run = finished(None, ())
            raise
        finally:
            if within is not None and within.leave is not None:
                within.leave()
        chosen = tuple((name, chosen_output(env, name)) for name in outputs)
        root = last if last is not None else assigned_root(program.tree, env)
        done = finished(root, chosen)
        if then is not None:
            state.set(recorder=planner, origin=0)
            with explained(machine):
                then(done)
    return done


def execute(machine: Machine, tree: ast.Module, show: Callable[[Any, str], None] | None = None) -> Any:
    """Execute the statements; return the value of the last expression statement that is a result, or None."""
    unit = Unit(machine, machine.module)
    statements = compile_statements(tree, unit)
    last: Any = None
    with explained(machine):
        for code, is_expression in statements:
            value = code(machine.env)
            if is_expression and is_result(value):
                last = value
            if is_expression and show is not None and value is not None:
                show(value, machine.unbound_value("repr")(value))
        machine.meter.raise_kept()
    return last


class explained:
    """Context manager that converts a program's exceptions to GradtraceErrors with a place; suppresses exit(0)."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, _: object) -> bool:
        if error is None or isinstance(error, KeyboardInterrupt):
            return False
        if isinstance(error, SystemExit):
            if not isinstance(error.code, (int, type(None))):
                error.code = text_of(self.machine, error.code)
            return error.code in (None, 0)
        if isinstance(error, GradtraceError):
            error.place = error.place or self.machine.place(state.origin)
            return False
        raise program_error(self.machine, error) from (None if kind in self.machine.gate.own else error)


def compile_statements(tree: ast.Module, unit: Unit) -> list[tuple[Code, bool]]:
    """Compile all top-level statements; return pairs of a closure and whether it is an expression."""
    try:
        first = 1 if len(tree.body) > 1 and ast.get_docstring(tree, clean=False) is not None else 0
        body = [node for node in tree.body[first:] if isinstance(node, ast.Expr) or not has_no_effect(node)]
        return [(compile_statement(node, unit), isinstance(node, ast.Expr)) for node in body]
    except RecursionError:
        raise too_deep() from None


# ---- errors


def program_error(machine: Machine, error: BaseException) -> GradtraceError:
    """Return the GradtraceError for an uncaught exception of a program, with its place."""
    place = machine.place(state.origin)
    if is_out_of_memory(error):
        late = out_of_memory()
        late.place = place
        return late
    better, hint = explain_refusal(error)
    better = vars(error).get("__gradtrace__", better)
    if isinstance(better, LanguageError):
        better.place = better.place or place
        return better
    if isinstance(error, RecursionError):
        hint = advice("call_depth")
    text = text_of(machine, error)
    name = type(error).__name__
    uncaught = ProgramError(f"{name}: {text}" if text else name, hint, place)
    if origin := vars(error).get("__forward__", 0):
        uncaught.forward = machine.place(origin)
    return uncaught


def text_of(machine: Machine, value: Any) -> str:
    """Return str(value) of an exception or an exit code, which may be long, run code of the program, and fail."""
    try:
        return machine.strings.text_of(str, value)
    except GradtraceError as error:
        error.place = error.place or machine.place(state.origin)
        raise
    except Exception:
        return "<exception str() failed>"
