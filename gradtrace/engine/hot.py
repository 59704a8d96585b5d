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
import sys

from gradtrace.annotations import Any, Callable
from gradtrace.engine.namespace import ARRAY, SCALAR
from gradtrace.engine.node import FREED, Hot, accumulator
from gradtrace.engine.op import FLOAT_TRAPS, Op
from gradtrace.engine.plan import Plan
from gradtrace.engine.spec import FLOAT
from gradtrace.engine.state import state
from gradtrace.engine.tensor import Tensor, blank

OFTEN = 50
Function: Any = type(lambda: None)
SIGNS = {py.add: "+", py.sub: "-", py.mul: "*", py.truediv: "/"}
# Which edges a step gives a gradient for; 0 is no plan of this module's.
FIRST, SECOND, BOTH = 1, 2, 3
NUMBER = 4  # in place of a mask of operands: only the first is a tensor
FLOATS, WIDE, OTHERS = range(3)  # what the operands are: floats, float64 arrays, other arrays
DATA = ("on_floats", "on_wide", "on_others")  # the lists of their plans, by mask; the first entry is the number above


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
    waiting: Any = waiting_unary if record.arity == 1 and not record.plain_names else waiting_binary
    names: dict[str, Any] = {"common": common, "left": OFTEN, "__name__": __name__}
    function: Any = Function(waiting.__code__, names, record.name)

    def make(plans: list[Any], mask: int) -> Plan:
        plans[mask] = plan_for(record, mask, plans[0])
        return plans[mask]

    def heat() -> None:
        numpy = "numpy" in sys.modules
        names.update(
            blank=blank,
            state=state,
            FLOAT=FLOAT,
            TRAPS=FLOAT_TRAPS,
            Tensor=Tensor,
            Node=Hot,
            scalar=record.scalar or no_kernel,
            fits=fits,
            accumulator=accumulator,
            make=make,
            **{name: [data, *[None] * NUMBER] for data, name in enumerate(DATA)},
        )
        if numpy:
            names.update(wide=record.wide, kernel=record.kernel)
        text = (binary_text if record.arity == 2 else plain_text if record.plain_names else unary_text)(record, numpy)
        exec(compile(text, f"<{record.name}>", "exec"), names)
        function.__code__ = names["call"].__code__

    names["heat"] = heat
    return function


# ---- the function


def unary_text(record: Op, numpy: bool) -> str:
    floats, wide, others = checked(record, "input", 8, numpy)
    arrays = (
        f"""
    elif spec.wide:
        z = wide(x){wide}
        plans = on_wide
    else:
        z = kernel(x){others}
        plans = on_others"""
        if numpy
        else f"""
    else:{again("input", 8)}"""
    )
    return f"""
def call(input):
    now = state
    try:
        spec = input._spec
    except AttributeError:  # no tensor
        spec = None
    if spec is None or now.closely:
        return common(input)
    x = input._data
    if spec is FLOAT:
        try:
            z = scalar(x)
        except TRAPS:
            return common(input){floats}
        plans = on_floats{arrays}
{RESULT}
    if input._req and now.grad_enabled:
        {node_lines(record, 1, 8)}
{END}
"""


def plain_text(record: Op, numpy: bool) -> str:
    """Of a tensor and one number that is no operand but a plain argument."""
    floats, _, doubt = checked(record, "input, p", 12, numpy)
    arrays = (
        f"""
            z = kernel(x, p){doubt}
            plans = on_wide if spec.wide else on_others"""
        if numpy
        else again("input, p", 12)
    )
    return f"""
def call(input, p):
    now = state
    spec = input._spec
    kind = type(p)
    if spec is None or now.closely or (kind is not float and kind is not int):
        return common(input, p)
    x = input._data
    try:
        if spec is FLOAT:
            z = scalar(x, p){floats}
            plans = on_floats
        else:{arrays}
    except TRAPS:
        return common(input, p)
{RESULT}
    if input._req and now.grad_enabled:
        {node_lines(record, 1, 8)}
        node.b = (p,)
{END}
"""


