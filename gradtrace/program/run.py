"""Run a program in Python: compile it, bind its inputs, locate its errors, and restore global
state.
"""

from __future__ import annotations

import _thread
import builtins
import sys
import time
from types import ModuleType

from gradtrace import ops  # noqa: F401  (adds the operators to tensors)
from gradtrace.annotations import Any, Callable, Iterator
from gradtrace.context import context
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor
from gradtrace.errors import GradtraceError, ProgramError
from gradtrace.limits import Budget
from gradtrace.program import syntax as ast
from gradtrace.program.budget import Clock
from gradtrace.program.depth import deep
from gradtrace.program.errors import explained
from gradtrace.program.expression import evaluating
from gradtrace.program.grammar import is_expression
from gradtrace.program.mathematics import find_mathematics
from gradtrace.program.parse import Program, imported_modules, too_deep
from gradtrace.program.places import ProgramPlaces
from gradtrace.program.restore import restored
from gradtrace.program.result import (
    MakeKeeper,
    Run,
    RunOptions,
    SharedNamespace,
    assigned_root,
    chosen_output,
    default_dtype,
    is_result,
    make_recorder,
    note_place,
)
from gradtrace.program.values import VALUE, with_values
from gradtrace.program.watchdog import watched

MAIN = "__main__"


def run(program: Program, inputs: dict[str, Tensor] | None = None, **options: Any) -> Run:
    """Run a program and return its run; `options` are those of RunOptions, errors those of
    `running`.
    """
    with running(program, inputs, RunOptions(**options)) as done:
        pass
    return done


@context
def running(
    program: Program, inputs: dict[str, Tensor] | None = None, options: RunOptions = RunOptions()
) -> Iterator[Run]:
    """Run a program and give its run; its dtype, limits and error places apply until the context
    ends, since backward may call code of the program.

    Raise ProgramError for its exceptions, LanguageError for what cannot be run, or BudgetError;
    SystemExit if the program exits with a nonzero status.
    """
    if options.within is None and is_expression(program.tree):
        with evaluating(program, inputs, options) as done:
            yield done
        return
    start = time.monotonic()
    try:
        with executing(program, inputs, options) as done:
            yield done
    except ProgramError as error:
        is_unplaced = vars(error.__cause__ or error).get("__forward__", None) == 0
        if is_unplaced and not (inputs or options.record or options.planner or options.within):
            error.forward = find_forward(program, error, options, time.monotonic() - start)
        raise


def find_forward(program: Program, error: ProgramError, options: RunOptions, passed: float) -> Any:
    """Return the place of the operation in whose backward a program failed: of a second run, with
    places; None if that ends in another way or would take too long.
    """
    import io

    from gradtrace.program.discarding import discarding

    if 2 * passed > (options.budget or Budget()).seconds:
        return None
    silent = io.StringIO()
    silenced = options._replace(watcher=None, outputs=(), show=None, stdout=silent, stderr=silent)
    try:
        with discarding(), executing(program, None, silenced, has_places=True):
            pass
    except GradtraceError as repeated:
        return repeated.forward if str(repeated) == str(error) else None
    except SystemExit:
        pass
    return None


@context
def executing(
    program: Program,
    inputs: dict[str, Tensor] | None,
    options: RunOptions,
    has_places: bool = False,
) -> Iterator[Run]:
    """Run a program, see `running`. With `has_places` the backward graph's nodes have their
    operations' places.
    """
    # expressions, which start fast, need none of these
    from contextlib import redirect_stderr, redirect_stdout

    from gradtrace.program.surroundings import Surroundings

    within = options.within
    planner = options.planner
    execution = Execution(program, dict(inputs or {}), options.budget or Budget(), within)
    execution.begin_record(options.record, options.watcher)
    load_random_numbers(program)
    places = execution.places
    thread = _thread.get_ident()  # the watchdog asks for the place in another one
    watch = watched(execution.clock, lambda: places.place(places.of_thread(thread)))
    stdout = redirect_stdout(options.stdout or sys.stdout)
    stderr = redirect_stderr(options.stderr or sys.stderr)
    is_placed = execution.is_instrumented or planner is not None or has_places
    with restored(), watch, stdout, stderr, Surroundings(execution):
        dtypes.set_default_dtype(default_dtype(program, options.dtype))
        state.set(
            grad_enabled=True,
            inference=False,
            devices=() if within is None else state.devices,
            recorder=execution.recorder
            or (note_place if has_places else planner)
            or (within and within.recorder),
            watcher=options.watcher,
            keeper=execution.keeper,
            planner=planner,
            scope=None,
            origin=0,
            locate=places.here if is_placed else None,
        )
        try:
            with explained(program, places):
                execution.execute(options.show)
        except GradtraceError as error:
            if execution.is_instrumented:
                error.run = execution.result(None, ())
            raise
        finally:
            if within is not None and within.leave is not None:
                within.leave()
        variables = execution.variables()
        chosen = tuple((name, chosen_output(variables, name)) for name in options.outputs)
        root = (
            execution.last if execution.last is not None else assigned_root(program.tree, variables)
        )
        state.set(recorder=planner, origin=0, locate=None if planner is None else places.here)
        with explained(program, places):
            yield execution.result(root, chosen)


