"""Compute a recorded call, or the gradients of a node, again in the wider type: on actual inputs
and on their shadows.

    stages, reason = call_again(record, template, slots, outs)
    slots, stages = gradient_again(node, gradients, gradient, called)

`stages` has the results for the shadows of all inputs, then with the actual value of one more of
those inputs that have an error, up to those for all actual inputs.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Callable, Iterator, NamedTuple, Sequence
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.node import Meta, Node
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.operators.broadcast import sum_to
from gradtrace.engine.operators.namespace import ARRAY
from gradtrace.engine.operators.op import Op
from gradtrace.engine.reverse.evaluate import all_outputs, call_rules
from gradtrace.engine.reverse.saved import saved_data
from gradtrace.trace import wide

Array = Any
# inputs with errors: the stages between the first and the last are left out if there are more
MANY = 8


class Slot:
    """An input of a computation: its actual value and its shadow, in the wider type, and the tensor
    that it is.
    """

    __slots__ = ("actual", "dtype", "of_gradient", "shadow", "tensor")

    def __init__(
        self, raw: Any, shadow: Array | None, tensor: Any = None, of_gradient: bool = False
    ) -> None:
        self.actual = np.asarray(wide.widened(raw))
        self.shadow = self.actual if shadow is None or shadow.shape != self.actual.shape else shadow
        self.dtype = np.asarray(raw).dtype
        self.tensor = tensor
        self.of_gradient = of_gradient


def has_error(slot: Slot) -> bool:
    if slot.shadow is slot.actual or slot.dtype.kind != "f":
        return False
    return not np.array_equal(slot.actual, slot.shadow, equal_nan=True)


class RecordedCall(NamedTuple):
    """A call whose node may run backward. `args` has a Slot for each tensor; `shadows` are those of
    its results.
    """

    number: int
    args: tuple[Any, ...]
    outs: tuple[Any, ...]
    shadows: tuple[Array, ...]


def telescoped(evaluate: Callable[[Any], Any], template: Any, slots: Sequence[Slot]) -> list[Any]:
    """Return the stages of a computation, whose inputs are the Slots in `template`."""
    wrong = [slot for slot in slots if has_error(slot)]
    steps = [wrong[:i] for i in range(len(wrong) + 1)] if len(wrong) <= MANY else [[], wrong]
    return [evaluate(filled(template, set(map(id, actual)))) for actual in steps]


def filled(template: Any, actual: set[int]) -> Any:
    """Return a template with the shadow in place of each Slot; the actual value of those in
    `actual`, by id.
    """
    if isinstance(template, Slot):
        return template.actual if id(template) in actual else template.shadow
    return tuple(filled(part, actual) for part in template) if type(template) is tuple else template


def slots_in(template: Any) -> Iterator[Slot]:
    if isinstance(template, Slot):
        yield template
    elif type(template) is tuple:
        for part in template:
            yield from slots_in(part)


# ---- calls


def call_again(
    record: Op, template: tuple[Any, ...], slots: list[Slot], outs: Sequence[Tensor]
) -> tuple[Any, str]:
    """Return the stages of a call, each a tuple of results; or () and the reason why it cannot be
    computed.
    """
    reason = refusal(record, template, outs)
    # the numbers that were drawn are arguments: they have no error
    if reason or record.kind == "random":
        return (), reason
    try:
        stages = telescoped(lambda values: kernel_results(record, values), template, slots)
    except Exception as error:
        return (), f"its kernel does not take wider numbers ({type(error).__name__})"
    for out, wider in zip(outs, stages[0], strict=False):
        dtype = np.asarray(out._data).dtype
        if dtype.kind == "f" and np.asarray(wider).dtype != wide.wide_dtype(dtype):
            return (), "its kernel does not compute in the wider type"
    return stages, ""


def refusal(record: Op, template: tuple[Any, ...], outs: Sequence[Tensor]) -> str:
    """Return why a call cannot be computed in a wider type; "" if it can."""
    dtypes = [np.asarray(out._data).dtype for out in outs]
    for dtype in dtypes:
        if dtype.kind == "f" and not wide.can_measure(dtype):
            return f"this machine has no type that is wider than {dtype.name}"
    if np.dtype(np.float64) in dtypes and not wide.has_wide_kernel(
        record, template[record.arity :]
    ):
        return "its kernel computes in float64"
    return ""


def kernel_results(record: Op, values: Any) -> tuple[Any, ...]:
    """Return the results of a record's kernel on arrays and plain arguments."""
    raws = list(values)
    if not record.variadic:
        # numpy promotes the numbers of the others
        first = 1 if record.promote is not None else record.arity
        raws[:first] = [
            np.asarray(raw) if type(raw) in (float, int, bool) else raw for raw in raws[:first]
        ]
    results = wide.kernel_of(record, raws)(*raws)
    return results if type(results) is tuple else (results,)


