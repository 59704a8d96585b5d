"""Evaluate the derivative rules of one node, on floats, arrays or Tensors.

`interpret` is the derivative that every node has at first: it reads the saved values, calls the
rules and gives each edge its gradient in the shape and dtype of the edge's target. `compile.py` and
`blocks.py` do the same faster for some nodes, and leave all other cases to it.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.engine.data.dtypes import has_spec
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.node import AccumulateGrad, Node, NoPlan, named
from gradtrace.engine.data.state import using
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.operators.broadcast import unbroadcast_and_cast
from gradtrace.engine.operators.namespace import ARRAY, SCALAR, TRACED
from gradtrace.engine.operators.op import FLOAT_TRAPS
from gradtrace.engine.reverse.leaf import accumulate_grad
from gradtrace.engine.reverse.saved import saved_data, saved_results, saved_values

if TYPE_CHECKING:
    from gradtrace.annotations import Sequence
    from gradtrace.engine.data.gradient_types import Gradient, InputGradients, NodeGradient, Pairs
    from gradtrace.engine.data.types import XP


def derive(node: Node, gradient: NodeGradient) -> InputGradients:
    """Return the gradients of a node's inputs; None where there is none."""
    record = node.plan.record
    if record is not None and not record.undefined:
        return (None,) * len(node.targets) if gradient is None else run_rules(node, gradient)
    if not isinstance(node, AccumulateGrad):
        return named(node).derive(gradient)
    if gradient is not None:
        accumulate_grad(node.variable, gradient, None)  # type: ignore[arg-type]  # one output, so not a dict
    return ()


def interpret(node: Node, gradient: NodeGradient) -> Pairs:
    """Call a node's rules; return a pair (target node, gradient in the target's shape and dtype)
    for each edge.
    """
    plan = node.plan
    targets = node.targets
    pairs: list[tuple[Node, NodeGradient]] = []
    if plan.one_rule_each and type(gradient) is not float:
        args, out = saved_data(node)
        # else `run_rules` converts them
        if plan.record.scalar is not None or float not in map(type, args):
            try:
                for i, rule in plan.rules:
                    target = targets[i]
                    if target is not None:
                        value = rule(ARRAY, gradient, out, *args)
                        fitting = has_spec(value, target.spec)
                        pairs.append(
                            (target, value if fitting else delivered(node, i, target, value))
                        )
                return pairs
            except FLOAT_TRAPS:  # of a saved number
                pairs = []
    for i, (target, value) in enumerate(zip(targets, derive(node, gradient), strict=False)):
        if target is not None and value is not None:
            fitting = has_spec(value, target.spec)
            pairs.append((target, value if fitting else delivered(node, i, target, value)))
    return pairs


# of nodes that save values in their own way
SAVES_ITS_OWN = NoPlan(saves=True, derivative=interpret)


def delivered(node: Node, index: int, target: Node, value: Gradient) -> NodeGradient:
    """Return the gradient of edge `index` in the target's shape and dtype: a dict if the target has
    several outputs.
    """
    number = 0 if node.output_nrs is None else node.output_nrs[index]
    value = unbroadcast_and_cast(value, target, number, node, index)
    return value if target.outputs == 1 else {number: value}


def run_rules(node: Node, gradient: NodeGradient) -> InputGradients:
    """Return the results of an operator's derivative rules, on a gradient of floats, arrays or
    Tensors.
    """
    record = node.plan.record
    traced = isinstance(gradient, Tensor)
    if type(gradient) is dict and record.outputs != 1:
        traced = any(isinstance(g, Tensor) for g in gradient.values())
        gradient = all_outputs(node, gradient, traced)  # type: ignore[assignment]
    if traced:
        kept, result = saved_values(node)
        with using(in_rule=True, watched=() if node.extras is None else node.extras.watched):
            return call_rules(node, TRACED, gradient, saved_results(node, result), kept)
    args, out = saved_data(node)
    if record.scalar is not None:
        try:
            return call_rules(
                node, SCALAR if type(gradient) is float else ARRAY, gradient, out, args
            )
        except FLOAT_TRAPS:
            pass
    # Python's floats raise where IEEE has inf or nan, and have no shape; numpy's do.
    args[: record.arity] = map(as_numpy, args[: record.arity])
    if type(gradient) is not np.ndarray or type(out) is float:
        gradient, out = as_numpy(gradient), as_numpy(out)  # type: ignore[assignment]
    return call_rules(node, ARRAY, gradient, out, args)


def call_rules(
    node: Node, xp: XP, gradient: NodeGradient, out: object, args: Sequence[object]
) -> InputGradients:
    """Call the rules on one namespace `xp`; return a gradient or None for each argument."""
    plan = node.plan
    joint = plan.record.joint
    if joint is not None:
        asked = tuple(target is not None for target in node.targets)
        return (joint.traced if xp is TRACED else joint.rule)(xp, asked, gradient, out, *args)
    results: list[Gradient | None] = [None] * plan.record.arity
    for i, rule in plan.traced_rules if xp is TRACED else plan.rules:
        results[i] = rule(xp, gradient, out, *args)
    return results


def as_numpy(value: object) -> object:
    """Return a float, or the floats in a tuple, as np.float64; any other value unchanged."""
    if type(value) is tuple:
        return tuple(as_numpy(v) for v in value)
    return np.float64(value) if type(value) is float else value


def all_outputs(node: Node, slots: dict[int, Any], traced: bool) -> tuple[Any, ...]:
    """Return the gradients of all outputs: zeros or None, as the record says, for an output that
    got no gradient.
    """
    if node.op.undefined_grad == "none":
        return tuple(slots.get(i) for i in range(len(node.shape)))
    full = []
    for i, shape in enumerate(node.shape):
        g = slots.get(i)
        if g is None:
            g = np.zeros(shape, node.dtype[i] or np.float64)
            g = Tensor._wrap(g) if traced else g
        full.append(g)
    return tuple(full)