def load_random_numbers(program: Program) -> None:
    """Import the modules of random numbers that a program imports, so that the state of their
    generators is restored after it.
    """
    imported = imported_modules(program.tree)
    if "random" in imported:
        import random  # noqa: F401
    if "numpy" in imported:
        import numpy.random  # noqa: F401


class Execution:
    """One run of a program: its namespace, its places, and what is recorded."""

    def __init__(
        self,
        program: Program,
        inputs: dict[str, Tensor],
        budget: Budget,
        within: SharedNamespace | None,
    ) -> None:
        self.program = program
        self.inputs = inputs
        self.within = within
        self.past = None if within is None else within.past
        self.clock = Clock(budget, program.seconds)
        self.module = ModuleType(MAIN) if within is None else within.module
        self.names = vars(self.module)
        self.names.update(inputs)
        self.places = ProgramPlaces(None if self.past is None else self.past.spans)
        self.records: list[Any] = []
        self.scopes: list[Any] = []
        self.keeper: Any = None
        self.watcher: Any = None
        self.recorder: Callable[..., None] | None = None
        self.builtins: dict[str, Any] = dict(vars(builtins))
        self.last: Any = None

    def begin_record(self, make_keeper: MakeKeeper | None, watcher: Any) -> None:
        if make_keeper is not None:
            if self.past is not None:
                self.records = self.past.records
                self.scopes = self.past.scopes
                self.keeper = self.past.keeper
            else:
                self.keeper = make_keeper(self.records, self.clock.budget.record_bytes)
                self.keeper.program_files = self.places.files
            self.recorder = make_recorder(self.records, self.scopes, watcher)
            if watcher is not None:
                self.watcher = watcher
        self.is_instrumented = make_keeper is not None
        if self.is_instrumented:
            from gradtrace.program.instrument import Scopes

            self.builtins.update(Scopes(self.places).functions)

    # ---- execution

    def execute(self, show: Callable[[Any, str], None] | None) -> None:
        """Execute the statements; keep the value of the last expression statement that is a result
        in `last`.
        """

        def value(result: Any) -> None:
            if is_result(result):
                self.last = result
            if show is not None and result is not None:
                show(result, repr(result))

        self.builtins[VALUE] = value
        if not self.program.imports_torch:
            self.builtins.update(find_mathematics(self.program.tree))
        source = self.program.source
        name = (
            source.name
            if self.within is None or self.past is not None
            else f"<{source.name}, {id(self)}>"
        )
        with deep(0):
            code = self.compiled(self.program, name, with_values)
        try:
            exec(code, self.names)
        finally:
            del self.builtins[VALUE]  # it refers to this object, which refers to it

    def compiled(
        self, program: Program, name: str, change: Callable[[Any], Any] = lambda tree: tree
    ) -> Any:
        """Return the code of the program or of one of its modules, changed; `name` is the file of
        its code objects.
        """
        source = program.source
        file = self.places.add_source(source, program.tree, name)
        try:
            # a copy, since the changes must not be seen elsewhere
            tree = ast.parse(source.text, name)
            # of a prompt's text, the last entry
            tree.body = tree.body[len(tree.body) - len(program.tree.body) :]
            tree = change(tree)
            if self.is_instrumented:
                from gradtrace.program.instrument import instrumented

                tree = instrumented(tree, self.places, file)
            return compile(tree, name, "exec", dont_inherit=True)
        except RecursionError:
            raise too_deep() from None

    def execute_module(self, program: Program, names: dict[str, Any]) -> None:
        """Execute the text of one of the program's own modules."""
        names["__builtins__"] = self.builtins
        exec(self.compiled(program, program.source.name), names)

    # ---- what is left

    def variables(self) -> dict[str, Any]:
        """Return the program's own variables."""
        return variables_of(self.module)

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
            () if self.keeper is None else self.keeper.functions,
        )


def variables_of(module: ModuleType) -> dict[str, Any]:
    """Return the variables of a module without the names that Python gives every module."""
    return {
        name: value
        for name, value in vars(module).items()
        if not (name[:2] == "__" and name[-2:] == "__")
    }
