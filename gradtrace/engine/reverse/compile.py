"""Compile the derivative of an elementwise operator from its record's rules.

A rule is called with terms in place of values, which gives its formula. The formula becomes one
Python function, built as an `ast` with generated names, so a node's derivative no longer calls the
rule, its namespace and their fallbacks. A rule that depends on values (a comparison, a branch) has
no formula; it is called directly. The compiled function takes and returns the same as the
interpreter (`evaluate.interpret`), and calls it for the cases that it does not handle: freed or
changed saved values, and exceptions of Python's floats.

`compile_function` is where all generated code is made.
"""

from __future__ import annotations

import ast

from gradtrace.annotations import TYPE_CHECKING, Any, Callable
from gradtrace.engine.data.dtypes import FLOATS, OTHERS, WIDE
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.node import FREED
from gradtrace.engine.operators.namespace import ARRAY, SCALAR, PlainTerm, Term, formula
from gradtrace.engine.operators.op import FLOAT_TRAPS
from gradtrace.engine.reverse.evaluate import interpret

if TYPE_CHECKING:
    from gradtrace.engine.data.gradient_types import NodeGradient, Pairs
    from gradtrace.engine.data.node import Node
    from gradtrace.engine.reverse.plan import BackwardPlan

SIGNS: dict[str, type[ast.operator]] = {
    "add": ast.Add,
    "subtract": ast.Sub,
    "multiply": ast.Mult,
    "true_divide": ast.Div,
}
LOAD = ast.Load()


def compile_function(
    name: str, parameters: list[str], body: list[ast.stmt], namespace: dict[str, Any]
) -> Callable[..., Any]:
    """Return a function with these parameters and this body, which use only generated names. It has
    no built-ins.
    """
    arguments = ast.arguments(
        [], [ast.arg(parameter) for parameter in parameters], None, [], [], None, []
    )
    function = ast.FunctionDef("compiled", arguments, body or [ast.Pass()], [])
    if hasattr(function, "type_params"):
        function.type_params = []
    module = ast.fix_missing_locations(ast.Module([function], []))
    namespace["__builtins__"] = {}
    exec(compile(module, f"<{name}>", "exec"), namespace)
    return namespace["compiled"]


# ---- statements


class Writer:
    """A writer of the statements that compute terms; `namespace` has the objects that they refer to
    by name.
    """

    def __init__(self, floats: bool) -> None:
        self.floats = floats
        self.body: list[ast.stmt] = []
        self.namespace: dict[str, Any] = {}
        self.temporaries: set[str] = set()
        self.used: set[str] = set()  # the operands that the statements need

    def expression(self, term: Term | float) -> ast.expr:
        """Return the expression for a term; add the statements that compute its parts first, if any
        are needed.
        """
        if not isinstance(term, Term):
            return self.constant(term) if self.floats else self.bound(np.asarray(term, np.float64))
        operation = term.operation
        if not term.operands:
            self.used.add(operation)
            return name(operation)
        if callable(operation):
            parts = [
                self.expression(o) if isinstance(o, Term) else self.constant(o)
                for o in term.operands
            ]
            if self.floats:
                return ast.Call(self.bound(operation), parts, [])
            return self.assign(self.bound(operation), parts, isinstance(operation, np.ufunc))
        plain = isinstance(term, PlainTerm)
        parts = [
            self.constant(o) if plain and not isinstance(o, Term) else self.expression(o)
            for o in term.operands
        ]
        if self.floats or plain:
            return arithmetic(operation, parts)
        return self.assign(self.bound(getattr(np, operation)), parts, True)

    def assign(self, function: ast.expr, parts: list[ast.expr], into: bool) -> ast.expr:
        """Add a call, and return its variable: with `into` a temporary among its operands is reused
        for the result.
        """
        names = [part.id for part in parts if isinstance(part, ast.Name)]
        reusable = [n for n in names if into and n in self.temporaries]
        target = reusable[0] if reusable else f"t{len(self.body)}"
        if into:
            self.temporaries.add(target)
        self.body.append(
            assignment(target, ast.Call(function, [*parts, *map(name, reusable[:1])], []))
        )
        return name(target)

    def constant(self, value: float) -> ast.expr:
        """Return the expression for a Python number; code cannot spell inf and nan, so these get a
        name.
        """
        return ast.Constant(value) if value - value == 0 else self.bound(value)

    def bound(self, value: object) -> ast.expr:
        """Return a name for an object that the statements refer to."""
        for identifier, constant in self.namespace.items():
            if constant is value:
                return name(identifier)
        new = f"v{len(self.namespace)}"
        self.namespace[new] = value
        return name(new)


def name(identifier: str) -> ast.Name:
    """Return the expression that reads a variable."""
    return ast.Name(identifier, LOAD)


def field(owner: str, attribute: str) -> ast.Attribute:
    """Return the expression `owner.attribute`."""
    return ast.Attribute(name(owner), attribute, LOAD)


