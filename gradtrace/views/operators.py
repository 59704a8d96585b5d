"""The operators' reference as text or data.

The JSON document has `schema` "gradtrace/ops", `version` and `operators` [{name, forms, record,
signature, grad_fn, derivatives {argument: text}, formula, kinks [{at, jump, left, right, given}]}].
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradtrace.analysis.operators import Kink, Operator
from gradtrace.views import layout, numbers, rows
from gradtrace.views.cells import wrap
from gradtrace.views.layout import LayoutOptions, paint

COLUMNS = ("name", "forms", "signature", "grad_fn", "derivatives")


def listing(names: Sequence[str], options: LayoutOptions) -> str:
    """Return all names, as many on a line as fit."""
    lines = wrap("  ".join(names).replace("  ", " "), min(options.width or 100, 100))
    return layout.joined([*lines, "", f"{len(names)} names; gradtrace ops NAME tells about one"])


def text(operators: Sequence[Operator], options: LayoutOptions) -> str:
    return "\n".join(layout.joined(lines(operator, options)) for operator in operators)


def lines(operator: Operator, options: LayoutOptions) -> Iterator[str]:
    width = min(options.width or 100, 100)
    yield paint(operator.name, "bold", options)
    facts = [("forms", ", ".join(operator.forms))]
    if operator.signature:
        facts += [
            ("record", operator.signature),
            ("grad_fn", operator.grad_fn or "none: it has no gradient"),
        ]
    else:
        facts.append(("record", "none: it is composed of other operators"))
    if operator.formula:
        facts.append(("formula", equation(operator.formula)))
    facts += [
        ("d/d " + name if name != "joint" else "all inputs", rule)
        for name, rule in operator.derivatives
    ]
    facts += [("at " + numbers.number(kink.at), describe_kink(kink)) for kink in operator.kinks]
    margin = max(len(name) for name, _ in facts) + 4
    for name, said in facts:
        first, *more = wrap(said, width - margin)
        yield paint(f"  {name}".ljust(margin), "dim", options) + first
        yield from (" " * margin + line for line in more)
    if operator.derivatives:
        yield ""
        yield from wrap(
            "g is the gradient that comes in, out the result, grad the gradient of the argument; "
            "broadcasting and casts are undone afterwards.",
            width,
        )


def equation(text: str) -> str:
    """Return a formula with the result's name before a plain value: "self + 1" -> "out = self +
    1".
    """
    first, *conditions = text.split(";")
    return "; ".join(
        [first if is_statement(first) else f"out = {first}", *(part.strip() for part in conditions)]
    )


def is_statement(text: str) -> bool:
    """Whether a formula is an equation or a condition, not a plain value."""
    if " ~ " in text:
        return True
    node = ast.parse(text.strip()).body[0]
    return not isinstance(node, ast.Expr) or isinstance(node.value, ast.Compare)


def describe_kink(kink: Kink) -> str:
    """Describe a kink: "a kink, the slope goes from 0 to 1; the derivative is 0"."""
    description = (
        "a jump"
        if kink.jump
        else (
            f"a kink, the slope goes from {numbers.number(kink.left, 3)} to "
            f"{numbers.number(kink.right, 3)}"
        )
    )
    return f"{description}; the derivative is {numbers.number(kink.given, 4)}, as in PyTorch"


def render(operators: Sequence[Operator], format: str) -> str:
    document = {"operators": [json_fields(operator) for operator in operators]}
    body = [
        (
            operator.name,
            ", ".join(operator.forms),
            operator.signature,
            operator.grad_fn,
            "; ".join(f"{a}: {t}" for a, t in operator.derivatives),
        )
        for operator in operators
    ]
    return rows.write(rows.Results("gradtrace/ops", document, "operators", COLUMNS, body), format)


def json_fields(operator: Operator) -> dict[str, object]:
    return {**operator._asdict(), "derivatives": dict(operator.derivatives)}
