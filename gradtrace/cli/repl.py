"""The session of `gradtrace repl`: entries run in one namespace under the limits, and all are
recorded together.

The value of an entry is printed as at Python's prompt. The questions (`why(w)`, `graph(y)`) are
functions of this namespace. They are answered when the entry that asks them has run, since only
then is its record whole.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from gradtrace.cli import output, report, running, session
from gradtrace.cli.options import Look
from gradtrace.engine import Tensor
from gradtrace.errors import GradtraceError, ProgramError, UsageError
from gradtrace.limits import Budget
from gradtrace.program.dialogue import Dialogue
from gradtrace.program.parse import Program
from gradtrace.program.result import Run
from gradtrace.sandbox import channel
from gradtrace.trace.keeper import Keeper
from gradtrace.trace.record import TensorRecord, Trace
from gradtrace.trace.steps import Watch

NAME = "repl"
FIELDS = (
    "backward()",
    "detach()",
    "dtype",
    "grad",
    "grad_fn",
    "is_leaf",
    "requires_grad",
    "retain_grad()",
    "shape",
)
GOODBYE = ("exit", "quit", "exit()", "quit()")
PATHS = 100  # that are written out
HELP = """\
Statements and expressions run as they are typed, in one session.
w: leaf = 1.0 makes a leaf that requires grad, x: data = [1, 2] one that does
not; import torch brings PyTorch's names and its float32.

  table()          the tensors of variables: value, gradient, leaf status, grad_fn
  why(w, ...)      why a gradient is what it is; why() also why the last entry failed
  graph(y, FILE)   the graph of y as a tree, or drawn: graph("g.svg") draws all
  trace(y, ...)    every step so far, forward and backward, or those of y
  paths(w, ...)    the chain rule path by path, from the last result
  stats()          norms of values and gradients, and what is wrong with them
  forget()         drop what was recorded; variables stay
  exit()           leave; so does Ctrl-D

