"""The operators' reference as text or data.

The JSON document has `schema` "gradtrace/ops", `version` and `operators` [{name, forms, record, signature, grad_fn,
derivatives {argument: text}, formula, latex {formula and arguments: LaTeX}, kinks [{at, jump, left, right, given}],
example, answer}].
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradtrace.analysis.operators import Kink, Operator
from gradtrace.views import layout, numbers, rows
from gradtrace.views.cells import wrap
from gradtrace.views.formula import equation, latex
from gradtrace.views.layout import LayoutOptions, paint

COLUMNS = ("name", "forms", "signature", "grad_fn", "derivatives")


def listing(names: Sequence[str], options: LayoutOptions) -> str:
    """Return all names, as many on a line as fit."""
    lines = wrap("  ".join(names).replace("  ", " "), min(options.width or 100, 100))
    return layout.joined([*lines, "", f"{len(names)} names; gradtrace ops NAME tells about one"])


def text(found: Sequence[Operator], options: LayoutOptions) -> str:
    return "\n".join(layout.joined(lines(one, options)) for one in found)


def lines(one: Operator, options: LayoutOptions) -> Iterator[str]:
    width = min(options.width or 100, 100)
    yield paint(one.name, "bold", options)
    facts = [("forms", ", ".join(one.forms))]
    if one.signature:
        facts += [("record", one.signature), ("grad_fn", one.grad_fn or "none: it has no gradient")]
    else:
        facts.append(("record", "none: it is composed of other operators"))
    if one.formula:
        facts += [("formula", equation(one.formula)), ("  in LaTeX", latex_of(one)["formula"])]
    for name, rule in one.derivatives:
        facts += [("d/d " + name if name != "joint" else "all inputs", rule), ("  in LaTeX", latex_of(one)[name])]
    facts += [("at " + numbers.number(kink.at), describe_kink(kink)) for kink in one.kinks]
    if one.example:
        facts.append(("example", f"{one.example} gives {one.answer}"))
    margin = max(len(name) for name, _ in facts) + 4
    for name, said in facts:
        first, *more = wrap(said, width - margin)
        yield paint(f"  {name}".ljust(margin), "dim", options) + first
        yield from (" " * margin + line for line in more)
    if one.derivatives:
        yield ""
        yield from wrap(
            "g is the gradient that comes in, out the result, grad the gradient of the argument; broadcasting and "
            "casts are undone afterwards.",
            width,
        )


def latex_of(one: Operator) -> dict[str, str]:
    """Return the formula and the derivatives in LaTeX's mathematics."""
    return {
        "formula": latex(equation(one.formula)) if one.formula else "",
        **{name: latex(rule) for name, rule in one.derivatives},
    }


def describe_kink(kink: Kink) -> str:
    """Describe a kink: "a kink, the slope goes from 0 to 1; the derivative is 0"."""
    what = (
        "a jump"
        if kink.jump
        else (f"a kink, the slope goes from {numbers.number(kink.left, 3)} to {numbers.number(kink.right, 3)}")
    )
    return f"{what}; the derivative is {numbers.number(kink.given, 4)}, as in PyTorch"


def render(found: Sequence[Operator], format: str) -> str:
    document = {"operators": [json_fields(one) for one in found]}
    body = [
        (one.name, ", ".join(one.forms), one.signature, one.grad_fn, "; ".join(f"{a}: {t}" for a, t in one.derivatives))
        for one in found
    ]
    return rows.write(rows.Results("gradtrace/ops", document, "operators", COLUMNS, body), format)


def json_fields(one: Operator) -> dict[str, object]:
    return {**one._asdict(), "derivatives": dict(one.derivatives), "latex": latex_of(one)}
