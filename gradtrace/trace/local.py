"""Local derivatives: of one node's output by each of its inputs, from the node's own rules.

Of a pointwise operator it is a number for each element, in the output's shape; of any operator with a single number as
its result, one for each element of the input. Both come from one call of the rules with ones for the gradient.
"""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.engine import execute
from gradtrace.engine.node import Node
from gradtrace.engine.tensor import Tensor
from gradtrace.trace.record import Value

# Records that promote their arguments' dtypes but mix elements, and pointwise ones that do not promote.
MIXING = frozenset({
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "binary_cross_entropy_with_pos_weight", "cdist",
    "cross", "dist", "huber_loss", "logsumexp", "mse_loss", "norm_of", "prelu", "smooth_l1_loss", "soft_margin_loss",
})
POINTWISE = frozenset({
    "alias", "cast", "celu", "clamp", "clamp_max", "clamp_min", "clone", "contiguous", "copy", "elu", "gelu",
    "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "lerp", "lerp_scalar", "log_sigmoid",
    "masked_fill", "mish", "nan_to_num", "pow_of_scalar", "pow_scalar", "relu", "silu", "softplus", "softshrink",
    "threshold", "where",
})


def is_pointwise(node: Node) -> bool:
    """Whether each element of the node's output depends on the inputs' elements at its place alone."""
    record = node.op
    return record is not None and (record.name in POINTWISE or bool(record.promote and record.name not in MIXING))


def local_derivatives(node: Node) -> list[Value | None]:
    """One for each edge, None where it is no plain number for each element. The node must not be freed."""
    shape = node.shape
    if node.op is None or node.is_accumulator or node.outputs != 1:
        return [None] * len(node.next)
    single = all(size == 1 for size in shape)
    pointwise = is_pointwise(node)
    if not (single or pointwise):
        return [None] * len(node.next)
    try:
        results = execute.run_rules(node, ones(shape, node.dtype))
    except Exception:  # a rule that refuses will be told by the pass itself
        return [None] * len(node.next)
    return [None if r is None or target is None else spread(r, shape if pointwise else None)
            for r, target in zip(results, node.next, strict=False)]


def ones(shape: Any, dtype: Any) -> Any:
    from gradtrace.engine.lazy import np

    return 1.0 if dtype is None else np.ones(shape, dtype)


def spread(raw: Any, shape: Any) -> Value:
    """A rule's result as a Value, in the output's shape if one is given."""
    if shape and getattr(raw, "shape", ()) != shape:
        from gradtrace.engine.lazy import np

        raw = np.broadcast_to(raw, shape)
    return frozen(raw)


def frozen(raw: Any) -> Value:
    """Raw data, or a Tensor, as a Value of its own."""
    if isinstance(raw, Tensor):
        raw = raw._data
    kind = type(raw)
    if kind is float:
        return Value((), "float64", raw)
    if kind is bool or kind is int:
        return Value((), "bool" if kind is bool else "int64", raw)
    if not raw.shape:
        return Value((), raw.dtype.name, raw.item())
    copy = raw.copy()
    copy.flags.writeable = False
    return Value(tuple(copy.shape), copy.dtype.name, copy)
