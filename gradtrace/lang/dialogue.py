"""Programs that run one after the other in one namespace: the cells of a notebook, the entries at a prompt.

    talk = Dialogue("note.md", budget)
    run = talk.run("import torch", stdout=out)

What a program changes for the process (seed, print options) is restored after it, and applied again for the next one.
With `record` the operator calls of all programs are kept as those of one program with their joined text.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Callable
from gradtrace.engine.keeper import Keeper
from gradtrace.lang import restore
from gradtrace.lang.parse import Program, parse
from gradtrace.lang.run import EarlierRecords, Run, SharedNamespace, run
from gradtrace.lang.source import Source, Span
from gradtrace.limits import Budget


class Dialogue:
    """A namespace and its programs. `record` and `watcher` as for `lang.run`; `dtype`: None is
    float64, and float32 once torch was imported.
    """

    def __init__(
        self,
        name: str,
        budget: Budget,
        *,
        record: bool = False,
        watcher: Any = None,
        dtype: Any = None,
        host: Any = None,
    ) -> None:
        self.name = name
        self.budget = budget
        self.record = record
        self.watcher = watcher
        self.dtype = dtype
        self.host = host
        self.variables: dict[str, Any] = {}
        self.classes: set[type] = set()
        self.imports_torch = False
        self.text = ""  # of all that ran
        records: list[Any] = []
        self.past = EarlierRecords(records, [], [Span(0, 0, 0, 0)], Keeper(records, budget.record_bytes))
        self.kept: Any = None

    @property
    def default_dtype(self) -> str:
        return self.dtype or ("float32" if self.imports_torch else "float64")

    def parse(self, text: str) -> Program:
        """Parse the next program; when recording, its line numbers follow those of the last. Errors as for `parse`."""
        if self.record:
            budget = self.budget._replace(source_bytes=self.budget.source_bytes + self.text.count("\n"))
            program = parse("\n" * self.text.count("\n") + text, self.name, budget)
            program = program._replace(source=Source.of(self.name, self.text + text))
        else:
            program = parse(text, self.name, self.budget)
        self.imports_torch = self.imports_torch or program.imports_torch
        return program._replace(imports_torch=self.imports_torch)

    def run(self, program: Program, *, stdout: Any, stderr: Any, show: Callable[[Any, str], None] | None = None) -> Run:
        """Run a program; errors as for `lang.run`. `show` gets each expression statement's value and text."""
        if self.record:
            self.text = program.source.text.rstrip("\n") + "\n"
        if self.kept is not None:
            restore.put_random_state(self.kept[0])
            restore.put_print_options(self.kept[1])
        namespace = SharedNamespace(self.variables, self.classes, self.past, self._keep)
        return run(
            program,
            within=namespace,
            budget=self.budget,
            stdout=stdout,
            stderr=stderr,
            show=show,
            dtype=self.default_dtype,
            record=self.record,
            watcher=self.watcher,
            host=self.host,
        )

    def _keep(self) -> None:
        self.kept = restore.random_state(), restore.print_options()

    def forget(self) -> None:
        """Discard what was recorded; variables keep their values."""
        self.past.records.clear()
        self.past.scopes.clear()
        self.past = self.past._replace(keeper=Keeper(self.past.records, self.budget.record_bytes))
