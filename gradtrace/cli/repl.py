"""The session of `gradtrace repl`: entries run in one namespace under the limits, and all are recorded together.

The value of an entry is printed as at Python's prompt. A line that begins with a colon is a question about the whole
session, answered like the other commands (`repl_commands`).
"""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from gradtrace.cli import output, report, session
from gradtrace.cli.options import Look
from gradtrace.engine import Tensor
from gradtrace.errors import GradtraceError, ProgramError
from gradtrace.limits import Budget
from gradtrace.program.dialogue import Dialogue
from gradtrace.program.parse import Program
from gradtrace.program.result import Run
from gradtrace.sandbox import channel
from gradtrace.trace.keeper import Keeper
from gradtrace.trace.record import Trace
from gradtrace.trace.steps import Watch

NAME = "repl"
FIELDS = ("backward()", "detach()", "dtype", "grad", "grad_fn", "is_leaf", "requires_grad", "retain_grad()", "shape")
GOODBYE = ("exit", "quit", "exit()", "quit()")


def remote_entries(names: Callable[[], list[str]]) -> Iterator[str]:
    """Yield the entries that the broker of this confined process reads; Ctrl-C at its prompt is not for this one."""
    while True:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        entry = channel.ask("entry", names=names())
        signal.signal(signal.SIGINT, before)
        if entry["text"] is None:
            return
        channel.state.outputs = tuple(entry["outputs"])
        os.environ["COLUMNS"] = str(entry["columns"])  # the terminal may have another width now
        yield entry["text"]


class Repl:
    """A session of the prompt. `failed` says whether any entry ended in an error."""

    def __init__(self, budget: Budget, dtype: str | None, settings: report.Settings) -> None:
        self.talk = Dialogue(NAME, budget, record=Keeper, watcher=Watch(), dtype=dtype)
        self.settings, self.look = settings, Look(color=settings.color)
        self.tables = False  # whether each entry's table follows it
        self.failed = False
        self.last: Tensor | None = None  # the last tensor that an entry came to or assigned
        self.source: Any = None
        self.failure: Any = None  # of the last entry, if it failed by an error of the program's

    def serve(self, entries: Iterable[str]) -> int:
        """Run the entries; return the exit code that the program asked for, else 0."""
        for entry in entries:
            text = entry.strip()
            if text in GOODBYE or text in (":quit", ":q"):
                break
            try:
                self.obey(text, entry)
            except SystemExit as end:
                return end.code if isinstance(end.code, int) else 1
            except KeyboardInterrupt:
                self.interrupted()
            except (GradtraceError, MemoryError) as error:
                self.failed = True
                self.failure = session.failure_of(error, NAME) if isinstance(error, ProgramError) else None
                sys.stdout.flush()
                report.show(error, self.settings)
        return 0

    def obey(self, text: str, entry: str) -> None:
        from gradtrace.cli import repl_commands

        if text.startswith(":"):
            repl_commands.run(self, text)
        elif text:
            self.failure = None
            self.run(entry)
            if self.tables and self.talk.past.records:
                repl_commands.variables(self, "")

    def run(self, entry: str) -> None:
        """Run a statement and print its value."""
        program = self.talk.parse(entry + "\n")
        self.declare(program)
        self.source = program.source

        def show_warning(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
            report.write(f"{NAME}: {category.__name__}: {message}")

        with warnings.catch_warnings():
            warnings.simplefilter("default", UserWarning)
            warnings.showwarning = show_warning
            try:
                done = self.talk.run(program, stdout=sys.stdout, stderr=sys.stderr, show=self.show)
            finally:
                sys.stdout.flush()
        self.last = done.root if isinstance(done.root, Tensor) else self.last

    def declare(self, program: Program) -> None:
        """Make variables of declarations such as `w: leaf = 1.0` and `x: data = [1, 2]`, as in an expression file."""
        from gradtrace.cli import inputs, values

        dtype = self.talk.default_dtype
        for variable in program.inputs:
            if variable.kind == "free" or variable.default is None:
                continue
            raw = inputs.default(program, variable, dtype, self.talk.budget)
            tensor = values.tensor(raw, dtype, floating=variable.kind == "leaf")
            vars(self.talk.module)[variable.name] = tensor.requires_grad_() if variable.kind == "leaf" else tensor

    def show(self, value: Any, text: str) -> None:
        vars(self.talk.module)["_"] = value
        output.write(text + "\n")

    def known_names(self) -> list[str]:
        """Return the names that Tab completes: commands, variables and their fields, functions."""
        from gradtrace.cli.repl_commands import COMMANDS
        from gradtrace.program.names import BUILTINS, MATHEMATICS

        commands = [f":{name}" for name in COMMANDS]
        fields = [
            f"{name}.{field}"
            for name, value in self.talk.variables.items()
            if isinstance(value, Tensor)
            for field in FIELDS
        ]
        offered = BUILTINS if self.talk.imports_torch else {*BUILTINS, *MATHEMATICS}
        return sorted({*commands, *self.talk.variables, *fields, *offered})

    def interrupted(self) -> None:
        """Discard the last operation after Ctrl-C, since its record may be incomplete."""
        report.write("interrupted")
        watch, past = self.talk.watcher, self.talk.past
        whole = min(map(len, (past.records, past.scopes, watch.grad_modes)))
        for notes in (past.records, past.scopes, watch.grad_modes):
            del notes[whole:]

    def forget(self) -> None:
        """Discard the recorded operations; variables stay."""
        self.talk.forget()
        self.talk.watcher = Watch()

    def trace(self) -> Trace:
        """Return the trace of all entries so far, as if they were one program."""
        from gradtrace.trace.capture import capture

        past, variables = self.talk.past, self.talk.variables
        named = {name: value for name, value in variables.items() if name != "_"}
        program = Program(self.source, None, (), self.talk.imports_torch, None)  # type: ignore[arg-type]
        kept: Any = (past.records, past.spans, {}, past.scopes, past.keeper)
        run = Run(program, named, self.last, (), *kept)
        roots = [] if self.last is None else [self.last]
        with session.uncollected():
            trace = capture(run, roots, everything=True, watch=self.talk.watcher)
        return trace._replace(failure=self.failure)
