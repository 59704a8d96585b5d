"""Convert a finished run's live tensors and nodes to a Trace.

    trace = capture(run, roots)

`history` reads what the run recorded and selects what is relevant; this module makes immutable
records of it.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, Mapping, Sequence
from gradtrace.engine import Tensor
from gradtrace.engine.data.node import AccumulateGrad
from gradtrace.trace import functions
from gradtrace.trace.engine_builder import EngineBuilder, grad_of
from gradtrace.trace.events import Call, Entry
from gradtrace.trace.history import History, bound_names, relevant
from gradtrace.trace.keeper import Keeper
from gradtrace.trace.record import Trace
from gradtrace.trace.values import Contents

if TYPE_CHECKING:
    from gradtrace.trace.steps import Watch


def capture(
    run: Any,
    roots: Sequence[Tensor] = (),
    backward_runs: int = 0,
    *,
    inputs: Mapping[str, Tensor] | None = None,
    everything: bool = False,
    watch: Watch | None = None,
    gradients: bool = False,
    final: bool = False,
) -> Trace:
    """Return the Trace of `run` (which ran with `record=Keeper`), after all its backward passes.

    `roots` are the tensors that backward started from; `inputs` the run's named input tensors,
    which come first. The trace has the tensors that the roots, the outputs and the variables were
    computed from; with `everything`, all. `watch` is the watcher of the run's backward passes, from
    which the trace's steps are made. With `gradients` the trace also has the leaves' gradients that
    have a history of their own (create_graph), as "w.grad". `final` says that the run's tensors
    will not be used any more, so that arrays need not be copied.
    """
    captured = Captured(run, roots, inputs, gradients)
    return captured.trace(backward_runs, everything=everything, watch=watch, final=final)


class Captured:
    """The history of a finished run, from which several traces are made, each with fewer tensors
    than the one before.
    """

    def __init__(
        self,
        run: Any,
        roots: Sequence[Tensor],
        inputs: Mapping[str, Tensor] | None,
        gradients: bool = False,
    ) -> None:
        variables = inputs if inputs is not None else getattr(run, "inputs", None) or {}
        outputs = [tensor for _, tensor in run.outputs if isinstance(tensor, Tensor)]
        starts = roots or [run.root] if isinstance(run.root, Tensor) else roots
        self.run = run
        self.keeper = getattr(run, "keeper", None)
        history = self.history = History(run.records or (), getattr(run, "scopes", ()), self.keeper)
        history.add_inputs(variables)
        bound = list(bound_names(run.env, getattr(run, "functions", ())))
        history.read(bound)
        history.add_names(bound)
        derived = derived_gradients([*variables.items(), *bound]) if gradients else []
        for name, gradient in derived:
            entry = history.entry(gradient)
            entry.names = entry.names or [name]
        for tensor in (*starts, *outputs):
            history.entry(tensor)
        history.find_functions()
        self.results = [history.entry(tensor) for tensor in starts]
        self.roots = called_on(self.keeper, history.entries) or self.results
        self.outputs = [history.entry(tensor) for tensor in outputs]

    def trace(
        self,
        backward_runs: int,
        *,
        everything: bool = False,
        watch: Watch | None = None,
        final: bool = True,
        whole: Trace | None = None,
    ) -> Trace:
        """Return a trace of the run; return `whole`, the trace with everything, if it would have
        the same tensors.
        """
        entries = self.history.entries
        ends = [*self.roots, *self.results, *self.outputs]
        # loss_fn(...).backward(): backward began at a tensor that has no name
        if watch is not None:
            beginnings = watch.beginnings
            ends += [entry for entry in entries if entry.fn in beginnings]
        kept = entries if everything else relevant(self.history, ends)
        if whole is not None and len(kept) == len(entries):
            return whole
        calls = self.number(kept)
        # a pass that began at a leaf has no other node
        leaves = [] if watch is None else watch.leaves_begun_at
        is_all = kept is entries and not leaves
        graph = (
            self.history.graph
            if is_all
            else functions.walk([*(entry.fn for entry in kept), *leaves])
        )
        builder = EngineBuilder(self.run, graph, kept, calls, self.contents(final), watch)
        builder.roots = dict.fromkeys(entry.id for entry in self.roots)
        builder.outputs = dict.fromkeys(entry.id for entry in self.outputs or self.roots)
        builder.backward_runs = backward_runs
        builder.backward_ran = backward_runs > 0 or any(
            grad_of(entry.tensor) is not None for entry in kept
        )
        if builder.backward_ran and not backward_runs:
            builder.retained_by = "retain_grad()"  # the program itself called backward
        return builder.build()

    def number(self, kept: list[Entry]) -> list[Call]:
        """Number the entries of a trace, and return the calls that have results in it, which are
        numbered too.
        """
        for entry in self.history.entries:
            entry.id = -1
        for number, entry in enumerate(kept):
            entry.id = number
        calls = [call for call in self.history.calls if any(out.id >= 0 for out in call.outputs)]
        for number, call in enumerate(calls):
            call.id = number
        return calls

    def contents(self, final: bool) -> Contents:
        """Return an object that makes the Values of a trace."""
        return Contents(self.keeper, final)


def called_on(keeper: Keeper | None, entries: list[Entry]) -> list[Entry]:
    """Return the tensors that the last backward which stores gradients was called on; [] without
    one.
    """
    storing = [mark for mark in keeper.passes if mark.stores] if keeper is not None else []
    called: list[Entry] = []
    for node, number in storing[-1].roots or () if storing else ():
        leaf = node.variable if isinstance(node, AccumulateGrad) else None
        same = (
            e for e in reversed(entries) if (e.fn is node if leaf is None else e.tensor is leaf)
        )
        called += [e for e in same if leaf is not None or e.tensor._nr == number][:1]
    return called


def derived_gradients(named: Sequence[tuple[str, Any]]) -> list[tuple[str, Tensor]]:
    """Return the gradients that have a grad_fn, each once."""
    gradients: dict[int, tuple[str, Tensor]] = {}
    for name, tensor in named:
        grad = grad_of(tensor) if isinstance(tensor, Tensor) else None
        if grad is not None and grad.grad_fn is not None:
            gradients.setdefault(id(grad), (f"{name}.grad", grad))
    return list(gradients.values())
