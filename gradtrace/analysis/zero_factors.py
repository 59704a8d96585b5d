"""Explain zero gradients by multiplication: a factor that is 0 everywhere, or a product below the dtype's range."""

from __future__ import annotations

from gradtrace.analysis.answer import Evidence, Facts, is_zero
from gradtrace.analysis.causes.cause import at_line, highest, made_at, named, operands
from gradtrace.analysis.ranges import SMALLEST, magnitude
from gradtrace.engine.tables import function_table
from gradtrace.lazy_names import words
from gradtrace.trace.operands import record_of
from gradtrace.trace.record import Operation, Value

# Why the gradient of a public function of several operators can be 0, in the words of the records' `zero`.
FUNCTIONS = function_table(
    "analysis.zero_factors.FUNCTIONS",
    {
        **{"clip": "clamp", "relu6": "clamp", "dropout": "mask", "embedding_bag": "padding"},
        **dict.fromkeys(words("linear outer einsum bilinear conv1d conv2d conv3d"), "product"),
    },
)


def reason_of(name: str) -> str:
    """Return why an operator's derivative can be 0 everywhere, by its record's `zero`; "" without one."""
    record = None if name in FUNCTIONS else record_of(name)
    return FUNCTIONS.get(name, "") if record is None else record.zero


def product(
    facts: Facts, base: str, reason: str, operation: Operation | None, operand: int | None, where: str
) -> tuple[str, str, tuple[str, ...]]:
    """Explain a zero gradient by the other factor of a product, which is zero."""
    others = factors(operation, operand)
    if base == "dropout" or (operation is not None and "dropout" in operation.text):
        return "dropout", f"dropout{where} dropped every element", ("lower p, or call eval() to switch it off",)
    zeros = [i for i in others if is_zero(facts.trace.tensors[i].value)]
    number = next((o.text for o in operation.inputs if o.tensor is None), "") if operation is not None else ""
    factor = next((named(facts, i) for i in zeros or others), number or "the other factor")
    cause = "mask" if reason == "mask" else "zero factor"
    remedies: tuple[str, ...] = (f"look at {factor}",)
    if zeros and facts.trace.tensors[zeros[0]].is_leaf and facts.trace.tensors[zeros[0]].requires_grad:
        short = factor.rpartition(".")[2]
        remedies = (
            f"start {factor} from other values than zeros: two layers of zeros get no gradient",
            f"nn.init.normal_({factor}, std=0.02), or torch.randn(...) * 0.02 for {short}",
        )
    elif zeros and (leaf := zero_leaf(facts, zeros[0])) is not None:
        factor += f" (for {leaf} is 0)"
        remedies = (f"start {leaf} from other values than zeros: nn.init.kaiming_normal_({leaf})",)
    elif zeros and (compared := comparison_behind(facts, zeros[0])) is not None:
        text = compared.text.partition(" = ")[2] or compared.text
        remedies = (f"look at {text}: is the mask the right way round? {opposite(text)}",)
    else:
        return of_result(facts, cause, factor, where, origin_of_zeros(facts, zeros))
    return cause, f"{factor}, which it is multiplied by{where}, is 0 everywhere", remedies


def origin_of_zeros(facts: Facts, zeros: list[int]) -> Operation | None:
    """Return the earliest operation that made these zeros of operands that are not 0 everywhere."""
    tensor = zeros[0] if zeros else None
    operation = None
    while tensor is not None and (made := facts.trace.tensors[tensor].operation) is not None:
        operation = facts.trace.operations[made]
        tensor = next((r.id for r, value in operands(facts, operation) if is_zero(value)), None)
    return None if tensor is not None else operation


def of_result(
    facts: Facts, cause: str, factor: str, where: str, made: Operation | None
) -> tuple[str, str, tuple[str, ...]]:
    """Explain a factor that is 0 everywhere by the operation that made it."""
    because = f"{factor}, which it is multiplied by{where}, is 0 everywhere"
    name = "" if made is None else made.name.rstrip("_")
    if made is None or not (given := operands(facts, made)):
        return cause, because, (f"look at {factor}",)
    if reason_of(name) == "rectifier" and (top := highest(given[0][1])) is not None and top <= 0:
        because += f": {name}{at_line(made.span)} gets nothing but negative numbers (its input goes up to {top:.4g})"
        return "dead relu", because, RECTIFIED
    if name == "mul" and len(given) == 2:
        masks = [one for r, _ in given if (one := comparison_behind(facts, r.id)) is not None]
        because += f": mul{at_line(made.span)} multiplies each element that is not 0 by a 0 of the other factor"
        text = masks[0].text.partition(" = ")[2] or masks[0].text if masks else ""
        remedy = f"look at {text}: is the mask the right way round? {opposite(text)}" if text else f"look at {factor}"
        return "mask" if masks else cause, because, (remedy,)
    return cause, f"{because}: {name}{at_line(made.span)} makes it so", (f"look at {factor}",)


