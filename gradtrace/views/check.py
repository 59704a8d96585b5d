"""Write the results of `check` as text or data.

    element  order  analytic  numeric  error  verdict

The JSON document has `schema` "gradtrace/check", `version`, passed, root, dtype, elements [{leaf,
index, order, analytic, numeric, error, verdict, left, right, along}], wrong_operations [{name,
custom, line, source, operand, element, analytic, numeric}], functions (the program's own that were
checked), cuts (what cuts gradients on purpose), hidden_changes (of saved values), skipped. `along`
is "a fixed vector" for order 2, which is the derivative of the gradient's product with one, and ""
for order 1.
"""

from __future__ import annotations

from gradtrace.analysis.check import Check, Element, Wrong
from gradtrace.annotations import Any, Iterator
from gradtrace.lazy_names import words
from gradtrace.trace.finite import EDGE, JUMP, KINK, NOT_FINITE, OK, WRONG
from gradtrace.views import layout, numbers, rows
from gradtrace.views.cells import clip, visible
from gradtrace.views.layout import Cell, LayoutOptions, dots, right

COLUMNS = words("leaf index order analytic numeric error verdict left right along")
MANY = 20  # elements up to which all are shown
ORDERS = {1: "1", 2: "2 along v"}
ALONG = (
    "2 along v: the derivative of the gradient's product with one fixed vector v, not an element "
    "of the Hessian (gradtrace hessian)"
)
STYLES = {OK: "green", WRONG: "red", "cut": "yellow"}
TOLD = {
    KINK: "kink: the slope changes here from {left} to {right}; any number between is a derivative",
    JUMP: "jump: not continuous here, so the derivative does not exist",
    EDGE: "edge of the domain: one side agrees",
    NOT_FINITE: "not finite on both sides, nor is the derivative",
    "cut": "the program cuts the gradient on purpose",
}


def text(check: Check, options: LayoutOptions) -> str:
    return layout.joined(lines(check, options))


def lines(check: Check, options: LayoutOptions) -> Iterator[str]:
    shown, left_out = chosen(check, options.all)
    second = any(e.order == 2 for e in check.elements)
    if shown:
        yield from layout.table(
            shown,
            {
                "element": lambda e: visible(name(e)),
                "order": lambda e: Cell(ORDERS[e.order] if second else "", "", True),
                "analytic": lambda e: right(numbers.number(e.analytic)),
                "numeric": lambda e: Cell(
                    "" if e.verdict == JUMP else numbers.number(e.numeric), "", True
                ),
                "error": lambda e: right(numbers.number(e.error, 2)),
                "verdict": lambda e: Cell(e.verdict, STYLES.get(e.verdict, "yellow")),
            },
            options,
            {"element": 10},
        )
        yield ""
    width = options.width or 200
    if second:
        yield from layout.wrapped(ALONG, "dim", options, width)
    told = [e for e in shown if e.verdict in TOLD]
    notes = [(f"{name(e)}: {verdict(e)}", "yellow") for e in told[:MANY]]
    for line, style in [*notes, *conclusions(check, left_out)]:
        yield from layout.wrapped(line, style, options, width)
    for wrong in check.wrong:
        yield from layout.wrapped(blame(wrong), "red", options, width)
        if wrong.source:
            yield "    " + layout.code(
                clip(visible(wrong.source), width - 4, dots(options)), options
            )


def chosen(check: Check, everything: bool) -> tuple[list[Element], int]:
    """Return all elements if they are few, else the wrong ones and the worst of each leaf."""
    if everything or len(check.elements) <= MANY:
        return list(check.elements), 0
    worst: dict[tuple[str, int], Element] = {}
    for e in check.elements:
        key = (e.leaf, e.order)
        if key not in worst or e.error > worst[key].error:
            worst[key] = e
    shown = [e for e in check.elements if e.verdict != OK or worst[e.leaf, e.order] is e]
    return shown[: 3 * MANY], len(check.elements) - len(shown[: 3 * MANY])


def name(element: Element) -> str:
    return (
        f"{element.leaf}[{', '.join(map(str, element.place))}]" if element.place else element.leaf
    )


def verdict(e: Element) -> str:
    told = TOLD.get(e.verdict, e.verdict)
    return told.format(left=numbers.number(e.left, 3), right=numbers.number(e.right, 3))


def conclusions(check: Check, left_out: int) -> Iterator[tuple[str, str]]:
    wrong = [e for e in check.elements if e.verdict == WRONG]
    total = len(check.elements)
    if left_out:
        yield f"{left_out} elements that agree are not shown (--all)", "dim"
    if check.skipped:
        yield f"{check.skipped} elements were not tried (--most)", "dim"
    if check.functions:
        yield f"checked on their own: {', '.join(check.functions)}", "dim"
    if check.cuts:
        yield f"the program itself cuts gradients off, by {'; '.join(check.cuts)}", "yellow"
    if wrong:
        yield f"wrong: {len(wrong)} of {total} derivatives of {check.where}", "red"
    elif not check.wrong:
        subject = "the derivative" if total == 1 else f"all {total} derivatives"
        yield f"{subject} of {check.where}, in {check.dtype}: no mistake found", "green"
    for change in check.hidden:
        yield (
            f"{change}, behind autograd's back (.data): the gradient is of another computation",
            "red",
        )
    if wrong and not check.wrong and not check.hidden:
        yield "no single operation is wrong on its own: it lies between them", "red"


def blame(wrong: Wrong) -> str:
    where = f" {wrong.span.at}" if wrong.span else ""
    if wrong.operand < 0:
        return f"the second derivative of {wrong.name}{where} is wrong"
    return (
        f"the derivative of {wrong.name}{where} is wrong: for its input {wrong.operand + 1}, "
        f"element {wrong.element}, it gives {numbers.number(wrong.analytic)} where differences "
        f"give {numbers.number(wrong.numeric)}"
    )


# ---- data


def render(check: Check, format: str) -> str:
    body = [[e.leaf, ",".join(map(str, e.place)), *e[2:], e.along] for e in check.elements]
    return rows.write(
        rows.Results("gradtrace/check", document(check), "elements", COLUMNS, body), format
    )


def document(check: Check) -> dict[str, Any]:
    return {
        **rows.fields(check, "passed root=where dtype"),
        "elements": [
            rows.fields(e, "leaf index=place " + " ".join(COLUMNS[2:])) for e in check.elements
        ],
        **rows.fields(check, "wrong_operations=wrong functions cuts hidden_changes=hidden skipped"),
    }
