"""Programs run one after another in a shared namespace: notebook cells, entries at a prompt.

    talk = Dialogue("note.md", budget)
    run = talk.run("import torch", stdout=out)

What a program changes for the process (seed, print options) is restored after it and reapplied for
the next one. With `record`, the operator calls of all programs are kept as those of one program
with their joined text.
"""

from __future__ import annotations

from types import ModuleType

from gradtrace.annotations import Any, Callable
from gradtrace.engine.data.state import state, using
from gradtrace.limits import Budget
from gradtrace.program import restore
from gradtrace.program.parse import Program, parse
from gradtrace.program.result import EarlierRecords, MakeKeeper, Run, RunOptions, SharedNamespace
from gradtrace.program.run import MAIN, running, variables_of
from gradtrace.program.source import Source, Span


class Dialogue:
    """A shared namespace and its programs. `record` and `watcher` have the same meaning as for
    `run`; `dtype` None means float64, or float32 once torch has been imported.
    """

    def __init__(
        self,
        name: str,
        budget: Budget,
        *,
        record: MakeKeeper | None = None,
        watcher: Any = None,
        dtype: Any = None,
    ) -> None:
        self.name = name
        self.budget = budget
        self.record = record
        self.watcher = watcher
        self.dtype = dtype
        self.module = ModuleType(MAIN)
        self.imports_torch = False
        self.text = ""  # of all programs so far
        self.past = EarlierRecords([], [], [Span(0, 0, 0, 0)], None)
        self.forget()
        self.kept: Any = None
        self.devices: tuple[Any, ...] = ()
        self.recorder: Any = None  # gets the operator calls of programs that are not recorded

    @property
    def variables(self) -> dict[str, Any]:
        """The variables of the programs so far."""
        return variables_of(self.module)

    @property
    def default_dtype(self) -> str:
        return self.dtype or ("float32" if self.imports_torch else "float64")

    def parse(self, text: str) -> Program:
        """Parse the next program; when recording, line numbers continue the last one's. Raises like
        `parse.parse`.
        """
        if self.record is not None:
            budget = self.budget._replace(
                source_bytes=self.budget.source_bytes + self.text.count("\n")
            )
            program = parse("\n" * self.text.count("\n") + text, self.name, budget)
            program = program._replace(source=Source.of(self.name, self.text + text))
        else:
            program = parse(text, self.name, self.budget)
        self.imports_torch = self.imports_torch or program.imports_torch
        return program._replace(imports_torch=self.imports_torch)

    def run(
        self,
        program: Program,
        *,
        stdout: Any,
        stderr: Any,
        show: Callable[[Any, str], None] | None = None,
    ) -> Run:
        """Run a program; errors: see `run`. `show` gets the value and text of each expression
        statement.
        """
        if self.record is not None:
            self.text = program.source.text.rstrip("\n") + "\n"
        if self.kept is not None:
            restore.put_random_state(self.kept[0])
            restore.put_print_options(self.kept[1])
            restore.put_other_random_states(self.kept[2])
        namespace = SharedNamespace(self.module, self.past, self._keep, self.recorder)
        options = RunOptions(
            within=namespace,
            budget=self.budget,
            stdout=stdout,
            stderr=stderr,
            show=show,
            dtype=self.default_dtype,
            record=self.record,
            watcher=self.watcher,
        )
        with using(devices=self.devices), running(program, None, options) as run:
            pass
        return run

    def _keep(self) -> None:
        self.kept = restore.random_state(), restore.print_options(), restore.other_random_states()
        self.devices = state.devices

    def forget(self) -> None:
        """Discard the records; variables keep their values."""
        self.past.records.clear()
        self.past.scopes.clear()
        if self.record is not None:
            self.past = self.past._replace(
                keeper=self.record(self.past.records, self.budget.record_bytes)
            )