def binary_text(record: Op, numpy: bool) -> str:
    sign = SIGNS.get(record.scalar)  # type: ignore[arg-type]
    floats, _, doubt = checked(record, "a, b", 12, numpy)
    arrays = (
        f"""
            if kind is not Tensor:
                y = spec.numbers.get(b)
                if y is None:
                    y = spec.number(b)
            z = kernel(x, y){doubt}
            plans = on_wide if spec.wide else on_others"""
        if numpy
        else again("a, b", 12)
    )
    return f"""
def call(a, b):
    now = state
    spec = a._spec
    if spec is None or now.closely:
        return common(a, b)
    kind = type(b)
    if kind is Tensor:
        if b._spec is not spec:
            return common(a, b)
        y = b._data
    elif kind is float or kind is int:
        y = b
    else:
        return common(a, b)
    x = a._data
    try:
        if spec is FLOAT:
            z = {f"x {sign} y" if sign else "scalar(x, y)"}{floats}
            plans = on_floats
        else:{arrays}
    except TRAPS:
        return common(a, b)
{RESULT}
    if a._req and now.grad_enabled:
        if kind is not Tensor:
            {node_lines(record, NUMBER, 12)}
        elif b._req:
            {node_lines(record, 3, 12)}
        else:
            {node_lines(record, 1, 12)}
    elif kind is Tensor and b._req and now.grad_enabled:
        {node_lines(record, 2, 8)}
{END}
"""


RESULT = """
    out = blank()
    out._data = z
    out._spec = spec
    out._nr = 0
    out._x = None
"""
END = """
    else:
        out._fn = None
        out._req = False
        return out
    out._req = True
    out._fn = node
    node.nrs = node.rare = None
    node.spec = spec
    node.seq = now.seq = now.seq + 1
    node.origin = now.origin
    return out
"""
# The node that gets a gradient: the tensor's own, or a leaf's accumulator, which only a weak reference knows.
EDGE = """edge = {operand}._fn
if edge is None:
    edge = {operand}._x
    if edge is not None:
        edge = edge.accumulator
    if edge is not None:
        edge = edge()
    if edge is None:
        edge = accumulator({operand})
node.{field} = edge"""


def node_lines(record: Op, mask: int, indent: int) -> str:
    """The lines that make a node, with its edges and what it keeps, where the operands in the mask require grad."""
    plan = record.plan(wanted(mask))
    raw = raw_bits(plan, mask)
    lines = [
        "node = Node()",
        f"plan = plans[{mask}]",
        "if plan is None:",
        f"    plan = make(plans, {mask})",
        "node.plan = plan",
    ]
    operands = (("input", "x"),) if record.arity == 1 else (("a", "x"), ("b", "y"))
    for i, (operand, data) in enumerate(operands):
        bit, letter = 1 << i, "ab"[i]
        if wanted(mask) & bit:
            lines += EDGE.format(operand=operand, field=f"n{letter}").split("\n")
        else:
            lines.append(f"node.n{letter} = None")
        lines.append(f"node.{letter} = {data if raw & bit else operand if plan.keeps & bit else 'None'}")
    lines.append(f"node.out = {'z' if plan.save_out else 'None'}")
    return ("\n" + " " * indent).join(lines)


def wanted(mask: int) -> int:
    """The operands that require grad, as bits."""
    return 1 if mask == NUMBER else mask


def raw_bits(plan: Plan, mask: int) -> int:
    """The operands that a node keeps as raw data: of those it keeps the ones with an edge."""
    return plan.keeps & wanted(mask)


def again(arguments: str, indent: int) -> str:
    """What a text that was made before numpy was loaded does with its first array: it is made anew."""
    return ("\n" + " " * indent).join(["", "heat()", f"return common({arguments})"])