def terms_of(record: Op, slots: Sequence[Slot], out: Tensor) -> int:
    """Return how many numbers are summed up for each element of a call's result."""
    size = int(np.size(out._data))
    if not slots or not size:
        return 1
    if record.name == "prod" or record.zero in ("choice", "index"):
        return 1
    if record.kind in ("reduction", "loss"):
        return max(int(slots[0].actual.size) // size, 1)
    if record.kind != "contraction" or len(slots) < 2:
        return 1
    a = slots[0].actual
    b = slots[1].actual
    batch = int(np.prod(a.shape[:-2])) if a.ndim == b.ndim > 2 else 1
    return max(round((a.size * b.size / size / max(batch, 1)) ** 0.5), 1)


# ---- nodes


def gradient_again(
    node: Node, slots: dict[int, Slot], gradient: Any, called: RecordedCall | None
) -> tuple[list[Slot], Any]:
    """Return the inputs of a node's rules and their stages, each a list with the gradient for each
    edge (or None).

    `slots` are those of the gradients that the node received, by output.
    """
    args, out = saved_data(node)
    template = (received(node, slots, gradient), saved_outs(out, called), saved_args(args, called))
    inputs = list(slots_in(template))

    def evaluate(values: Any) -> list[Any]:
        results = call_rules(node, ARRAY, values[0], values[1], list(values[2]))
        return [on_edge(node, i, value) for i, value in enumerate(results)]

    return inputs, telescoped(evaluate, template, inputs)


def by_number(gradient: Any) -> dict[int, Any]:
    """Return the raw gradients that a node received, by output."""
    if type(gradient) is dict:
        received = gradient
    else:
        received = {} if gradient is None else {0: gradient}
    return {
        number: raw._data if isinstance(raw, Tensor) else raw for number, raw in received.items()
    }


def received(node: Node, slots: dict[int, Slot], gradient: Any) -> Any:
    """Return the gradient as the rules get it; with several outputs, zeros or None for those
    without one.
    """
    if node.outputs == 1:
        return slots[0]
    full = all_outputs(node, by_number(gradient), False)
    return tuple(slots[i] if i in slots else wide.widened(raw) for i, raw in enumerate(full))


def saved_outs(out: Any, called: RecordedCall | None) -> Any:
    """Return the saved results of a node with their shadows."""
    if type(out) is tuple:
        return tuple(saved_out(raw, called, i) for i, raw in enumerate(out))
    return saved_out(out, called, 0)


def saved_out(raw: Any, called: RecordedCall | None, number: int) -> Any:
    if raw is None or np.asarray(raw).dtype.kind != "f":
        return raw
    return (
        Slot(raw, None)
        if called is None
        else Slot(raw, called.shadows[number], called.outs[number])
    )


def saved_args(args: Sequence[Any], called: RecordedCall | None) -> tuple[Any, ...]:
    """Return the saved arguments of a node with their shadows."""
    slots = called.args if called is not None else ()
    return tuple(
        saved_arg(kept, slots[i] if i < len(slots) else None) for i, kept in enumerate(args)
    )


def saved_arg(kept: Any, slot: Any) -> Any:
    if type(kept) is tuple and type(slot) is tuple and len(kept) == len(slot):
        return tuple(map(saved_arg, kept, slot))
    if isinstance(slot, Slot):
        if isinstance(kept, Meta):
            return slot.actual
        return None if kept is None else Slot(kept, slot.shadow, slot.tensor)
    return wide.widened(kept) if isinstance(kept, np.ndarray) else wide.widened_plain(kept)


def on_edge(node: Node, index: int, value: Any) -> Any:
    """Return the gradient of an edge in its target's shape; None if there is none."""
    target = node.next[index] if index < len(node.next) else None
    if target is None or value is None:
        return None
    number = 0 if node.output_nrs is None else node.output_nrs[index]
    shape = target.shape if target.outputs == 1 else target.shape[number]
    value = np.asarray(value)
    return value if value.shape == shape else np.asarray(sum_to(value, shape, node, index))


def operand_of(args: tuple[Any, ...], node: Node, index: int) -> Slot | None:
    """Return the operand whose gradient is sent along an edge."""
    places = args[0] if node.op.variadic else args
    operand = places[index] if index < len(places) else None
    return operand if isinstance(operand, Slot) else None
