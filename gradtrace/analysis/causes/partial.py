"""Find a path that is cut while another one brings a gradient: it is finite, and part of it is
missing.

Most cuts are meant: a target under no_grad, an advantage, a straight-through estimator. Reported as
mistakes are a number that a loss is computed with, and a tensor that is multiplied by its own
values without history. A number that is a threshold, and a coefficient that is learned by a term of
its own, are only worth a remark.
"""

from __future__ import annotations

from gradtrace.analysis import history
from gradtrace.analysis.cause import Cause
from gradtrace.analysis.copies import LeftNumber, left_numbers
from gradtrace.analysis.facts import Facts
from gradtrace.analysis.flow import Cut
from gradtrace.analysis.rewrites import expression, operands, without_call
from gradtrace.analysis.terms import code_of, named, operator, unit
from gradtrace.analysis.words import folded
from gradtrace.annotations import Iterator
from gradtrace.engine.operators.tables import function_table
from gradtrace.program import syntax as ast
from gradtrace.trace.record import Operation

SCALES = function_table("analysis.causes.partial.SCALES", ("div", "pow"))
BOUNDS = function_table(
    "analysis.causes.partial.BOUNDS",
    ("clamp", "clip", "where", "maximum", "minimum", "le", "lt", "ge", "gt"),
)


def partial_cut(facts: Facts) -> Cause | None:
    """Explain a gradient that lacks a path, which the program probably did not mean to cut."""
    if not facts.storing:
        return None
    for number, leaves, is_meant in numbers(facts):
        if not is_meant:
            return of_number(facts, number, leaves)
    into = facts.flow.before(facts.roots)
    for operation in facts.calls_of(("mul",)):
        cut = own_factor(facts, operation) if not into.isdisjoint(operation.outputs) else None
        leaves = [] if cut is None else leaves_behind(facts, cut.tensor)
        if cut is not None and leaves:
            return of_factor(facts, operation, cut, leaves)
    return None


def numbers(facts: Facts) -> Iterator[tuple[LeftNumber, list[int], bool]]:
    """Yield the numbers that a loss is computed with, each with the leaves behind it, and whether
    it is one on purpose.

    Divisors are left out: they scale a result or are part of a ratio of numbers.
    """
    candidates = left_numbers(facts)
    bounds = {number.escape for number in candidates if operator(number.operation) in BOUNDS}
    for number in candidates:
        leaves = leaves_behind(facts, number.tensor)
        if leaves and not is_ratio(number):
            yield number, leaves, number.escape in bounds or is_coefficient(facts, number, leaves)


def is_coefficient(facts: Facts, number: LeftNumber, leaves: list[int]) -> bool:
    """Whether the leaves behind a number are no others' that it multiplies, and are learned by a
    term that treats those as constants: a temperature, a multiplier of a constraint.
    """
    others = {leaf for tensor in number.operation.tensors for leaf in leaves_behind(facts, tensor)}
    if not others or not others.isdisjoint(leaves):
        return False
    learning = facts.flow.after(leaves)
    cuts = (cut for leaf in others for cut in facts.cuts_on_the_way(facts.tensors[leaf]))
    terms = (reader.tensors for cut in cuts for reader in facts.readers(cut.result))
    return any(facts.flow.tensor(tensor) in learning for tensors in terms for tensor in tensors)


def meant_numbers(facts: Facts) -> Iterator[str]:
    """Yield a sentence for each number of a loss that is one on purpose."""
    rows = numbers(facts) if facts.storing else ()
    yield from dict.fromkeys(
        sentence(facts, number, leaves) for number, leaves, is_meant in rows if is_meant
    )


def leaves_behind(facts: Facts, tensor: int) -> list[int]:
    """Return the leaves with a gradient that a tensor was computed from."""
    behind = (facts.tensors[i] for i in facts.flow.before([tensor]))
    return sorted(t.id for t in behind if t.is_leaf and t.requires_grad and t.grad is not None)


def is_ratio(number: LeftNumber) -> bool:
    """Whether a number only scales a result: a divisor, part of a ratio of numbers."""
    if operator(number.operation) in SCALES:
        return True
    return any(
        isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div) for n in ast.walk(number.operand)
    )


def of_number(facts: Facts, number: LeftNumber, leaves: list[int]) -> Cause:
    escape = number.escape
    name = name_of(facts, number)
    call = call_of(number)
    evidence = [
        facts.at(f"the value of {name} becomes a number, which has no history", escape.span)
    ]
    if number.operation.span != escape.span:
        evidence.append(
            facts.at(
                f"{operator(number.operation)} computes with that number", number.operation.span
            )
        )
    return Cause(
        "partial cut",
        sentence(facts, number, leaves),
        evidence,
        (
            f"leave it as it is if {name} is meant to count as a constant there",
            without_call(facts, escape.span, f"or compute with {name} itself in place of {call}"),
        ),
        tensors=frozenset(leaves),
    )


def sentence(facts: Facts, number: LeftNumber, leaves: list[int]) -> str:
    return (
        f"{facts.root_names()} depends on {name_of(facts, number)} through "
        f"{call_of(number)}{facts.at_line(number.escape.span)} too, and no gradient comes back on "
        f"that path: {missing(facts, leaves)}"
    )


def call_of(number: LeftNumber) -> str:
    return number.escape.text if len(number.escape.text) < 30 else f"{number.escape.how}()"


def name_of(facts: Facts, number: LeftNumber) -> str:
    """Return the name of what became a number, else its text: `e.max()` of e.max().item() and of
    float(e.max()).
    """
    name = named(facts, number.tensor)
    texts = [] if code_of(name) else operands(facts, expression(facts, number.escape.span))
    return facts.text.cut(texts[0]) if texts else name


def missing(facts: Facts, leaves: list[int]) -> str:
    names = folded([facts.label(i) for i in leaves], "parameters")
    return f"the gradient{'s' * (len(leaves) > 1)} of {names} lack{'s' * (len(leaves) == 1)} it"


def own_factor(facts: Facts, operation: Operation) -> Cut | None:
    """Return the cut between the two factors of a product that are the same tensor, one of them
    without history.
    """
    if len(operation.tensors) != 2:
        return None
    for constant, factor in (operation.tensors, operation.tensors[::-1]):
        if not facts.tensors[factor].requires_grad or facts.tensors[constant].requires_grad:
            continue
        cut = facts.flow.cut_before(constant)
        # a variable of its own has a weight that is meant to be constant
        if cut is None or cut.result != constant or named(facts, constant).isidentifier():
            continue
        at_once = cut.operation is None or facts.maker(constant) == cut.operation
        is_own = at_once and facts.flow.tensor(cut.tensor) == factor
        if is_own and history.describe(facts, cut).code in ("detach", ".data"):
            return cut
    return None


def of_factor(facts: Facts, operation: Operation, cut: Cut, leaves: list[int]) -> Cause:
    cause = history.describe(facts, cut)
    name = named(facts, cut.tensor)
    return Cause(
        "partial cut",
        f"{unit(facts, operation)} multiplies {name} by its own values without history "
        f"({cause.because}), and no gradient comes back through that factor: "
        f"{missing(facts, leaves)}",
        (*cause.evidence, facts.at(f"{name} is the other factor", operation.span)),
        (
            "leave it as it is if that factor is meant to count as a constant",
            *(f"or {text}" for text in cause.advice),
        ),
        tensors=frozenset(leaves),
    )