An argument is a tensor, or a name: why("net.fc.weight").
"""


def remote_entries(names: Callable[[], list[str]]) -> Iterator[str]:
    """Yield the entries that the broker of this confined process reads; Ctrl-C at its prompt is not
    for this one.
    """
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
        running.offer_pictures()
        self.talk = Dialogue(NAME, budget, record=Keeper, watcher=Watch(), dtype=dtype)
        self.settings, self.look = settings, Look(color=settings.color)
        self.failed = False
        self.last: Tensor | None = None  # the last tensor that an entry came to or assigned
        self.source: Any = None
        # of the last entry that asks nothing, if it failed by an error of the program's
        self.failure: Any = None
        self.asked: list[Callable[[], None]] = []  # the questions of the entry that runs
        answers = (
            self.table,
            self.why,
            self.graph,
            self.trace,
            self.paths,
            self.stats,
            self.forget,
            self.help,
        )
        self.questions = {answer.__name__: partial(self.ask, answer) for answer in answers}

    def serve(self, entries: Iterable[str]) -> int:
        """Run the entries; return the exit code that the program asked for, else 0."""
        for entry in entries:
            if entry.strip() in GOODBYE:
                break
            try:
                if entry.strip():
                    self.run(entry)
            except SystemExit as end:
                return end.code if isinstance(end.code, int) else 1
            except KeyboardInterrupt:
                self.interrupted()
            except (GradtraceError, MemoryError) as error:
                self.failed = True
                if isinstance(error, ProgramError):
                    self.failure = session.failure_of(error, NAME)
                elif not self.asked:
                    self.failure = None
                sys.stdout.flush()
                report.show(error, self.settings)
        return 0

    def ask(self, answer: Callable[..., None], *arguments: Tensor | str) -> None:
        """Note a question: it is answered after its entry."""
        self.asked.append(partial(answer, *arguments))

    def run(self, entry: str) -> None:
        """Run a statement, print its value, and answer its questions."""
        self.asked.clear()
        for name, question in self.questions.items():
            vars(self.talk.module).setdefault(name, question)
        program = self.talk.parse(entry + "\n")
        self.declare(program)
        self.source = program.source

        with running.warning_lines(NAME):
            try:
                done = self.talk.run(program, stdout=sys.stdout, stderr=sys.stderr, show=self.show)
            finally:
                sys.stdout.flush()
        self.last = done.root if isinstance(done.root, Tensor) else self.last
        for answer in self.asked:
            answer()
        if not self.asked:
            self.failure = None

    def declare(self, program: Program) -> None:
        """Make variables of declarations such as `w: leaf = 1.0` and `x: data = [1, 2]`, as in an
        expression file.
        """
        from gradtrace.cli import inputs, values

        dtype = self.talk.default_dtype
        for variable in program.inputs:
            if variable.kind == "free" or variable.default is None:
                continue
            raw = inputs.default(program, variable, dtype, self.talk.budget)
            tensor = values.tensor(raw, dtype, floating=variable.kind == "leaf")
            vars(self.talk.module)[variable.name] = (
                tensor.requires_grad_() if variable.kind == "leaf" else tensor
            )

    def show(self, value: Any, text: str) -> None:
        vars(self.talk.module)["_"] = value
        output.write(text + "\n")

    def known_names(self) -> list[str]:
        """Return the names that Tab completes: questions, variables and their fields, functions."""
        from gradtrace.program.names import BUILTINS, MATHEMATICS

        fields = [
            f"{name}.{field}"
            for name, value in self.talk.variables.items()
            if isinstance(value, Tensor)
            for field in FIELDS
        ]
        offered = BUILTINS if self.talk.imports_torch else {*BUILTINS, *MATHEMATICS}
        return sorted({*self.questions, *self.talk.variables, *fields, *offered})

    def interrupted(self) -> None:
        """Discard the last operation after Ctrl-C, since its record may be incomplete."""
        report.write("interrupted")
        watch = self.talk.watcher
        past = self.talk.past
        whole = min(map(len, (past.records, past.scopes, watch.grad_modes)))
        for notes in (past.records, past.scopes, watch.grad_modes):
            del notes[whole:]

    # ---- what the questions ask about

    @property
    def variables(self) -> dict[str, Any]:
        """The variables that the entries made."""
        variables = self.talk.variables.items()
        return {
            name: value
            for name, value in variables
            if name != "_" and self.questions.get(name) is not value
        }

    def record(self) -> Trace:
        """Return the trace of all entries so far as one program. UsageError before the first
        tensor.
        """
        from gradtrace.trace.capture import capture

        past = self.talk.past
        program = Program(self.source, None, (), self.talk.imports_torch, None)  # type: ignore[arg-type]
        kept: Any = (past.records, past.spans, {}, past.scopes, past.keeper)
        run = Run(program, self.variables, self.last, (), *kept)
        roots = [] if self.last is None else [self.last]
        with session.uncollected():
            trace = capture(run, roots, everything=True, watch=self.talk.watcher)
        trace = trace._replace(failure=self.failure)
        if not trace.tensors:
            raise UsageError("no tensor yet", "for instance: w: leaf = 1.0")
        return trace

    def record_before(self, root: Tensor) -> Trace:
        """Return the trace of what a tensor was computed from."""
        from gradtrace.trace.window import window

        whole = self.record()
        roots = tuple(record.id for record in self.chosen(whole, [root], "graph"))
        operations, passes = range(len(whole.operations)), range(len(whole.passes))
        return window(whole, operations, passes, roots, everything=False, step=None)

    def chosen(
        self, trace: Trace, wanted: Iterable[Tensor | str], question: str
    ) -> list[TensorRecord]:
        """Return the records of tensors, or of those that names stand for."""
        from gradtrace.views import pick

        names = (name if isinstance(name, str) else self.name_of(name, question) for name in wanted)
        return [pick.tensor(trace, name.removesuffix(".grad"), f"{question}()") for name in names]

    def name_of(self, tensor: Tensor, question: str) -> str:
        """Return the name of a tensor that a variable holds, by itself or in a model."""
        from gradtrace.trace.names import Names
        from gradtrace.trace.scopes import LIBRARY

        names = (name for name, held in Names(self.variables, LIBRARY).tensors() if held is tensor)
        name = next(names, None)
        if name is None:
            hint = f'give it a name first, or ask by name: {question}("w")'
            raise UsageError(f"{question}() takes the tensor of a variable", hint)
        return name

    # ---- the questions

    def help(self, *_: Any) -> None:
        output.write(HELP)

    def table(self) -> None:
        from gradtrace.views.table import render

        trace = self.record()
        kept = trace._replace(tensors=tuple(t for t in trace.tensors if t.name is not None))
        output.write(render(kept, output.options(self.look)))

    def why(self, *wanted: Tensor | str) -> None:
        """Explain the tensors; without any the entry that has just failed, else each variable in
        one line.
        """
        from gradtrace.analysis.facts import Facts
        from gradtrace.analysis.failures import explain_failure
        from gradtrace.analysis.why import explain
        from gradtrace.views import why as view

        trace = self.record()
        look = output.options(self.look)
        chosen = self.chosen(trace, wanted, "why")
        failure = None if chosen else explain_failure(trace)
        if failure is not None:
            output.write(view.text([failure], look))
            return
        facts = Facts(trace)
        answers = [explain(facts, record) for record in chosen or trace.named]
        output.write((view.text if chosen else view.overview)(answers, look))

    def graph(self, *wanted: Tensor | str) -> None:
        """Print the graph of a tensor, or of all, as a tree, or draw it into the named file."""
        from gradtrace import files
        from gradtrace.views import dot, model, render, tree
        from gradtrace.views.fold import fold

        root = next((tensor for tensor in wanted if isinstance(tensor, Tensor)), None)
        name = next((text for text in wanted if isinstance(text, str)), None)
        suffix = "" if name is None else render.suffix_of(name)
        trace = self.record() if root is None else self.record_before(root)
        drawn = model.model(trace, "data", fold(trace))
        if name is None:
            output.write(tree.render(drawn, output.options(self.look)))
            return
        files.write_output(name, render.render(drawn, dot.DotOptions(), suffix, None))
        output.write(f"written: {name}\n")

    def trace(self, *wanted: Tensor | str) -> None:
        from gradtrace.analysis import steps
        from gradtrace.views import steps as view

        trace = self.record()
        listed = steps.steps(trace)
        chosen = self.chosen(trace, wanted, "trace")
        if chosen:
            listed = steps.follow(trace, listed, {record.id for record in chosen})
        for part in view.table(listed, output.options(self.look)):
            output.write(part)

    def paths(self, *wanted: Tensor | str) -> None:
        from gradtrace.analysis import paths as analysis
        from gradtrace.views import paths as view

        trace = self.record()
        ends = self.chosen(trace, wanted, "paths") or analysis.leaves(trace)
        routes = [analysis.paths(trace, None, leaf, PATHS) for leaf in ends]
        output.write(view.table(routes, output.options(self.look)))

    def stats(self) -> None:
        from gradtrace.analysis.stats import stats
        from gradtrace.views import stats as view

        output.write(view.text(stats(self.record()), output.options(self.look)))

    def forget(self) -> None:
        """Discard the recorded operations; variables stay."""
        self.talk.forget()
        self.talk.watcher = Watch()
        output.write("what was recorded is forgotten; variables stay\n")
