"""Watch backward passes with hooks on every node that a pass can reach, in the engine's order.

A hook before a node's turn sees the gradients that the node receives; a hook after it sees those
that it sent. Each gradient is read only once, since the array that one node sends is the one that
the next node receives.
"""

from __future__ import annotations

import sys
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from gradtrace.torch import apply, escapes, names, operators, private
from gradtrace.torch.contents import Noted, mark
from gradtrace.torch.iterations import loop_variables
from gradtrace.torch.measure import count_zeros
from gradtrace.trace.events import Call, Entry, PassEvent, Turn

if TYPE_CHECKING:
    from gradtrace.torch.recorder import Recorder

REMOVE = torch.utils.hooks.RemovableHandle.remove  # not the one that a recording notes


def watched(rec: Recorder, engine: Any) -> Any:
    """Return the engine's function with its passes noted by a recorder."""

    def run(outputs: Any, *args: Any, **kwargs: Any) -> Any:
        elsewhere = threading.get_ident() != rec.thread and not rec.is_on()
        if elsewhere and not rec.ended:
            rec.problem("what other threads compute")
        if elsewhere or rec.ended or rec.here.quiet or private.in_transform():
            return engine(outputs, *args, **kwargs)
        if args and private.is_batched(args[0] or ()):
            rec.problem("passes with a batch of gradients (is_grads_batched)")
            return engine(outputs, *args, **kwargs)
        watch = None
        below = rec.here.called_backward
        rec.here.called_backward = False
        rec.resume()  # an optimiser's step that raised left it off
        apply.settle(rec)
        with private.without_torch_function(), rec.lock:
            try:
                watch = PassWatch(rec, outputs, args, kwargs)
                watch.place()
                escapes.note_late(rec)
            except Exception as error:
                rec.problem(f"a backward pass ({type(error).__name__})")
            try:
                names.note_functions(rec, sys._getframe(1))
            except Exception as error:
                rec.problem(f"names of functions' variables ({type(error).__name__})")
        if watch is None:
            return engine(outputs, *args, **kwargs)
        outer = rec.watching
        rec.watching = True
        if below:
            private.put_lowest(rec)
        depth = 0 if rec.precision is None else rec.precision.enter_pass()
        try:
            results = engine(outputs, *args, **kwargs)
        except BaseException as error:
            watch.event.error = text_of(error)
            raise
        finally:
            if below:
                private.remove_mode(rec)
            rec.watching = outer
            if rec.precision is not None:
                rec.precision.leave_pass(depth)
            with private.without_torch_function(), rec.lock:
                watch.remove()
        with private.without_torch_function(), rec.lock:
            try:
                watch.taken(results)
            except Exception as error:
                rec.problem(f"what autograd.grad returned ({type(error).__name__})")
        return results

    return run


