"""The most common call of a pointwise operator, written out for each record once it has been called often.

`fast.py` has what is common to all of them and can do every case; this is the case in which both operands are of one
Spec (two floats, two arrays of one shape and dtype), or one of them is a number, and nothing special is on. Its
function is made from a text: the record's kernel stands in it by name or sign, and the steps of backward are the
record's own rules, as `formulas.py` tells them. No rule is written here. A text is compiled only after `OFTEN` calls,
so that a short program does not wait for it; it then takes the place of the function's code. The function, which a
program may hold, stays the same.
"""

from __future__ import annotations

import operator as py

from gradtrace.annotations import Any, Callable
from gradtrace.engine.formulas import Writer, formula
from gradtrace.engine.namespace import ARRAY, SCALAR
from gradtrace.engine.node import accumulator
from gradtrace.engine.op import FLOAT_TRAPS, Op, Plan
from gradtrace.engine.spec import FLOAT
from gradtrace.engine.state import state
from gradtrace.engine.tensor import Tensor, blank

OFTEN = 50
Function: Any = type(lambda: None)
SIGNS = {py.add: "+", py.sub: "-", py.mul: "*", py.truediv: "/"}
# Which edges a step gives a gradient for; 0 is no plan of this module's.
FIRST, SECOND, BOTH = 1, 2, 3


class Unusual(Exception):
    """A step found something that it is not made for; the node's general way is to be taken."""


# What the next two functions find among the names of each record's own copy of them.
common: Any = None
heat: Any = None
left = OFTEN


def waiting_unary(input: Any) -> Any:
    global left
    left -= 1
    if not left:
        heat()
    return common(input)


def waiting_binary(a: Any, b: Any) -> Any:
    global left
    left -= 1
    if not left:
        heat()
    return common(a, b)


def hot(record: Op, common: Callable[..., Any]) -> Any:
    """`common` (the record's function by `fast.py`) with the short way in front of it, once it is called often."""
    waiting: Any = waiting_unary if record.arity == 1 else waiting_binary
    names: dict[str, Any] = {"common": common, "left": OFTEN, "__name__": __name__}
    function: Any = Function(waiting.__code__, names, record.name)

    def heat() -> None:
        names.update(
            blank=blank, state=state, FLOAT=FLOAT, TRAPS=FLOAT_TRAPS, Tensor=Tensor, Node=record.node_type(),
            scalar=record.scalar or no_kernel, wide=record.wide, kernel=record.kernel, fits=fits,
            accumulator=accumulator,
            on_floats=Plans(record, "float"), on_wide=Plans(record, "wide"), on_others=Plans(record, "other"),
        )
        text = unary_text(record) if record.arity == 1 else binary_text(record)
        exec(compile(text, f"<{record.name}>", "exec"), names)
        function.__code__ = names["call"].__code__

    names["heat"] = heat
    return function


# ---- the function


def unary_text(record: Op) -> str:
    keeps = record.plan(1)
    return f"""
def call(input):
    spec = input._spec if type(input) is Tensor else None
    if spec is None or state.closely:
        return common(input)
    x = input._data
    if spec is FLOAT:
        try:
            z = scalar(x)
        except TRAPS:
            return common(input)
        plans = on_floats
    elif spec.wide:
        z = wide(x)
        plans = on_wide
    else:
        z = kernel(x)
        plans = on_others
{checked(record, "input")}
    out = blank()
    out._data = z
    out._spec = spec
    out._nr = 0
    out._x = None
    if not input._req or not state.grad_enabled:
        out._fn = None
        out._req = False
        return out
    out._req = True
    out._fn = node = Node()
    node.na = input._fn or {leaf_edge("input")}
    node.a = {"input" if keeps.keeps else "None"}
    node.out = {"z" if keeps.save_out else "None"}
    node.nrs = node.rare = None
    node.plan = plans[1]
    node.spec = spec
    node.seq = state.seq = state.seq + 1
    node.origin = state.origin
    return out
"""


def binary_text(record: Op) -> str:
    sign = SIGNS.get(record.scalar)  # type: ignore[arg-type]
    return f"""
def call(a, b):
    spec = a._spec
    if spec is None or state.closely:
        return common(a, b)
    kind = type(b)
    if kind is Tensor:
        if b._spec is not spec:
            return common(a, b)
        y = b._data
        mask = (3 if b._req else 1) if a._req else 2 if b._req else 0
    elif kind is float or kind is int:
        y = b
        mask = 4 if a._req else 0
    else:
        return common(a, b)
    x = a._data
    try:
        if spec is FLOAT:
            z = {f"x {sign} y" if sign else "scalar(x, y)"}
            plans = on_floats
        else:
            if kind is not Tensor:
                y = spec.numbers.get(b)
                if y is None:
                    y = spec.number(b)
            z = kernel(x, y)
            plans = on_wide if spec.wide else on_others
    except TRAPS:
        return common(a, b)
{checked(record, "a, b")}
    out = blank()
    out._data = z
    out._spec = spec
    out._nr = 0
    out._x = None
    if not mask or not state.grad_enabled:
        out._fn = None
        out._req = False
        return out
    out._req = True
    out._fn = node = Node()
    node.plan = plan = plans[mask]
    if mask == 2:
        node.na = None
        node.nb = b._fn or {leaf_edge("b")}
    else:
        node.na = a._fn or {leaf_edge("a")}
        node.nb = b._fn or {leaf_edge("b")} if mask == 3 else None
{kept(record)}
    node.nrs = node.rare = None
    node.spec = spec
    node.seq = state.seq = state.seq + 1
    node.origin = state.origin
    return out
"""


