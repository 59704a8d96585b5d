"""Making the node of one call of an operator; `Op.record` is this."""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.engine.node import Meta, Node, accumulator, named
from gradtrace.engine.plan import META, SAVE
from gradtrace.engine.saved import keep, layout, note_versions, source_node
from gradtrace.engine.spec import spec, spec_of
from gradtrace.engine.state import state
from gradtrace.engine.tensor import Tensor

if TYPE_CHECKING:
    from gradtrace.engine.op import Op
    from gradtrace.engine.plan import Plan


def record_call(self: Op, args: tuple[Any, ...], mask: int, raw: Any, name: str | None = None) -> Node:
    """The node of one call: edges to where the inputs' gradients go, and what the rules need."""
    plan = self._plans.get(mask) or self.plan(mask)
    if not self.variadic and not self.undefined and plan.which_out is None:
        return record_one(self, args, plan, raw, name)
    sources = args[0] if self.variadic else args[: self.arity]
    if self.undefined:  # the node only says that there is no derivative
        sources = [a for a in sources if isinstance(a, Tensor) and a.requires_grad]
    next_ = []
    numbered = False
    for a in sources:
        if isinstance(a, Tensor):
            next_.append(source_node(a))
            numbered = numbered or a._nr != 0
        else:
            next_.append(None)
    kept = keep(args, plan.actions, self.variadic)
    out = raw if plan.save_out else None
    if plan.which_out is not None:
        out = tuple(r if i in plan.which_out else None for i, r in enumerate(raw))
    kind = self._node_types.get(name or self.node_name or "") or self.node_type(name)
    node = kind.make(kept, tuple(next_), plan, spec(*layout(raw)), out)
    if numbered:
        node.nrs = tuple(a._nr if isinstance(a, Tensor) else 0 for a in sources)
    if plan.saves:
        note_versions(node, kept)
        if state.saved_hooks:
            from gradtrace.engine.saved_hooks import pack

            pack(node)
    return node


def record_one(self: Op, args: tuple[Any, ...], plan: Plan, raw: Any, name: str | None) -> Node:
    """The same, where each operand is one tensor or a number."""
    actions, arity = plan.actions, self.arity
    kept: list[Any] = list(args)
    next_: list[Any] = [None] * arity
    versioned = numbered = False
    for i in range(arity):
        a = args[i]
        if not isinstance(a, Tensor):
            continue
        extra, fn = a._x, a._fn
        if extra is not None and extra.odd:
            next_[i] = source_node(a)
        elif fn is not None:
            next_[i] = named(fn)
        elif a._req:
            next_[i] = accumulator(a)
        if a._nr:
            numbered = True
        action = actions[i]
        if action != SAVE:
            data = a._data
            kept[i] = Meta(*layout(data), getattr(data, "strides", None)) if action == META else None
        elif extra is not None and (extra.counter is not None or extra.inference):
            versioned = True
    kind = self._node_types.get(name or self.node_name or "") or self.node_type(name)
    made = spec_of(raw) if type(raw) is not tuple else spec(*layout(raw))
    node = kind.make(tuple(kept), tuple(next_), plan, made, raw if plan.save_out else None)
    if numbered:
        node.nrs = tuple([a._nr if isinstance(a, Tensor) else 0 for a in args[:arity]])
    if plan.saves:
        if versioned or len(args) > arity:
            note_versions(node, tuple(kept))
        if state.saved_hooks:
            from gradtrace.engine.saved_hooks import pack

            pack(node)
    return node
