"""The flow of data in a trace, with and without gradients, and the places that cut gradients.

A value can flow on where its gradient cannot flow back: through detach(), under no_grad, through
integers and comparisons, through .data, or through Python numbers. `Flow` finds these places,
without recursion.
"""

from __future__ import annotations

from gradtrace.annotations import Iterable, Iterator, NamedTuple
from gradtrace.trace.functions import closure
from gradtrace.trace.record import Escape, Operation, TensorRecord, Trace

NUMBERS = ("item", "tolist", "numpy")
SAME_NUMBERS = ("data", "parameter")  # escapes whose result is a tensor of the same numbers


class Cut(NamedTuple):
    """An operation (or a read of `.data`) whose result has no history although its operand `tensor`
    requires grad.
    """

    tensor: int
    result: int
    operation: Operation | None
    escape: Escape | None


class Flow:
    """The data flow of a trace: which operations read a tensor, which operation made it.

    All versions of an updated leaf (by an optimiser, under no_grad) count as one tensor, since they
    share one gradient. Methods accept the id of any version and return the id of the last one.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.readers: dict[int, list[int]] = {}
        self.maker: dict[int, int] = {}
        self._last = {t.first: t.id for t in trace.tensors if is_updated_leaf(t)}
        for operation in trace.operations:
            if any(is_updated_leaf(trace.tensors[out]) for out in operation.outputs):
                continue  # an update
            for tensor in operation.tensors:
                self.readers.setdefault(self.tensor(tensor), []).append(operation.id)
            self.maker |= dict.fromkeys(operation.outputs, operation.id)
        self.data: dict[int, list[Escape]] = {}
        self.origin_of_data: dict[int, Escape] = {}
        for escape in trace.escapes:
            if escape.tensor is not None and escape.how in SAME_NUMBERS and is_written(escape):
                self.data.setdefault(self.tensor(escape.tensor), []).append(escape)
                if escape.out is not None:
                    self.origin_of_data[self.tensor(escape.out)] = escape

    def tensor(self, version: int) -> int:
        """Return the last version of an updated leaf; for any other tensor, its own id."""
        return self._last.get(self.trace.tensors[version].first, version) if self._last else version

    def after(self, tensors: Iterable[int]) -> set[int]:
        """Return the tensors that data of the given tensors flows into, including these."""
        return closure(map(self.tensor, tensors), self._next)

    def before(self, tensors: Iterable[int]) -> set[int]:
        """Return the tensors whose data flows into the given tensors, including these."""
        return closure(map(self.tensor, tensors), self._previous)

    def _next(self, tensor: int) -> Iterator[int]:
        for operation in self.readers.get(tensor, ()):
            yield from self.trace.operations[operation].outputs
        for escape in self.data.get(tensor, ()):
            if escape.out is not None:
                yield self.tensor(escape.out)

    def _previous(self, tensor: int) -> Iterator[int]:
        operation = self.maker.get(tensor)
        if operation is not None:
            yield from map(self.tensor, self.trace.operations[operation].tensors)
        escape = self.origin_of_data.get(tensor)
        if escape is not None and escape.tensor is not None:
            yield self.tensor(escape.tensor)

    # ---- cuts

    def cuts_after(self, tensor: int) -> list[Cut]:
        """Return the first place on each path from a tensor that cuts gradients on their way back,
        in the program's order.
        """
        cuts = []
        waiting = [self.tensor(tensor)]
        seen = {self.tensor(tensor)}
        while waiting:
            at = waiting.pop()
            for result, cut in self._steps_from(at):
                if cut is not None:
                    cuts.append(cut)
                elif result not in seen:
                    seen.add(result)
                    waiting.append(result)
        return sorted(
            cuts,
            key=lambda cut: (
                cut.operation.id if cut.operation is not None else cut.escape.after  # type: ignore[union-attr]
            ),
        )

    def _steps_from(self, tensor: int) -> Iterator[tuple[int, Cut | None]]:
        tensors = self.trace.tensors
        for index in self.readers.get(tensor, ()):
            operation = self.trace.operations[index]
            for out in operation.outputs:
                # a result that is a leaf lost its history and began a new one:
                # x.detach().requires_grad_()
                has_history = tensors[out].requires_grad and not tensors[out].is_leaf
                yield out, None if has_history else Cut(tensor, out, operation, None)
        for escape in self.data.get(tensor, ()):
            if escape.out is not None:
                yield escape.out, Cut(tensor, self.tensor(escape.out), None, escape)

    def cut_before(self, tensor: int) -> Cut | None:
        """Return the nearest place behind a tensor without history that read a tensor with history;
        None if there is none.
        """
        waiting = [tensor]
        seen = {tensor}
        for at in waiting:  # which grows
            escape = self.origin_of_data.get(at)
            if escape is not None and escape.tensor is not None and self.loses_history(escape):
                return Cut(escape.tensor, at, None, escape)
            operation = self.maker.get(at)
            if operation is None:
                continue
            record = self.trace.operations[operation]
            inputs = list(map(self.tensor, record.tensors))
            # in place: an initialisation, an update
            own = {self.trace.tensors[out].first for out in record.outputs}
            with_grad = [
                i
                for i in inputs
                if self.trace.tensors[i].requires_grad and self.trace.tensors[i].first not in own
            ]
            if with_grad:
                return Cut(with_grad[0], at, record, None)
            for i in inputs:
                if i not in seen:
                    seen.add(i)
                    waiting.append(i)
        return None

    def loses_history(self, escape: Escape) -> bool:
        """Whether a tensor with the same numbers as another has lost the history that the other has
        or could have.
        """
        source = escape.tensor
        return escape.how == "data" or (
            source is not None and self.trace.tensors[source].requires_grad
        )

    def numbers_from(self, tensors: set[int]) -> list[Escape]:
        """Return the places where values of the given tensors became Python numbers or numpy
        arrays.
        """
        return [e for e in self.trace.escapes if e.how in NUMBERS and e.tensor in tensors]


def is_written(escape: Escape) -> bool:
    """Whether the program itself takes `.data`, unlike copy.deepcopy and other functions that do so
    inside.
    """
    return escape.how != "data" or not escape.text or ".data" in escape.text


def is_updated_leaf(t: TensorRecord) -> bool:
    """Whether this is a later version of a leaf, as an optimiser's step makes one, or a moving
    average of another.
    """
    return t.version > 0 and t.is_leaf and (t.requires_grad or t.is_parameter)


def leading_to(trace: Trace, functions: set[int]) -> set[int]:
    """Return the functions whose gradients reach these functions, and these."""
    sources: dict[int, list[int]] = {}
    for edge in trace.function_edges:
        sources.setdefault(edge.target, []).append(edge.source)
    return closure(functions, lambda function: sources.get(function, ()))