def leaf_edge(name: str) -> str:
    return f"({name}._x and {name}._x.accumulator and {name}._x.accumulator()) or accumulator({name})"


def kept(record: Op) -> str:
    """The lines that store what a binary node keeps: the same for all plans, or by the plan's bits."""
    masks = [record.plan(mask) for mask in (1, 2, 3)]
    lines = []
    for bit, field, name in ((1, "a", "a"), (2, "b", "b")):
        having = [bool(plan.keeps & bit) for plan in masks]
        one = name if all(having) else "None" if not any(having) else f"{name} if plan.keeps & {bit} else None"
        lines.append(f"    node.{field} = {one}")
    having = [plan.save_out for plan in masks]
    one = "z" if all(having) else "None" if not any(having) else "z if plan.save_out else None"
    return "\n".join([*lines, f"    node.out = {one}"])


def checked(record: Op, arguments: str) -> str:
    """A kernel of our own may give something else than its operands are; numpy's and Python's do not."""
    if record.scalar in SIGNS and isinstance(record._kernel, str):
        return ""
    return f"    if not fits(z, spec):\n        return common({arguments})"


def no_kernel(*operands: float) -> float:
    raise ValueError("this operator has no kernel for floats")


def fits(z: Any, spec: Any) -> bool:
    if spec is FLOAT:
        return type(z) is float
    return getattr(z, "dtype", None) is spec.dtype and z.shape == spec.shape


# ---- the steps of backward


class Plans(dict[int, Plan]):
    """A record's plans by which operands require grad: 1, 2, 3 (both), or 4 (the first, the second is a number)."""

    def __init__(self, record: Op, data: str) -> None:
        self.record = record
        self.data = data  # "float", "wide" (float64 arrays) or "other" arrays

    def __missing__(self, mask: int) -> Plan:
        plan = self[mask] = self.record.plan(1 if mask == 4 else mask).copy()
        edges = [i for i, _ in plan.rules]
        if edges:
            plan.step = step(self.record, plan, mask, self.data)
            plan.kind = sum(1 << i for i in edges)
        return plan


def step(record: Op, plan: Plan, mask: int, data: str) -> Callable[..., Any]:
    """step(node, g): the gradients for the node's one or two edges; Unusual where saved values need a closer look."""
    floats = data == "float"
    values: dict[str, Any] = {"Unusual": Unusual}
    names = ("x", "y")[: record.arity]
    writer = Writer(floats, values)
    results = []
    for _, rule in plan.rules:
        term = None if data == "other" else formula(rule, names, floats)
        if term is not None:
            results.append(writer.write(term))
        else:
            writer.used.update(name for name in (*names, "out"))
            xp = writer.bound(SCALAR if floats else ARRAY)
            results.append(f"{writer.bound(rule)}({xp}, g, out, {', '.join(names)})")
    lines = [*operand_lines(plan, mask, floats, writer.used), *writer.lines, f"return {', '.join(results)}"]
    text = "def step(node, g):\n    " + "\n    ".join(lines)
    exec(compile(text, f"<backward of {record.name}>", "exec"), values)
    return values["step"]


def operand_lines(plan: Plan, mask: int, floats: bool, used: set[str]) -> list[str]:
    """The lines that fetch what was saved. Freed values, and tensors that left the common path since, are unusual."""
    lines = []
    if "out" in used:
        lines.append("out = node.out")
        if plan.save_out:
            lines += ["if out is None:", "    raise Unusual"]
    for bit, name, field in ((1, "x", "a"), (2, "y", "b")):
        if name not in used:
            continue
        if not plan.keeps & bit:
            lines.append(f"{name} = None")
        elif mask == 4 and bit == 2:
            lines += [f"{name} = node.{field}", f"if {name} is None:", "    raise Unusual"]
            if not floats:
                lines.append(f"{name} = node.spec.numbers.get({name}, {name})")
        else:
            freed = "y is None or " if name == "y" else ""
            lines += [f"{name} = node.{field}", f"if {freed}{name}._spec is None:", "    raise Unusual",
                      f"{name} = {name}._data"]
    return lines
