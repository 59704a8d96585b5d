"""Run a program in Python: compile it, bind its inputs, locate its errors, and restore global state."""

from __future__ import annotations

import ast
import builtins
import contextlib
import linecache
import sys
import types

from gradtrace import ops  # noqa: F401  (adds the operators to tensors)
from gradtrace.annotations import Any, Callable
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor
from gradtrace.errors import GradtraceError
from gradtrace.lang.budget import Meter
from gradtrace.lang.parse import Program
from gradtrace.lang.restore import restored
from gradtrace.lang.run import (
    MakeKeeper,
    Run,
    SharedNamespace,
    assigned_root,
    chosen_output,
    default_dtype,
    is_result,
)
from gradtrace.lang.watchdog import watched
from gradtrace.limits import Budget
from gradtrace.program import modules
from gradtrace.program.errors import explained
from gradtrace.program.instrument import VALUE, Instrument, Scopes, with_values
from gradtrace.program.places import Places

MAIN = "__main__"


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
    """Run a program; raise ProgramError for its exceptions, LanguageError for what cannot be run, or BudgetError.

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
    show        gets the value of each expression statement and its repr
    """
    execution = Execution(program, dict(inputs or {}), budget or Budget(), within)
    execution.begin_record(record, watcher)
    places = execution.places
    streams = contextlib.redirect_stdout(stdout or sys.stdout), contextlib.redirect_stderr(stderr or sys.stderr)
    watch = watched(execution.meter, lambda: places.place(places.here(2)))
    with restored(), watch, streams[0], streams[1], modules.installed(execution.tell), execution.as_main():
        dtypes.set_default_dtype(default_dtype(program, dtype))
        state.set(
            grad_enabled=True,
            inference=False,
            devices=() if within is None else state.devices,
            recorder=execution.recorder or planner or (None if within is None else within.recorder),
            watcher=watcher,
            keeper=execution.keeper,
            planner=planner,
            scope=None,
            origin=0,
            locate=places.here if record is not None or planner is not None else None,
        )
        try:
            with explained(places):
                execution.execute(show)
        except GradtraceError as error:
            if record is not None:
                error.run = execution.result(None, ())
            raise
        finally:
            if within is not None and within.leave is not None:
                within.leave()
        variables = execution.variables()
        chosen = tuple((name, chosen_output(variables, name)) for name in outputs)
        root = execution.last if execution.last is not None else assigned_root(program.tree, variables)
        done = execution.result(root, chosen)
        if then is not None:
            state.set(recorder=planner, origin=0, locate=None)
            with explained(places):
                then(done)
    return done


class Execution:
    """One run of a program: its namespace, its places, and what was recorded."""

    def __init__(
        self, program: Program, inputs: dict[str, Tensor], budget: Budget, within: SharedNamespace | None
    ) -> None:
        self.program = program
        self.inputs = inputs
        self.meter = Meter(budget)
        self.meter.deadline -= min(program.seconds, budget.seconds)
        self.within = within
        self.module = types.ModuleType(MAIN)
        self.names = vars(self.module) if within is None else within.variables
        self.names.update(inputs)
        past = None if within is None else within.past
        self.places = Places(None if past is None else past.spans)
        self.past = past
        self.records: list[Any] = []
        self.scopes: list[Any] = []
        self.keeper: Any = None
        self.recorder: Callable[..., None] | None = None
        self.last: Any = None
        self.told: set[str] = set()

    def tell(self, text: str) -> None:
        """Print a note about the program to stderr, once."""
        if text not in self.told:
            self.told.add(text)
            print(f"{self.program.source.name}: {text}", file=sys.stderr)

    # ---- the record

    def begin_record(self, make_keeper: MakeKeeper | None, watcher: Any) -> None:
        if make_keeper is None:
            return
        if self.past is not None:
            self.records, self.scopes = self.past.records, self.past.scopes
            self.keeper = self.past.keeper
        else:
            self.keeper = make_keeper(self.records, self.meter.budget.record_bytes)
        self.recorder = make_recorder(self.records, self.scopes, watcher, self.places)

    def result(self, root: Any, chosen: tuple[tuple[str, Tensor], ...]) -> Run:
        return Run(
            self.program,
            self.variables(),
            root,
            chosen,
            self.records,
            self.places.spans,
            self.inputs,
            self.scopes,
            self.keeper,
            self.places.sources,
        )

    def variables(self) -> dict[str, Any]:
        """Return the program's own variables."""
        if self.within is not None:
            return self.names
        return {name: value for name, value in self.names.items() if not is_of_module(name)}

    # ---- execution

    @contextlib.contextmanager
    def as_main(self) -> Any:
        """Make the namespace that of `__main__`, with the program's arguments and file, and undo that."""
        source = self.program.source
        before = sys.modules.get(MAIN), sys.argv
        attributes = {
            "__name__": MAIN,
            "__doc__": None,
            "__builtins__": self.builtins(),
            **({} if source.name.startswith("<") else {"__file__": source.name}),
        }
        sys.modules[MAIN] = self.module
        sys.argv = [source.name, *self.meter.budget.arguments]
        self.names.update(attributes)
        try:
            yield
        finally:
            sys.argv = before[1]
            if before[0] is not None:
                sys.modules[MAIN] = before[0]
            if self.within is not None:
                for name in attributes:
                    self.names.pop(name, None)

    def builtins(self) -> dict[str, Any]:
        names = dict(vars(builtins))
        if self.recorder is not None:
            names.update(Scopes(self.places).functions)
        if not self.program.imports_torch:
            from gradtrace.program.mathematics import find_mathematics

            names.update(find_mathematics(self.program.tree))
        return names

    def execute(self, show: Callable[[Any, str], None] | None) -> None:
        """Execute the statements; keep the value of the last expression statement that is a result in `last`."""

        def value(result: Any) -> None:
            if is_result(result):
                self.last = result
            if show is not None and result is not None:
                show(result, repr(result))

        self.names["__builtins__"][VALUE] = value
        exec(self.compiled(), self.names)

    def compiled(self) -> Any:
        source, tree = self.program.source, self.program.tree
        name = source.name
        file = self.places.add(source, tree, name)
        linecache.cache[name] = (len(source.text), None, source.text.splitlines(True), name)
        tree = with_values(copied(source, tree))
        if self.recorder is not None:
            tree = Instrument(self.places, file).visit(tree)
        return compile(ast.fix_missing_locations(tree), name, "exec", dont_inherit=True)


def copied(source: Any, tree: ast.Module) -> ast.Module:
    """Return a copy of the program's tree, which the caller may change."""
    return ast.parse(source.text, source.name)


def is_of_module(name: str) -> bool:
    """Whether a name is one that Python gives every module."""
    return name.startswith("__") and name.endswith("__")


def make_recorder(
    records: list[Any], scopes: list[Any], watcher: Any, places: Places | None = None
) -> Callable[..., None]:
    """Return a recorder that keeps every call with its place and scope, and notifies the watcher."""

    def keep(name: str, args: tuple[Any, ...], out: Any, origin: int) -> None:
        for result in out if type(out) is tuple else (out,):
            node = result._fn
            if node is not None and not node.origin:
                node.origin = origin
        records.append((name, args, out, origin))
        scopes.append(state.scope)
        if watcher is not None:
            watcher.called(name, args, out, origin)

    return keep
