"""A static plan as text: the inputs, the steps in order with each result's buffer, and what the
optimisation passes removed.
"""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.static.plan import Plan, Ref, Step
from gradtrace.static.rows import RowProgram
from gradtrace.trace.operands import constant_text, public_name
from gradtrace.views.cells import counted
from gradtrace.views.style import LIGHT, listed, upward


def names_of(plan: Plan) -> dict[int, str]:
    """Return a unique name for each value: an input's or variable's own, v3 for others."""
    names: dict[int, str] = {}
    taken: set[str] = set()
    for number, value in enumerate(plan.values):
        fresh = value.name and value.name not in taken and not value.is_constant
        names[number] = value.name if fresh else f"v{number}"
        taken.add(names[number])
    return names


def shape_text(plan: Plan, number: int) -> str:
    value = plan.values[number]
    return f"{value.dtype} {value.shape}"


def argument(plan: Plan, names: dict[int, str], a: Any) -> str:
    if type(a) is Ref:
        value = plan.values[a.number]
        if not value.is_constant:
            return names[a.number]
        return constant_text(value.constant) if value.shape == () else f"constant{value.shape}"
    if type(a) in (tuple, list):
        return "(" + ", ".join(argument(plan, names, item) for item in a) + ")"
    return constant_text(a)


def step_text(plan: Plan, names: dict[int, str], step: Step) -> str:
    """Return a step as code: `a = add(x, w)`."""
    args = ", ".join(argument(plan, names, a) for a in step.args)
    return f"{', '.join(names[n] for n in step.out)} = {public_name(step.op)}({args})"


def render(plan: Plan, recorded: int) -> str:
    """Return the whole plan as a table; `recorded` is the number of steps before the passes."""
    names = names_of(plan)
    program = RowProgram(plan)
    head = [
        f"{counted(recorded, 'step')} recorded, {len(plan.steps)} after the passes; "
        f"{counted(results(plan), 'result')} in {counted(len(program.buffers.kinds), 'buffer')}",
        *(f"  {name}: {count}" for name, count in plan.removed),
        "",
    ]
    rows: list[tuple[str, ...]] = [("step", "", "phase", "line", "in")]
    rows += [("", names[n], "input", "", shape_text(plan, n)) for _, n in plan.inputs]
    for position, step in enumerate(plan.steps):
        text = step_text(plan, names, step)
        rows.append(
            (
                str(position + 1),
                text,
                step.phase,
                str(step.line or ""),
                program.arrays.get(step.out[0], ""),
            )
        )
    rows += [
        ("", f"{label} -> {output_text(plan, names, n)}", "output", "", shape_text(plan, n))
        for label, n in plan.outputs
    ]
    return "\n".join([*head, *aligned(rows)]) + "\n"


def results(plan: Plan) -> int:
    return sum(len(step.out) for step in plan.steps)


def output_text(plan: Plan, names: dict[int, str], number: int) -> str:
    return argument(plan, names, Ref(number))


def aligned(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def as_data(plan: Plan, recorded: int) -> dict[str, Any]:
    """Return the plan as plain data for JSON."""
    names = names_of(plan)
    program = RowProgram(plan)
    return {
        "schema": "gradtrace/plan",
        "version": 1,
        "recorded_steps": recorded,
        "buffers": len(program.buffers.kinds),
        "passes": dict(plan.removed),
        "inputs": [
            {"name": names[n], "dtype": plan.values[n].dtype, "shape": list(plan.values[n].shape)}
            for _, n in plan.inputs
        ],
        "steps": [
            {
                "op": public_name(step.op),
                "args": [argument(plan, names, a) for a in step.args],
                "out": [names[n] for n in step.out],
                "phase": step.phase,
                "line": step.line or None,
                "place": program.arrays.get(step.out[0]),
            }
            for step in plan.steps
        ],
        "outputs": [
            {"label": label, "value": output_text(plan, names, n)} for label, n in plan.outputs
        ],
    }


# an arrow to the right would point astray
RESULT = LIGHT.looks["output"]._replace(shape="box", margin="0.09,0.05")


def dot(plan: Plan) -> str:
    """Return the plan as DOT: operations as boxes, tensors along the edges, inputs at the
    bottom.
    """
    names = names_of(plan)
    looks = LIGHT.looks
    lines = upward("plan")
    lines += [
        f"    i{n} [label={quoted(names[n])}, {listed(looks['leaf'])}];" for _, n in plan.inputs
    ]
    lines.append("  }")
    maker: dict[int, str] = {n: f"i{n}" for _, n in plan.inputs}
    for position, step in enumerate(plan.steps):
        look = looks["nonleaf" if step.phase == "forward" else "result"]
        lines.append(f"  s{position} [label={quoted(label_of(plan, step))}, {listed(look)}];")
        for a in step.args:
            for number in [a.number] if type(a) is Ref else []:
                if number in maker:
                    lines.append(
                        f"  {maker[number]} -> s{position} [label={quoted(names[number])}];"
                    )
        maker.update(dict.fromkeys(step.out, f"s{position}"))
    for k, (label, number) in enumerate(plan.outputs):
        lines.append(f"  o{k} [label={quoted(label)}, {listed(RESULT)}];")
        if number in maker:
            lines.append(f"  {maker[number]} -> o{k};")
    return "\n".join([*lines, "}"]) + "\n"


def label_of(plan: Plan, step: Step) -> str:
    constants = [
        argument(plan, {}, a)
        for a in step.args
        if type(a) is not Ref or plan.values[a.number].is_constant
    ]
    return " ".join([public_name(step.op), *constants])


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
