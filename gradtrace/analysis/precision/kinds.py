"""Name the kind of a loss: what happened to the numbers, and the usual remedy. Only what was
measured is said.
"""

from __future__ import annotations

from math import inf, log10

from gradtrace.analysis.precision.flow import NOT_FINITE, ROUNDING, Errors, Origin
from gradtrace.analysis.terms import plain
from gradtrace.annotations import Any, NamedTuple
from gradtrace.trace.precision import Measured

ENDS = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38}
STARTS = {
    "float16": 6.103515625e-05,
    "bfloat16": 1.1754943508222875e-38,
    "float32": 1.1754943508222875e-38,
}
MANY = 8  # rows of one place from which they are a loop's
MILLION = 1e6
LARGE = 10.0  # how much larger summands than their result are, in a cancellation


class Kind(NamedTuple):
    """The code of a kind, what happened, and the usual remedy."""

    code: str
    clause: str
    remedy: tuple[str, ...]


def kind_of(errors: Errors, origin: Origin, name: str, digits: str) -> Kind:
    """Return the kind of a loss at an origin; `name` is the result's, `digits` how many are lost
    there.
    """
    i = origin.rows[0]
    row = errors.rows[i]
    seen = seen_in_facts(errors, i, row, name)
    if seen is not None:
        return seen
    operation = errors.maker(row)
    record = errors.record(row)
    sums = operation is None or (
        record is not None and (record.sign in ("+", "-") or record.kind in SUMMING)
    )
    magnified = (row.inherited > row.added or errors.is_vague(i)) and not (
        origin.adds and len(origin.rows) >= MANY
    )
    if magnified and sums and row.summand and row.summand >= LARGE * row.largest:
        return cancellation(errors, i, row, name, digits)
    if errors.relative(i) == NOT_FINITE and operation is not None:
        return not_finite(errors, i, name)
    if magnified and operation is not None and operation.name == "log" and 0.5 < row.summand < 2:
        return Kind(
            "rounded log",
            f"log of numbers near 1 magnifies the rounding of its argument: {digits} are lost",
            ("compute the logarithm in one step: log1p, log_softmax, logsigmoid, logsumexp",),
        )
    if not magnified and len(origin.rows) >= MANY:
        return Kind(
            "absorbed",
            f"{len(origin.rows)} results in {row.dtype}, one after the other, each rounded: "
            f"{digits} are lost in all",
            (
                "accumulate in a wider type, or sum up with one call (sum, mean); or compensate "
                "the sum (Kahan)",
            ),
        )
    if not magnified and row.terms > 1:
        return Kind(
            "short sum",
            f"a sum of {row.terms:,} numbers in {row.dtype} leaves {left(row.added, row.dtype)}",
            summed_in(record, wider(row.dtype)),
        )
    if magnified:
        return Kind("magnified", f"{magnified_by(errors, origin, name)}: {digits} are lost", BEFORE)
    return Kind(
        "inexact",
        f"the operation itself leaves {left(row.added, row.dtype)}",
        in_wider(row.dtype),
    )


SCALE = "scale the numbers"
BEFORE = ("compute what comes before it in a wider type, or rewrite the expression",)
COMPLEMENT = ("use the complement: sigmoid(-x), expm1, erfc",)
SUMMING = ("reduction", "contraction", "scan", "loss", "structural")


