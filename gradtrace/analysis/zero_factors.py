"""Explain zero gradients by multiplication: a factor that is 0 everywhere, or a product below the
dtype's range.
"""

from __future__ import annotations

from gradtrace.analysis.cause import Cause, Evidence
from gradtrace.analysis.facts import Facts, is_zero
from gradtrace.analysis.places import head_of, method_call
from gradtrace.analysis.terms import (
    SMALLEST,
    code_of,
    highest,
    is_comparison,
    is_dropout,
    made_at,
    magnitude,
    mask_behind,
    named,
    numbers_in,
    operator,
    unit,
)
from gradtrace.engine.operators.tables import function_table
from gradtrace.lazy_names import words
from gradtrace.trace.operands import record_of
from gradtrace.trace.record import Operation, Span, TensorRecord, Value

# Why the gradient of a public function of several operators can be 0, in the words of the records'
# `zero`.
FUNCTIONS = function_table(
    "analysis.zero_factors.FUNCTIONS",
    {
        **{"clip": "clamp", "relu6": "clamp", "dropout": "mask", "embedding_bag": "padding"},
        **dict.fromkeys(words("linear outer einsum bilinear conv1d conv2d conv3d"), "product"),
    },
)


def reason_of(name: str) -> str:
    """Return why an operator's derivative can be 0 everywhere, by its record's `zero`; "" without
    one.
    """
    record = None if name in FUNCTIONS else record_of(name)
    return FUNCTIONS.get(name, "") if record is None else record.zero


def product(
    facts: Facts, base: str, operation: Operation | None, operand: int | None, where: str
) -> Cause:
    """Explain a zero gradient by the other factor of a product, which is zero."""
    advice: tuple[str, ...]
    if base == "dropout" or (operation is not None and is_dropout(facts.trace, operation)):
        return Cause("dropout", f"dropout{where} dropped every element", advice=DROPPED)
    others = factors(operation, operand)
    zeros = [i for i in others if is_zero(facts.tensors[i].value)]
    constant = next(iter(operation.constants), "") if operation is not None else ""
    factor = next((named(facts, i) for i in zeros or others), constant or "the other factor")
    code = "mask" if reason_of(base) == "mask" else "zero factor"
    first = facts.tensors[zeros[0]] if zeros else None
    name = code_of(factor) or "..."
    if not others and constant:
        return Cause(
            code,
            f"it is multiplied by {constant}{where}",
            advice=(f"leave the factor {constant} out",),
        )
    if first is not None and first.is_leaf and first.requires_grad:
        advice = (
            f"start {factor} from other values than zeros: two layers of zeros get no gradient",
            f"nn.init.normal_({name}, std=0.02), or torch.randn(...) * 0.02 for "
            f"{factor.rpartition('.')[2]}",
        )
        return Cause(code, is_zero_factor(factor, where), advice=advice)
    start = None if first is None else leaf_of_zeros(facts, first.id)
    if start is not None:
        leaf = named(facts, start)
        advice = (
            f"start {leaf} from other values than zeros: "
            f"nn.init.kaiming_normal_({code_of(leaf) or '...'})",
        )
        return Cause(code, is_zero_factor(f"{factor} (for {leaf} is 0)", where), advice=advice)
    if first is not None and (compared := comparison_behind(facts, first.id)) is not None:
        return Cause(code, is_zero_factor(factor, where), advice=(look_at_mask(compared),))
    return of_result(
        facts, Cause(code, is_zero_factor(factor, where), advice=(f"look at {factor}",)), zeros
    )


def is_zero_factor(factor: str, where: str) -> str:
    return f"{factor}, which it is multiplied by{where}, is 0 everywhere"


def look_at_mask(compared: Operation) -> str:
    text = compared.text.partition(" = ")[2] or compared.text
    return f"look at {text}: is the mask the right way round? {opposite(text)}"