def text_of(error: BaseException) -> str:
    """Return an exception as text; its kind alone if its __str__ raises."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


class PassWatch:
    """One watched pass: its hooks, and the gradients that were sent and not yet received."""

    def __init__(self, rec: Recorder, outputs: Any, args: Any, kwargs: Any) -> None:
        self.rec = rec
        options = ("grad_outputs", "keep_graph", "create_graph", "inputs")
        arguments: dict[str, Any] = {
            **dict.fromkeys(options),
            **dict(zip(options, args, strict=False)),
            **kwargs,
        }
        keep = bool(arguments["keep_graph"])
        create_graph = bool(arguments["create_graph"])
        stores = bool(kwargs.get("accumulate_grad", False))
        event = self.event = PassEvent(
            len(rec.calls), rec.places.here_and_lead(4), keep, create_graph, stores
        )
        event.counters = loop_variables(sys._getframe(1))
        outputs = (outputs,) if isinstance(outputs, torch.Tensor) else outputs
        event.roots = [rec.entry(output) for output in outputs if isinstance(output, torch.Tensor)]
        event.vectors = [
            rec.contents.note(v)
            for v in arguments["grad_outputs"] or ()
            if isinstance(v, torch.Tensor)
        ]
        inputs = arguments["inputs"] or ()
        self.inputs = [
            rec.entry(tensor) if isinstance(tensor, torch.Tensor) else None for tensor in inputs
        ]
        event.wanted = [entry for entry in self.inputs if entry is not None] if inputs else None
        self.starts = [self.node_of(output) for output in outputs]
        self.call = None if stores else self.call_of(outputs, inputs)
        self.handles: list[Any] = []
        self.turns: dict[int, Turn] = {}
        self.on_way: dict[tuple[int, int], list[tuple[Any, Noted | None]]] = {}
        self.got: dict[int, list[tuple[Any, bool, Noted]]] = {}
        self.number = len(rec.passes)
        rec.passes.append(event)

    def call_of(self, outputs: Any, inputs: Any) -> Call:
        """Return autograd.grad as an operation on its outputs and inputs, whose results are the
        gradients.
        """
        rec = self.rec
        call = Call(
            "grad", self.event.origin, rec.stack[-1] if rec.stack else None, self.event.create_graph
        )
        tensors = [tensor for tensor in (*outputs, *inputs) if isinstance(tensor, torch.Tensor)]
        call.args = tuple(rec.operand(tensor, call.inputs) for tensor in tensors)
        return call

    def node_of(self, edge: Any) -> Any:
        if not isinstance(edge, torch.Tensor):
            return edge.node  # a GradientEdge
        if edge.grad_fn is not None or not edge.requires_grad:
            return edge.grad_fn
        return torch.autograd.graph.get_gradient_edge(edge).node

    def place(self) -> None:
        """Put the hooks on all nodes behind the roots."""
        rec = self.rec
        handles = self.handles
        before = self.before
        after = None if rec.level == "structure" else self.after
        waiting = [node for node in self.starts if node is not None]
        self.starts = []
        seen: set[int] = set()
        while waiting:
            node = waiting.pop()
            index = rec.index_of(node)
            if index in seen:
                continue
            seen.add(index)
            handles.append(node.register_prehook(partial(before, index)))
            if after is not None:
                handles.append(node.register_hook(partial(after, index)))
            waiting += [following for following, _ in node.next_functions if following is not None]

    def remove(self) -> None:
        """Remove the hooks, so that nothing of the record stays on the graph."""
        for handle in self.handles:
            REMOVE(handle)
        self.handles.clear()
        self.on_way.clear()
        self.got.clear()
        self.event.until = len(self.rec.calls)
        self.rec.hook_runs.clear()

    # ---- turns

    def before(self, index: int, gradients: Any) -> None:
        """Note the gradients that a node receives, before it runs."""
        rec = self.rec
        with private.without_torch_function(), rec.lock:
            try:
                self._before(index, gradients)
                if rec.precision is not None:
                    rec.precision.before(self.number, index, gradients)
            except Exception as error:
                rec.problem(f"a turn of {rec.nodes[index].name} ({type(error).__name__})")

    def new_turn(self, index: int, upstream: list[Noted | None], ran: bool = True) -> Turn:
        turn = Turn(index, len(self.rec.calls), self.rec.turns, ran)
        turn.arrived = turn.upstream = upstream
        self.event.turns.append(turn)
        self.rec.turns += 1
        return turn

    def _before(self, index: int, gradients: Any) -> None:
        rec = self.rec
        node = rec.nodes[index]
        if rec.level == "structure":
            note = rec.contents.note
            turn = self.turns[index] = self.new_turn(
                index, [None if g is None else note(g) for g in gradients]
            )
            turn.freed = not self.event.keep and bool(node.saved)
        else:
            turn = self.turns[index] = self.new_turn(index, [])
            incoming: list[tuple[Any, bool, Noted]] = []
            for number, gradient in enumerate(gradients):
                key = None if gradient is None else mark(gradient)
                noted = None
                if gradient is not None:
                    noted = self.sent_to(index, number, key) or rec.contents.note(gradient)
                    if noted.facts is not None:
                        incoming.append((key, gradient.is_contiguous(), noted))
                turn.upstream.append(noted)
            if incoming:
                self.got[index] = incoming
        if rec.hook_runs:
            turn.hooks = rec.hook_runs
            rec.hook_runs = []
            turn.arrived = [turn.hooks[0][2] or turn.upstream[0], *turn.upstream[1:]]
        if rec.retaining:
            for entry in node.outputs:
                tensor = entry.tensor.ref()
                if tensor is not None and tensor.retains_grad and turn.upstream:
                    turn.hooks.append(
                        ("retain", "retain_grad", turn.upstream[0], turn.upstream[0], False)
                    )
                    break
        if node.variable is not None:
            turn.before = self.stored(node.variable)
            if rec.level == "structure" and turn.upstream:
                turn.after = turn.upstream[0]

    def after(self, index: int, sent: Any, got: Any) -> None:
        """Note the gradients that a node sent, after it has run."""
        rec = self.rec
        with private.without_torch_function(), rec.lock:
            try:
                if rec.precision is not None:
                    rec.precision.after(self.number, index, sent)
                self._after(index, sent)
            except Exception as error:
                rec.problem(f"what {rec.nodes[index].name} sent ({type(error).__name__})")

    def _after(self, index: int, sent: Any) -> None:
        turn = self.turns.get(index)
        if turn is None:
            return
        node = self.rec.nodes[index]
        turn.freed = not self.event.keep and bool(node.saved)
        if node.variable is not None:
            self.kept(turn, node.variable)
            return
        passed = self.got.pop(index, None)
        edges = node.edges
        for number, gradient in enumerate(sent):
            noted = None
            if gradient is not None:
                key = mark(gradient)
                noted = (passed and same_elements(gradient, key, passed)) or self.rec.contents.note(
                    gradient
                )
                edge = edges[number] if number < len(edges) else None
                if edge is not None:
                    self.on_way.setdefault(edge, []).append((key, noted))
            turn.sent.append(noted)

    def sent_to(self, index: int, number: int, key: Any) -> Noted | None:
        """Return the sender's note of the gradient that a node receives, if there is one sender and
        the gradient is unchanged.
        """
        sent = self.on_way.pop((index, number), ())
        return sent[0][1] if len(sent) == 1 and key is not None and sent[0][0] == key else None

    # ---- leaves

    def stored(self, leaf: Any) -> Noted | None:
        """Return a note of a leaf's present .grad."""
        tensor = leaf.ref()
        grad = None if tensor is None else tensor.grad
        return self.rec.note_of_gradient(leaf, grad)

    def kept(self, turn: Turn, leaf: Any) -> None:
        """Note the gradient that AccumulateGrad left in .grad."""
        tensor = leaf.ref()
        grad = None if tensor is None else tensor.grad
        if grad is None:
            # a hook of the program has used it, and cleared it
            if turn.before is None and turn.upstream:
                turn.after = turn.upstream[0]
            return
        alone = turn.before is None and turn.upstream and turn.upstream[0] is not None
        same = alone and grad.dtype is tensor.dtype and tuple(grad.shape) == turn.upstream[0].shape
        turn.after = turn.upstream[0] if same else self.rec.contents.note(grad)
        if turn.after is not None:
            with private.without_torch_dispatch():
                count_zeros(turn.after.facts, grad)
        if mark(grad) is not None:
            self.rec.grads[leaf] = (mark(grad), turn.after)

    # ---- autograd.grad

    def taken(self, results: Any) -> None:
        """Note the gradients that autograd.grad returned."""
        if self.event.stores or results is None:
            return
        if self.call is not None:
            operators.finish(
                self.rec,
                self.call,
                (),
                {},
                [gradient for gradient in results if gradient is not None],
            )
        for entry, gradient in zip(self.inputs, results, strict=False):
            node = None if entry is None else self.function_of(entry)
            if node is None or node in self.turns or gradient is None:
                continue
            self.new_turn(node, [self.rec.contents.note(gradient)], ran=False)

    def function_of(self, entry: Entry) -> int | None:
        return entry.fn if entry.fn is not None else self.rec.accumulators.get(entry.tensor)


def same_elements(gradient: Any, key: Any, passed: list[tuple[Any, bool, Noted]]) -> Noted | None:
    """Return the note of an incoming gradient if a node sends the same elements on, unchanged or as
    a view of all of them.
    """
    for passed_key, contiguous, noted in passed:
        if passed_key is None or passed_key != key:
            continue
        if noted.shape == tuple(gradient.shape) and noted.times == 1:
            return noted if contiguous == gradient.is_contiguous() and contiguous else None
        if contiguous and gradient.is_contiguous():
            return noted.shaped(tuple(gradient.shape))
    return None