def seen_in_facts(errors: Errors, i: int, row: Measured, name: str) -> Kind | None:
    """Return the kind that counted elements show: overflow, underflow, a cast, numbers that are too
    small.
    """
    backward = row.passed is not None
    if row.overflowed and errors.relative(i) == NOT_FINITE:
        if row.largest < ENDS.get(row.dtype, 0.0):
            clause = f"{row.overflowed:,} of {row.elements:,} elements of {name} are not finite: "
            size = f"up to {row.largest:.3g}" if row.largest else "0"
            clause += (
                f"of the same inputs the exact ones are {size}, so an intermediate result "
                f"overflows {row.dtype}"
            )
            return Kind("overflow", clause, ("scale the numbers before", *in_wider(row.dtype)))
        maker = "" if row.operation is None else errors.trace.operations[row.operation].name
        scale = (
            "subtract the maximum before exp (logsumexp, softmax), or scale"
            if maker == "exp"
            else SCALE
        )
        if backward and errors.trace.precision is not None and errors.trace.precision.scales:
            scale = "a smaller loss scale"
        end = (
            f": up to {row.largest:.3g}, where {row.dtype} ends at {ENDS[row.dtype]:.5g}"
            if row.dtype in ENDS
            else ""
        )
        clause = f"{row.overflowed:,} of {row.elements:,} elements of {name} overflow{end}"
        return Kind("overflow", clause, (scale, *in_wider(row.dtype)))
    if row.underflowed and row.added >= row.inherited:
        start = (
            f", and {row.dtype} has full precision down to {STARTS[row.dtype]:.2g}"
            if row.dtype in STARTS
            else ""
        )
        size = (
            f"as small as {row.smallest:.3g}"
            if row.smallest
            else "below the smallest number of float64"
        )
        clause = (
            f"{row.underflowed:,} of {row.elements:,} elements of {name} become 0: they are "
            f"{size}{start}"
        )
        remedy = (
            "a larger loss scale (GradScaler)"
            if backward
            else "work with logarithms, or scale the numbers"
        )
        return Kind("underflow", clause, (remedy, *in_wider(row.dtype)))
    if row.subnormal and row.added >= row.inherited and row.added > 2:
        clause = (
            f"{row.subnormal:,} of {row.elements:,} elements of {name} are subnormal, with "
            "few digits left"
        )
        return Kind("subnormal", clause, (SCALE, *in_wider(row.dtype)))
    if errors.is_cast(i):
        clause = f"{name} is rounded from {row.wide_input} to {row.dtype}"
        return Kind("cast", clause, (f"keep it in {row.wide_input}",))
    tiny = STARTS.get(row.dtype, 0.0)
    record = errors.record(row)
    if record is not None and record.sign == "/" and row.summand and row.summand < tiny * 1e3:
        clause = (
            f"a quotient of numbers that are at most {row.summand:.3g}, near the smallest "
            f"ones of {row.dtype}"
        )
        return Kind("tiny quotient", clause, ("scale both before dividing, or add eps",))
    return None


def not_finite(errors: Errors, i: int, name: str) -> Kind:
    """Return the kind of a result that is not finite for the errors of its inputs: log of a 0, a
    division by 0; or of one that is finite for them.
    """
    if not errors.is_infinite(i):
        clause = (
            f"{name} is finite only for the errors of its inputs: with the exact ones it "
            "would be infinite or NaN"
        )
        return Kind("not finite", clause, BEFORE)
    rounded = next((said for j, _ in errors.sources(i) if (said := rounded_to_one(errors, j))), "")
    if rounded:
        return Kind("saturation", f"{rounded}, so {name} is not finite there", COMPLEMENT)
    clause = f"{name} is not finite for the errors of its inputs: with the exact ones it would be"
    return Kind("not finite", clause, BEFORE)


def magnified_by(errors: Errors, origin: Origin, name: str) -> str:
    """Return how an origin's rows magnify errors: the first one, many together, or by what is taken
    from it.
    """
    by = errors.growth(origin.rows[0])
    if log10(by) >= origin.digits - 0.5:
        return f"the relative error of {name} is {times(by)} that of its inputs"
    if len(origin.rows) > 1:
        return (
            f"{len(origin.rows)} results, one of them {name}, have larger relative errors than "
            "their inputs"
        )
    return f"elements of {name} are used that have larger relative errors than all of them together"