def makers_behind(facts: Facts, zeros: list[int]) -> tuple[list[Operation], int | None]:
    """Return the operations that handed on these zeros, the last first, and the tensor of zeros
    with which they begin, if no operation made it.
    """
    makers = []
    tensor = next(iter(zeros), None)
    while tensor is not None and (operation := facts.maker(tensor)) is not None:
        makers.append(operation)
        tensor = next((r.id for r, value in facts.operands(operation) if is_zero(value)), None)
    return makers, tensor


def origin_of_zeros(facts: Facts, zeros: list[int]) -> tuple[Operation | None, int | None]:
    """Return the earliest operation that made these zeros of operands that are not 0 everywhere,
    and None; or the tensor of zeros that they were computed from, if no operation made it.
    """
    makers, tensor = makers_behind(facts, zeros)
    return (makers[-1] if makers else None, None) if tensor is None else (None, tensor)


def of_result(facts: Facts, cause: Cause, zeros: list[int]) -> Cause:
    """Explain a factor that is 0 everywhere by the operation that made it."""
    hiding = hiding_mask(facts, zeros)
    if hiding is not None:
        attention, hidden = hiding
        name = named(facts, hidden.id)
        where = facts.at_line(made_at(facts, hidden))
        because = f"{cause.because}: {name}{where}, the mask of {unit(facts, attention)}, hides"
        return Cause(
            "mask",
            f"{because} every position",
            advice=("a mask is True, or 0, where attention may look",),
        )
    maker, leaf = origin_of_zeros(facts, zeros)
    if leaf is not None and facts.tensors[leaf].is_parameter:
        called = named(facts, leaf)
        return cause._replace(
            because=f"{cause.because}, for {called} is 0",
            advice=(f"start {called} from other values than zeros",),
        )
    operands = [] if maker is None else facts.operands(maker)
    if maker is None or not operands:
        return cause
    name = operator(maker)
    because = f"{cause.because}: {unit(facts, maker)}"
    if name == "dropout":
        return Cause("dropout", f"{because} dropped every element", advice=DROPPED)
    if reason_of(name) == "rectifier" and (top := highest(operands[0][1])) is not None and top <= 0:
        because += f" gets nothing but negative numbers (its input goes up to {top:.4g})"
        return Cause("dead relu", because, advice=RECTIFIED)
    if name == "mul" and len(operands) == 2:
        because += " multiplies each element that is not 0 by a 0 of the other factor"
        mask = next(
            (
                comparison
                for r, _ in operands
                if (comparison := comparison_behind(facts, r.id)) is not None
            ),
            None,
        )
        code, advice = (
            (cause.code, cause.advice) if mask is None else ("mask", (look_at_mask(mask),))
        )
        return Cause(code, because, advice=advice)
    return cause._replace(because=f"{because} makes it so")


def hiding_mask(facts: Facts, zeros: list[int]) -> tuple[Operation, TensorRecord] | None:
    """Return an attention that gave zeros, and its mask, if that hides everything: it is False, or
    -inf, everywhere.
    """
    makers, _ = makers_behind(facts, zeros)
    attention = next(
        (maker for maker in makers if operator(maker) == "scaled_dot_product_attention"), None
    )
    if attention is None:
        return None
    masks = [
        (r, v)
        for r, v in facts.operands(attention)[3:]
        if is_zero(v) or v.summary.inf == v.numel > 0
    ]
    hidden = [r for r, v in masks if v.dtype == "bool" or not is_zero(v)]
    return (attention, mask_behind(facts, hidden[0].id)) if hidden else None


DROPPED = ("lower p, or call eval() to switch it off",)
RECTIFIED = (
    "change the inputs or the bias so that some are positive",
    "leaky_relu or softplus never die",
)


def leaf_of_zeros(facts: Facts, tensor: int, smallest: int = 2) -> int | None:
    """Return the parameter of zeros, of at least `smallest` dimensions, from which a zero value was
    computed.
    """
    waiting = [tensor]
    seen = {tensor}
    while waiting and len(seen) < 50:
        record = facts.tensors[waiting.pop()]
        if (
            record.is_leaf
            and record.requires_grad
            and (record.value is None or len(record.shape) >= smallest)
        ):
            return record.id
        maker = facts.maker(record.id)
        for i in () if maker is None else maker.tensors:
            if i not in seen and is_zero(facts.tensors[i].value):
                seen.add(i)
                waiting.append(i)
    return None


