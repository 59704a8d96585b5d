"""The commands of `gradtrace repl` that start with a colon, such as :why."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gradtrace.cli import hints, output
from gradtrace.errors import UsageError
from gradtrace.trace.record import TensorRecord, Trace

if TYPE_CHECKING:
    from gradtrace.cli.repl import Repl

Command = Callable[["Repl", str], None]


def run(repl: Repl, line: str) -> None:
    """Run a line such as ":why w"; raise UsageError for an unknown command."""
    name, _, rest = line[1:].strip().partition(" ")
    matches = [key for key in COMMANDS if key.startswith(name)] if name else []
    if name not in COMMANDS and len(matches) != 1:
        raise UsageError(f"no command ':{name}'", hints.near(name, COMMANDS, ":help lists them"))
    command, _ = COMMANDS[name if name in COMMANDS else matches[0]]
    command(repl, rest.strip())


def help(repl: Repl, rest: str) -> None:
    width = max(len(name) for name in SHOWN)
    lines = [f"  {name.ljust(width)}  {said}" for name, said in SHOWN.items()]
    output.write("\n".join([INTRODUCTION, "", *lines, ""]))


def recorded(repl: Repl) -> Trace:
    """Return the trace of the session; raise UsageError if it has no tensor yet."""
    session_trace = repl.trace() if repl.source is not None else None
    if session_trace is None or not session_trace.tensors:
        raise UsageError("no tensor yet", "for instance: w: leaf = 1.0")
    return session_trace


def chosen(trace: Trace, rest: str, command: str, suffix: str = "") -> list[TensorRecord]:
    """Return the records of the tensors that a line names."""
    from gradtrace.views import pick

    return [pick.tensor(trace, name.removesuffix(suffix), command) for name in rest.replace(",", " ").split()]


def variables(repl: Repl, rest: str) -> None:
    """Print the table of `gradtrace eval` for the tensors that variables hold, or for all tensors."""
    from gradtrace.views.table import render

    trace = recorded(repl)
    kept = trace if rest == "all" else trace._replace(tensors=tuple(t for t in trace.tensors if t.name is not None))
    output.write(render(kept, output.options(repl.look._replace(all=rest == "all"))))


def gradients(repl: Repl, rest: str) -> None:
    """Print the gradients of the named tensors, or else of the leaves."""
    from gradtrace.views import numbers

    trace = recorded(repl)
    wanted = chosen(trace, rest, ":grad", ".grad") or [
        t for t in trace.tensors if t.is_leaf and t.requires_grad and t.is_last
    ]
    if not wanted:
        output.write("no leaf requires grad\n")
    for t in wanted:
        text = f"None ({t.grad_note})" if t.grad is None else numbers.short(t.grad)
        output.write(f"{t.label}.grad = {text}\n")


def why(repl: Repl, rest: str) -> None:
    """Explain the named tensors; without names the entry that has just failed, else each variable in one line."""
    from gradtrace.analysis.facts import Facts
    from gradtrace.analysis.failures import explain_failure
    from gradtrace.analysis.why import explain
    from gradtrace.views import why as view

    trace = recorded(repl)
    named = chosen(trace, rest, ":why", ".grad")
    failure = None if named else explain_failure(trace)
    if failure is not None:
        output.write(view.text([failure], output.options(repl.look)))
        return
    facts = Facts(trace)
    answers = [explain(facts, record) for record in named or [t for t in trace.named if t.name != "_"]]
    output.write((view.text if named else view.overview)(answers, output.options(repl.look)))


def graph(repl: Repl, rest: str) -> None:
    """Print the graph as a tree, or draw it into the named file."""
    from gradtrace.views import dot, model, render, tree
    from gradtrace.views.fold import fold

    trace = recorded(repl)
    suffix = render.suffix_of(rest) if rest else ""
    drawn = model.model(trace, "data", fold(trace))
    if rest:
        from gradtrace import files

        files.write_output(rest, render.render(drawn, dot.DotOptions(), suffix, None))
        output.write(f"written: {rest}\n")
        return
    output.write(tree.render(drawn, output.options(repl.look)))


def trace(repl: Repl, rest: str) -> None:
    from gradtrace.analysis import steps
    from gradtrace.views import steps as view

    session_trace = recorded(repl)
    listed = steps.steps(session_trace)
    named = chosen(session_trace, rest, ":trace")
    if named:
        listed = steps.follow(session_trace, listed, {record.id for record in named})
    for part in view.table(listed, output.options(repl.look)):
        output.write(part)


def paths(repl: Repl, rest: str) -> None:
    from gradtrace.analysis import paths as analysis
    from gradtrace.views import paths as view

    run = recorded(repl)
    ends = chosen(run, rest, ":paths") or analysis.leaves(run)
    output.write(view.table([analysis.paths(run, None, leaf, 100) for leaf in ends], output.options(repl.look)))


def table(repl: Repl, rest: str) -> None:
    if rest not in ("", "on", "off"):
        raise UsageError(f":table takes on or off, not '{rest}'", ":table alone changes it")
    repl.tables = not repl.tables if not rest else rest == "on"
    output.write(f"tables after each entry: {'on' if repl.tables else 'off'}\n")


def forget(repl: Repl, rest: str) -> None:
    repl.forget()
    output.write("what was recorded is forgotten; variables stay\n")


def quit(repl: Repl, rest: str) -> None:
    """Do nothing, since the loop itself ends at :quit; the function exists so that :help lists the command."""


INTRODUCTION = """Statements and expressions run as they are typed, in one session.
w: leaf = 1.0 makes a leaf that requires grad, x: data = [1, 2] one that does
not; import torch brings PyTorch's names and its float32."""

# name: what it does, and how it is shown by :help
COMMANDS: dict[str, tuple[Command, tuple[str, str]]] = {
    "vars": (variables, (":vars [all]", "the tensors: value, gradient, leaf status, grad_fn")),
    "grad": (gradients, (":grad [NAME...]", "gradients, of the leaves or of those named")),
    "why": (why, (":why [NAME...]", "why a gradient is what it is; why the last entry failed")),
    "graph": (graph, (":graph [FILE]", "the graph as a tree, or drawn: g.svg, g.png, g.html")),
    "trace": (trace, (":trace [NAME...]", "every step so far, forward and backward")),
    "paths": (paths, (":paths [NAME...]", "the chain rule path by path, from the last result")),
    "table": (table, (":table [on|off]", "show :vars after each entry")),
    "forget": (forget, (":forget", "drop what was recorded; variables stay")),
    "help": (help, (":help", "this list")),
    "quit": (quit, (":quit", "leave; so do exit() and Ctrl-D")),
}
SHOWN = dict(shown for _, shown in COMMANDS.values())
