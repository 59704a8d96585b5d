"""The class of an operator's nodes, and its BackwardPlan for each set of arguments that require
grad.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, Callable
from gradtrace.engine.data.node import (
    DROP,
    META,
    ONE,
    SAVE,
    TUPLES,
    TWO,
    Node,
    OpNode,
    UndefinedGrad,
)
from gradtrace.engine.operators.op import Op
from gradtrace.engine.reverse.evaluate import interpret

if TYPE_CHECKING:
    from gradtrace.engine.data.gradient_types import NodeGradient, Pairs


class BackwardPlan:
    """The arguments to save and the rules to run for one set of arguments that require grad
    (`grad_mask`, as bits).

    `actions` has DROP, SAVE or META for each argument; `saved_mask` has a bit for each SAVE,
    `raw_mask` for those that the fast path keeps as raw data. `irregular`: there is not exactly one
    edge for each argument. `saved_outs` are the numbers of the results to keep, None for all.
    `derivative(node, gradient)` gives a (node, gradient) pair for each edge, on raw data.
    """

    def __init__(self, record: Op, grad_mask: int, node_type: type[Node]) -> None:
        self.record = record
        self.grad_mask = grad_mask
        self.node_type = node_type
        self.layout = node_type.layout
        self.derivative: Callable[[Node, NodeGradient], Pairs] = interpret
        self.raw_mask = 0
        self.irregular = bool(record.variadic or record.undefined)
        self.one_rule_each = record.joint is None and record.outputs == 1 and not record.undefined
        names = record.bare_names
        by_place = [
            (i, record.derivatives.get(name)) for i, name in enumerate(names) if grad_mask >> i & 1
        ]
        chosen = [(i, derivative) for i, derivative in by_place if derivative is not None]
        used = (
            [record.joint] if record.joint is not None else [derivative for _, derivative in chosen]
        )
        needs = {name for derivative in used for name in derivative.needs}
        self.actions = tuple(action_of(name, needs) for name in names)
        self.saved_mask = sum(1 << i for i, action in enumerate(self.actions) if action == SAVE)
        plain = needs.intersection(record.plain_names)
        self.reads = tuple(i for i in record.reads if record.plain_names[i - record.arity] in plain)
        outs = needs - plain - {*names, *("~" + n for n in names)}
        numbered = tuple(i for i in range(record.outputs) if f"out{i}" in outs)
        assert outs <= {"out", *(f"out{i}" for i in numbered)}, (
            f"{record.name}: unknown name in needs: {outs}"
        )
        self.save_out = bool(outs)
        self.saved_outs = None if "out" in outs or not numbered else numbered
        self.saves = self.save_out or bool(self.saved_mask or plain)
        self.rules = tuple((i, derivative.rule) for i, derivative in chosen)
        self.traced_rules = tuple((i, derivative.traced) for i, derivative in chosen)


def action_of(name: str, needs: set[str]) -> int:
    """Return what a node keeps of an argument: its value, its shape and dtype, or nothing."""
    if name in needs:
        return SAVE
    return META if "~" + name in needs else DROP


def node_type(record: Op, name: str | None = None) -> type[Node]:
    """Return the class of an operator's nodes; `name` selects another node name, such as the
    in-place one.
    """
    key = name or record.node or record.name
    node_class = record.node_types.get(key)
    if node_class is None:
        shown = "torch::autograd::NotImplemented" if record.undefined else key
        fields: dict[str, Any] = {
            "__slots__": (),
            "op": record,
            "outputs": record.outputs,
            "layout": layout_of(record),
        }
        fields.update(saved_properties(record), name=lambda node: shown, __module__="builtins")
        base: type[Node] = UndefinedGrad if record.undefined else OpNode
        node_class = record.node_types[key] = type(shown.rpartition("::")[2], (base,), fields)
    return node_class


def layout_of(record: Op) -> int:
    """Return how the nodes of an operator hold their arguments and edges."""
    if record.undefined or record.variadic:
        return TUPLES
    if record.arity == 1:
        return ONE
    return TWO if record.arity == 2 and not record.plain_names else TUPLES


def plan_of(record: Op, grad_mask: int, name: str | None = None) -> BackwardPlan:
    """Return the BackwardPlan of a record for calls in which the arguments in the bit mask require
    grad.
    """
    key = grad_mask if name is None else (grad_mask, name)
    plan = record.plans.get(key)
    if plan is None:
        plan = record.plans[key] = BackwardPlan(record, grad_mask, node_type(record, name))
    return plan


def saved_properties(record: Op) -> dict[str, property]:
    """Return the properties `_saved_NAME` and `_raw_saved_NAME` for a class of nodes."""
    derivatives = (record.joint, *record.derivatives.values())
    has_result = record.outputs == 1 and any(d and "out" in d.needs for d in derivatives)
    results = ("result",) if has_result else ()
    names = (*record.bare_names, *record.plain_names, *results)
    return {
        prefix + name: saved_property(prefix, name)
        for name in names
        for prefix in ("_saved_", "_raw_saved_")
    }


def saved_property(prefix: str, name: str) -> property:
    def read(node: Node) -> object:
        from gradtrace.engine.reverse.saved_hooks import raw_saved, saved

        return saved(node, name) if prefix == "_saved_" else raw_saved(node, name)

    return property(read)