def cancellation(errors: Errors, i: int, row: Measured, name: str, digits: str) -> Kind:
    operation = errors.maker(row)
    if operation is not None and {"1", "1.0"}.intersection(operation.constants):
        rounded = rounded_to_one(errors, i)
        if rounded:
            return Kind(
                "saturation",
                f"{rounded}, and 1 is taken away from them: {digits} are lost",
                COMPLEMENT,
            )
    ratio = log10(row.summand / row.largest) if row.largest else 0.0
    size = (
        f"it is {ratio:.1f} decimal orders smaller than its summands"
        if ratio
        else "it is 0, its summands are not"
    )
    subject = (
        f"the gradients that add up to {name} cancel"
        if row.operation is None
        else f"{name} cancels: {size}"
    )
    clause = f"{subject}, {digits} are lost"
    return Kind(
        "cancellation", clause, ("rewrite the difference, or compute its operands in a wider type",)
    )


def rounded_to_one(errors: Errors, i: int) -> str:
    """Return that elements were rounded to 1 on the way to a row, through what keeps them so
    (views); "" if none.
    """
    left = [i]
    seen = {i}
    while left:
        row = errors.rows[left.pop(0)]
        if row.saturated and row.passed is None:
            label = plain(errors.trace.tensors[row.tensor].label)
            return f"{row.saturated:,} of {row.elements:,} elements of {label} are rounded to 1"
        operation = (
            None
            if row.operation is None or row.passed is not None
            else errors.trace.operations[row.operation]
        )
        rows = (
            [] if operation is None else [errors.of_value(tensor) for tensor in operation.tensors]
        )
        new = [j for j in rows if j is not None and j not in seen and is_up_to_one(errors.rows[j])]
        left += new
        seen.update(new)
    return ""


def is_up_to_one(row: Measured) -> bool:
    return abs(row.largest - 1.0) <= 2 * ROUNDING.get(row.dtype, 0.0)


def wider(dtype: str) -> str:
    return "float64" if dtype in ("float32", "float64") else "float32"


def summed_in(record: Any, dtype: str) -> tuple[str, ...]:
    if (
        record is None
        or record.kind not in ("reduction", "scan")
        or "dtype" not in record.plain_names
    ):
        return (f"compute it in {dtype}",)
    return (f"sum in {dtype}: {record.name}(dtype=torch.{dtype})",)


def in_wider(dtype: str) -> tuple[str, ...]:
    return (f"compute it in {wider(dtype)}",) if dtype != "float64" else ()


def facts_of(errors: Errors, i: int) -> str:
    """Return the two numbers of a row in words, with its condition."""
    row = errors.rows[i]
    if row.underflowed and not row.norm:
        return f"its elements are below the smallest number of {row.dtype}"
    if errors.is_vague(i):
        return "the wider type that it is compared with has no digits left here either"
    before: list[Any] = [errors.relative(j) for j, share in errors.sources(i) if abs(share) >= 0.01]
    text = f"it adds {said(row.added, row.dtype)} and inherits {said(row.inherited, row.dtype)}"
    if before and max(before) and row.inherited < inf:
        condition = (
            row.inherited * errors.relative(i) / row.error / max(before) if row.error else 0.0
        )
        text += (
            f"; what it inherits is {times(condition)} its input's error"
            if condition >= LARGE
            else ""
        )
    return text


def times(ratio: float) -> str:
    """Return a ratio in words."""
    return f"{ratio:,.0f} times" if ratio < MILLION else f"{log10(ratio):.1f} decimal orders above"


def said(error: float, dtype: str) -> str:
    """Return an error in words, from its size in units of a dtype's rounding."""
    if not error:
        return "no error"
    return "no more than a rounding" if error <= 1 else f"an error that leaves {left(error, dtype)}"


def left(error: float, dtype: str) -> str:
    """Return how many digits an error leaves, from its size in units of a dtype's rounding."""
    unit = ROUNDING[dtype]
    decimals = -log10(error * unit) if error < inf else 0.0
    return (
        f"{decimals:.1f} of {-log10(unit):.1f} decimal digits"
        if decimals >= 0.05
        else "no correct digit"
    )
