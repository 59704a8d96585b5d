"""The builder of a Trace's records from a recorder's events, and the rules that all recorders share."""

from __future__ import annotations

from gradtrace.annotations import Any, Sequence
from gradtrace.trace.events import PassEvent
from gradtrace.trace.record import (
    CONSTANT,
    DATA,
    LEAF,
    NONLEAF,
    OVERWRITTEN,
    RESULT,
    Operand,
    Operation,
    Span,
    TensorRecord,
    Value,
)


class Builder:
    """The builder of one trace's records. A subclass for each recorder says what its events refer to.

    An entry also says what its tensor was: is_leaf, requires_grad, retains, is_parameter, is_current, device.
    """

    source: Any  # has the span and the text of each origin
    backward_ran = False  # a pass that stores gradients

    def __init__(self) -> None:
        self.roots: set[int] = set()
        self.outputs: set[int] = set()
        self.earliest: dict[int, int] = {}  # the first version of each tensor that is in the trace

    # ---- what the events refer to

    def value(self, noted: Any) -> Value | None:
        """Return the Value of noted contents."""
        raise NotImplementedError

    def contents(self, entry: Any) -> tuple[Value | None, Value | None, str | None]:
        """Return the value of an entry, its gradient, and the name of the gradient's own node."""
        raise NotImplementedError

    def update(self, entry: Any) -> float | None:
        """Return how far an update moved a leaf, if that was noted."""
        return None

    def tensor_id(self, tensor: Any) -> int | None:
        """Return the id of a tensor that an event refers to."""
        raise NotImplementedError

    def ends(self, roots: Sequence[Any]) -> tuple[int, ...]:
        """Return the ids of the tensors at which a pass begins or ends."""
        raise NotImplementedError

    def vectors(self, event: PassEvent) -> tuple[Value, ...]:
        """Return the vectors of a pass, one for each root."""
        raise NotImplementedError

    def function_of(self, entry: Any) -> int | None:
        """Return the id of an entry's node; of a leaf, that of its AccumulateGrad."""
        raise NotImplementedError

    def function_id(self, node: Any) -> int:
        """Return the id of a node's FunctionRecord."""
        raise NotImplementedError

    def function_name(self, node: Any) -> str:
        raise NotImplementedError

    def node_of(self, call: Any) -> Any:
        """Return the node that a call made, or None."""
        raise NotImplementedError

    def operator(self, call: Any) -> str:
        """Return the name of a call's operator."""
        return str(call.name)

    def operands(self, call: Any, node: Any) -> tuple[Operand, ...]:
        raise NotImplementedError

    def scope(self, call: Any) -> int | None:
        """Return the id of a call's scope."""
        raise NotImplementedError

    def grad_enabled(self, call: Any) -> bool:
        """Return the grad mode of a call."""
        raise NotImplementedError

    def before(self, at: int) -> int:
        """Return how many of the trace's operations ran before the recorded call with index `at`."""
        return at

    # ---- tensors and operations

    def tensor(self, entry: Any, label: str) -> TensorRecord:
        call, node = entry.call, entry.fn
        value, grad, grad_fn_of_grad = self.contents(entry)
        return TensorRecord(  # by position, in the order of the fields: there may be 100,000 of them
            entry.id,
            entry.names[0] if entry.names else None,
            label,
            kind_of(entry),
            None if call is None else self.operator(call),
            None if node is None else self.function_name(node),
            self.function_of(entry),
            entry.is_leaf,
            entry.requires_grad,
            entry.retains,
            entry.id in self.outputs,
            entry.is_parameter,
            value,
            grad,
            grad_fn_of_grad,
            "" if grad is not None else why_none(entry, self.backward_ran),
            None if call is None else self.source.span(call.origin),
            tuple(entry.names),
            None if call is None else call.id,
            entry.version,
            entry.id in self.roots,
            self.earliest.setdefault(id(entry.tensor), entry.id),
            entry.last,
            entry.is_current,
            self.update(entry),
            entry.device,
        )

    def operation(self, call: Any) -> Operation:
        name, node = self.operator(call), self.node_of(call)
        operands = self.operands(call, node)
        return Operation(
            call.id,
            name,
            " ".join([name, *[operand.text for operand in operands if operand.tensor is None]]),
            operands,
            tuple([out.id for out in call.outputs if out.id >= 0]),
            None if node is None else self.function_name(node),
            None if node is None else self.function_id(node),
            *self.place(call.origin),
            self.scope(call),
            self.grad_enabled(call),
        )

    def place(self, origin: int) -> tuple[Span | None, str]:
        return self.source.span(origin), self.source.excerpt(origin)


def kind_of(entry: Any) -> str:
    if not entry.is_leaf:
        return NONLEAF
    if entry.requires_grad:
        return LEAF
    if entry.maker is not None:
        return RESULT
    return DATA if entry.names else CONSTANT


def why_none(entry: Any, backward_ran: bool) -> str:
    """Return the text that explains why a tensor has no gradient."""
    if not entry.last:
        return OVERWRITTEN
    if not entry.requires_grad:
        return "requires_grad is False"
    if not entry.is_leaf and not entry.retains:
        return "non-leaf: not retained (--retain-grad)"
    return "not reached by backward" if backward_ran else "backward was not run"