def assignment(target: str, value: ast.expr) -> ast.stmt:
    """Return the statement `target = value`."""
    return ast.Assign([ast.Name(target, ast.Store())], value)


def arithmetic(operation: str, parts: list[ast.expr]) -> ast.expr:
    """Return the expression for an arithmetic operation: "negative", or a key of SIGNS."""
    if operation == "negative":
        return ast.UnaryOp(ast.USub(), parts[0])
    return ast.BinOp(parts[0], SIGNS[operation](), parts[1])


def is_same(value: ast.expr, expected: ast.expr, unequal: bool = False) -> ast.expr:
    """Return the expression `value is expected`, or `value is not expected` if `unequal`."""
    return ast.Compare(value, [ast.IsNot() if unequal else ast.Is()], [expected])


NONE = ast.Constant(None)


# ---- the derivative of a node


def compile_derivative(
    plan: BackwardPlan, with_number: bool, data: int
) -> Callable[[Node, NodeGradient], Pairs]:
    """Return derivative(node, gradient) for nodes of the fast path.

    `data` is FLOATS, WIDE or OTHERS; `with_number`: the second operand is a number.
    """
    record = plan.record
    floats = data == FLOATS
    operands = ("x", "y")[: record.arity] + ("p",) * len(record.plain_names)
    writer = Writer(floats)
    guards: list[ast.expr] = []
    pairs: list[ast.expr] = []
    for i, rule in plan.rules:
        unless: list[tuple[Term, float]] = []
        term = None if data == OTHERS else formula(rule, operands, floats, unless)
        if term is not None:
            guards += [
                ast.Compare(writer.expression(t), [ast.Eq()], [writer.constant(n)])
                for t, n in unless
            ]
            value = writer.expression(term)
        else:
            writer.used.update((*operands, "out"))
            xp = writer.bound(SCALAR if floats else ARRAY)
            value = ast.Call(
                writer.bound(rule), [xp, name("g"), name("out"), *map(name, operands)], []
            )
        pairs.append(ast.Tuple([field("node", "edge_b" if i else "edge_a"), value], LOAD))
    body: list[ast.stmt] = [
        *interpret_if_any(fallback_conditions(plan, writer.used)),
        *load_statements(plan, with_number, data == WIDE, writer.used),
        *interpret_if_any(guards),
        *writer.body,
        ast.Return(ast.Tuple(pairs, LOAD)),
    ]
    writer.namespace.update(FREED=FREED, TRAPS=FLOAT_TRAPS, interpret=interpret)
    if floats:
        body = [ast.Try(body, [ast.ExceptHandler(name("TRAPS"), None, [interpreted()])], [], [])]
    return compile_function(f"derivative of {record.name}", ["node", "g"], body, writer.namespace)


def interpreted() -> ast.stmt:
    """Return the statement that returns the interpreter's result instead."""
    return ast.Return(ast.Call(name("interpret"), [name("node"), name("g")], []))


def interpret_if_any(conditions: list[ast.expr]) -> list[ast.stmt]:
    """Return the statements that return the interpreter's result if one of the conditions holds."""
    return [ast.If(condition, [interpreted()], []) for condition in conditions]


OPERANDS = ((1, "x", "saved_a", "edge_a"), (2, "y", "saved_b", "edge_b"))


def fallback_conditions(plan: BackwardPlan, used: set[str]) -> list[ast.expr]:
    """Return the conditions under which a node needs the full check: saved values were freed or may
    have changed.
    """
    conditions = [is_same(field("node", "extras"), NONE, unequal=True)]
    if plan.saves:
        # release() stores FREED in saved_a, whichever values were saved.
        conditions.insert(0, is_same(field("node", "saved_a"), name("FREED")))
    for bit, operand, _, edge in OPERANDS:
        if operand in used and plan.raw_mask & bit:
            conditions.append(
                is_same(ast.Attribute(field("node", edge), "extras", LOAD), NONE, unequal=True)
            )
    return conditions


def load_statements(
    plan: BackwardPlan, with_number: bool, wide: bool, used: set[str]
) -> list[ast.stmt]:
    """Return the statements that load saved values, or call the interpreter if a tensor has left
    the fast path.
    """
    loads = [assignment("out", field("node", "out"))] if "out" in used else []
    for bit, operand, slot, _ in OPERANDS:
        if operand not in used:
            continue
        loads.append(assignment(operand, field("node", slot) if plan.saved_mask & bit else NONE))
        if not plan.saved_mask & bit or plan.raw_mask & bit:
            continue
        if bit == 1 or not with_number:
            loads += [
                *interpret_if_any([is_same(field(operand, "_fast_spec"), NONE)]),
                assignment(operand, field(operand, "_data")),
            ]
        elif wide:
            # numpy would convert the number in each operation, which is slower.
            convert = ast.Attribute(field("node", "spec"), "number", LOAD)
            loads.append(assignment(operand, ast.Call(convert, [name(operand)], [])))
    if "p" in used:
        loads.append(
            assignment("p", ast.Subscript(field("node", "saved_b"), ast.Constant(0), LOAD))
        )
    return loads