RECTIFIED = (
    "change the inputs or the bias so that some are positive",
    "leaky_relu or softplus never die",
)


def zero_leaf(facts: Facts, tensor: int) -> str | None:
    """Return the parameter of zeros from which a zero value was computed."""
    waiting, seen = [tensor], {tensor}
    while waiting and len(seen) < 50:
        record = facts.trace.tensors[waiting.pop()]
        if record.is_leaf and record.requires_grad and (record.value is None or len(record.value.shape) > 1):
            return named(facts, record.id)
        if record.operation is None:
            continue
        for operand in facts.trace.operations[record.operation].inputs:
            i = operand.tensor
            if i is not None and i not in seen and is_zero(facts.trace.tensors[i].value):
                seen.add(i)
                waiting.append(i)
    return None


def comparison_behind(facts: Facts, tensor: int) -> Operation | None:
    """Return the comparison that made a mask, one or two operations before."""
    for _ in range(3):
        made = facts.trace.tensors[tensor].operation
        if made is None:
            return None
        operation = facts.trace.operations[made]
        record = record_of(operation.name)
        if record is not None and record.promote == "compare":
            return operation
        inputs = [o.tensor for o in operation.inputs if o.tensor is not None]
        if not inputs:
            return None
        tensor = inputs[0]
    return None


def opposite(text: str) -> str:
    """Return the text of the opposite comparison."""
    for sign, other in (("==", "!="), ("!=", "=="), (">=", "<"), ("<=", ">"), (">", "<="), ("<", ">=")):
        if sign in text:
            return text.replace(sign, other, 1)
    return f"~({text})"


def makers_of_zero(facts: Facts, operation: Operation | None, operand: int | None, base: str) -> list[Evidence]:
    """Return evidence of where the factor that is 0 was made."""
    zeros = [i for i in factors(operation, operand) if is_zero(facts.trace.tensors[i].value)]
    if reason_of(base) not in ("mask", "product") or not zeros:
        return []
    record = facts.trace.tensors[zeros[0]]
    compared = comparison_behind(facts, zeros[0])
    made = None if record.is_leaf else origin_of_zeros(facts, zeros)
    span = compared.span if compared is not None else made_at(facts, record)
    if compared is None and made is not None and made.id != record.operation:
        return [facts.at(f"{named(facts, made.outputs[0])} is 0 everywhere from here on", made.span)]
    if record.is_leaf and record.requires_grad:
        span = next((b.span for b in facts.trace.begun if b.tensor == facts.flow.tensor(record.id)), span)
    return [] if span is None else [facts.at(f"{named(facts, record.id)} is made here, and is 0", span)]


def factors(operation: Operation | None, operand: int | None) -> list[int]:
    """Return the tensors that an operand is multiplied by; in x * x, the operand itself."""
    tensors = [] if operation is None else [o.tensor for o in operation.inputs if o.tensor is not None]
    return [i for i in tensors if i != operand] or (tensors if len(tensors) > 1 else [])


def underflows(facts: Facts, operation: Operation | None, operand: int | None, got: Value) -> bool:
    """Whether the product of a gradient and a nonzero factor is zero because it is below the dtype's range."""
    if operation is None:
        return False
    if operation.name.rstrip("_") not in ("mul", "div"):
        return vanishes_below(facts, operation, got)
    others = [facts.trace.tensors[i].value for i in factors(operation, operand)]
    numbers = [o.text for o in operation.inputs if o.tensor is None]
    return all(not is_zero(value) for value in others) and all(text.strip("-0.") for text in numbers)


def vanishes_below(facts: Facts, operation: Operation, got: Value) -> bool:
    """Whether an operator whose derivative is never zero receives so small a gradient that its result is 0."""
    size, smallest = magnitude(got), SMALLEST.get(got.dtype)
    values = [value for _, value in operands(facts, operation)]
    if reason_of(operation.name.rstrip("_")) or size is None or smallest is None or any(map(is_zero, values)):
        return False
    elements = max((value.numel for value in values), default=1)
    return size < smallest * 2**10 * elements
