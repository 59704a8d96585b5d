"""Make several traces of a finished run, one for each kind of command; `trace/file.py` stores them.

    "all"       everything that ran, with the backward passes
    "eval"      the operations that the result and the variables depend on
    "graph"     the same, with the gradients that have a history of their own
    "watched"   the same, with the backward passes

Variants with the same records are one Trace that has the backward passes; `unwatched` removes the
passes when another variant is read.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Mapping, Sequence
from gradtrace.engine.data.tensor import Tensor
from gradtrace.trace.capture import Captured, capture, derived_gradients
from gradtrace.trace.history import bound_names
from gradtrace.trace.record import Trace


def variants(
    run: Any, roots: Sequence[Tensor], backward_runs: int, inputs: Mapping[str, Tensor], watch: Any
) -> dict[str, Trace]:
    """Return the traces of a run that was watched by `watch`; its tensors must not be used any
    more.
    """
    captured = Captured(run, roots, inputs)
    whole = captured.trace(backward_runs, everything=True, watch=watch)
    watched = captured.trace(backward_runs, watch=watch, whole=whole)
    # what a Function of the program saved, and passes that began at a leaf, only a watched run
    # knows
    plain = whole if not watch.saved and not watch.leaves_begun_at else None
    evaluated = captured.trace(backward_runs, whole=plain)
    traces = {"all": whole, "eval": evaluated, "graph": evaluated, "watched": watched}
    if derived_gradients([*inputs.items(), *bound_names(run.env, getattr(run, "functions", ()))]):
        for name, by in (("graph", None), ("watched", watch)):
            traces[name] = capture(
                run, roots, backward_runs, inputs=inputs, watch=by, gradients=True, final=True
            )
    return traces


def unwatched(trace: Trace) -> Trace:
    """Return the trace of the same run as if it had not been watched."""
    operations = tuple(
        o if o.grad_enabled else o._replace(grad_enabled=True) for o in trace.operations
    )
    return trace._replace(
        operations=operations, steps=(), passes=(), escapes=(), changes=(), begun=()
    )