def checked(record: Op, arguments: str, indent: int, numpy: bool) -> tuple[str, str, str]:
    """Lines after the kernel for floats, float64 arrays, others: only a kernel of ours may give something else."""
    doubt = ("\n" + " " * indent).join(["", "if not fits(z, spec):", f"    return common({arguments})"])
    kernels = (record.scalar, record.wide, record.kernel) if numpy else (record.scalar,) * 3
    own = [hasattr(kernel, "__code__") for kernel in kernels]
    return tuple(doubt if each else "" for each in own)  # type: ignore[return-value]


def no_kernel(*operands: float) -> float:
    raise ValueError("this operator has no kernel for floats")


def fits(z: Any, spec: Any) -> bool:
    if spec is FLOAT:
        return type(z) is float
    return getattr(z, "dtype", None) is spec.dtype and z.shape == spec.shape


# ---- the steps of backward


def plan_for(record: Op, mask: int, data: int) -> Plan:
    """A plan of the common path; `mask`: the operands that require grad, 1, 2 or 3, or NUMBER."""
    plan = record.plan(wanted(mask)).copy()
    plan.record = record
    plan.raw = raw_bits(plan, mask)
    plan.kind = sum(1 << i for i, _ in plan.rules)
    if plan.kind:
        plan.step = step(record, plan, mask, data)
    return plan


def step(record: Op, plan: Plan, mask: int, data: int) -> Callable[..., Any] | None:
    """step(node, g): the gradients for the node's one or two edges; Unusual where saved values need a closer look.

    None where each is `g` itself.
    """
    from gradtrace.engine.formulas import Writer, formula

    floats = data == FLOATS
    values: dict[str, Any] = {"Unusual": Unusual, "FREED": FREED}
    names = ("x", "y")[: record.arity] + ("p",) * len(record.plain_names)
    writer = Writer(floats, values)
    results = []
    guards: list[str] = []
    for _, rule in plan.rules:
        never: list[str] = []
        term = None if data == OTHERS else formula(rule, names, floats, never)
        if term is not None:
            guards += [f"if {' or '.join(never)}:", "    raise Unusual"] if never else []
            results.append(writer.write(term))
        else:
            writer.used.update(name for name in (*names, "out"))
            xp = writer.bound(SCALAR if floats else ARRAY)
            results.append(f"{writer.bound(rule)}({xp}, g, out, {', '.join(names)})")
    if all(result == "g" for result in results):
        return None
    lines = [*operand_lines(plan, mask, floats, writer.used), *guards, *writer.lines, f"return {', '.join(results)}"]
    text = "def step(node, g):\n    " + "\n    ".join(lines)
    exec(compile(text, f"<backward of {record.name}>", "exec"), values)
    return values["step"]


def operand_lines(plan: Plan, mask: int, floats: bool, used: set[str]) -> list[str]:
    """The lines that fetch what was saved. Freed values, and tensors that left the common path since, are unusual."""
    lines = []
    unusual = []
    if "out" in used:
        lines.append("out = node.out")
        if plan.save_out:
            unusual.append("out is None")
    for bit, name, letter in ((1, "x", "a"), (2, "y", "b")):
        if name not in used:
            continue
        lines.append(f"{name} = node.{letter}" if plan.keeps & bit else f"{name} = None")
        if plan.raw & bit:
            unusual += [f"{name} is FREED" if letter == "a" else f"{name} is None", f"node.n{letter}.rare is not None"]
        elif mask == NUMBER and bit == 2 and plan.keeps & bit:
            unusual.append(f"{name} is None")
            if not floats:
                lines.append(f"{name} = node.spec.numbers.get({name}, {name})")
        elif plan.keeps & bit:
            unusual.append(f"{name} is None or {name}._spec is None")
            lines += [f"if {unusual.pop()}:", "    raise Unusual", f"{name} = {name}._data"]
    if "p" in used:
        lines.append("p = node.b")
        unusual.append("p is None")
    lines += [f"if {' or '.join(unusual)}:", "    raise Unusual"] if unusual else []
    return [*lines, "p = p[0]"] if "p" in used else lines