def comparison_behind(facts: Facts, tensor: int) -> Operation | None:
    """Return the comparison that made a mask, one or two operations before."""
    for _ in range(3):
        maker = facts.maker(tensor)
        if maker is None or is_comparison(maker.name):
            return maker
        if not maker.tensors:
            return None
        tensor = maker.tensors[0]
    return None


def opposite(text: str) -> str:
    """Return the text of the opposite comparison."""
    for sign, inverse in (
        ("==", "!="),
        ("!=", "=="),
        (">=", "<"),
        ("<=", ">"),
        (">", "<="),
        ("<", ">="),
    ):
        if sign in text:
            return text.replace(sign, inverse, 1)
    return f"~({text})"


def zeros_in_text(facts: Facts, name: str) -> Span | None:
    """Return the only place of `nn.init.zeros_(self.up.weight)` in the text, for a parameter
    `model.up.weight`.
    """
    calls = [call for s in facts.text.simple if (call := method_call(s, ("zeros_",))) is not None]
    taken = [
        call
        for call in calls
        if call.args and is_end(name, facts.text.cut(call.args[0]).removeprefix("self."))
    ]
    return head_of(taken[0]) if len(taken) == 1 else None


def is_end(name: str, end: str) -> bool:
    return name == end or name.endswith(f".{end}")


def makers_of_zero(
    facts: Facts, operation: Operation | None, operand: int | None, base: str
) -> list[Evidence]:
    """Return evidence of where the factor that is 0 was made."""
    zeros = [i for i in factors(operation, operand) if is_zero(facts.tensors[i].value)]
    if reason_of(base) not in ("mask", "product") or not zeros:
        return []
    record = facts.tensors[zeros[0]]
    compared = comparison_behind(facts, record.id)
    maker = None if record.is_leaf else origin_of_zeros(facts, zeros)[0]
    if compared is None and maker is not None and maker.id != record.operation:
        return [
            facts.at(f"{named(facts, maker.outputs[0])} is 0 everywhere from here on", maker.span)
        ]
    span = compared.span if compared is not None else made_at(facts, record)
    if (filled := zeros_in_text(facts, named(facts, record.id))) is not None:
        span = filled
    elif record.is_leaf and record.requires_grad:
        span = facts.begun.get(facts.flow.tensor(record.id), span)
    return (
        []
        if span is None
        else [facts.at(f"{named(facts, record.id)} is made here, and is 0", span)]
    )


def factors(operation: Operation | None, operand: int | None) -> list[int]:
    """Return the tensors that an operand is multiplied by; in x * x, the operand itself."""
    tensors = [] if operation is None else list(operation.tensors)
    return [i for i in tensors if i != operand] or (tensors if len(tensors) > 1 else [])


def underflows(facts: Facts, operation: Operation | None, operand: int | None, got: Value) -> bool:
    """Whether the product of a gradient and a nonzero factor is zero because it is below the
    dtype's range.
    """
    if operation is None:
        return False
    if operator(operation) not in ("mul", "div"):
        return vanishes_below(facts, operation, got)
    others = [facts.tensors[i].value for i in factors(operation, operand)]
    return not any(map(is_zero, others)) and 0 not in numbers_in(operation, options=False)


def vanishes_below(facts: Facts, operation: Operation, got: Value) -> bool:
    """Whether an operator whose derivative is never zero receives so small a gradient that its
    result is 0.
    """
    size = magnitude(got)
    smallest = SMALLEST.get(got.dtype)
    values = [value for _, value in facts.operands(operation)]
    if (
        reason_of(operator(operation))
        or size is None
        or smallest is None
        or any(map(is_zero, values))
    ):
        return False
    return size < smallest * 2**10 * max((value.numel for value in values), default=1)
