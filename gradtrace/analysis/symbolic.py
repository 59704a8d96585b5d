"""The chain rule of a scalar expression with names, as one would derive it by hand; sympy does the
algebra.

    dy/dw = dy/da da/dw + dy/db db/dw
          = b*1 + a*1
          = (w + 1) + (w + x)
          = 2w + x + 1
          = 2*1 + 2 + 1
          = 5

Results without a variable get a letter as name. Each step is kept as text and as LaTeX.
"""

from __future__ import annotations

import re
from functools import cache

from gradtrace.analysis import paths as ways
from gradtrace.annotations import Any, Callable, Iterator, NamedTuple
from gradtrace.engine.operators.op import Op
from gradtrace.engine.operators.tables import function_table
from gradtrace.errors import UsageError
from gradtrace.trace.operands import record_of
from gradtrace.trace.record import Operation, TensorRecord, Trace

LETTERS = "abcdefghijklmnopqrstuvwxyz"
ROOTS = ("y", "z", "f")
FEW = 24  # paths that can be written on a page
# of a name, not of a function's call
FACTOR = re.compile(r"(?<![\w.*])(\d+(?:\.\d+)?)\*(?=[A-Za-z]\w*+(?!\())")


class Line(NamedTuple):
    """One step of a derivation."""

    text: str
    latex: str


class Derivation(NamedTuple):
    """The derivative of `root` with respect to `leaf`: definitions of the names, then the steps,
    each equal to the one before.
    """

    root: str
    leaf: str
    head: Line  # "dy/dw"
    definitions: tuple[Line, ...]
    steps: tuple[Line, ...]
    point: tuple[tuple[str, str], ...]  # the values of the leaves


def derive(trace: Trace, root: TensorRecord | None, leaf: TensorRecord) -> Derivation:
    """Return the derivation of one gradient. UsageError if a tensor is not a scalar, or if an
    operator has no formula.
    """
    sympy = library()
    listing = ways.paths(trace, root, leaf, FEW)
    if listing.ways > FEW:
        raise UsageError(
            f"--symbolic: {listing.ways:,} paths are too many to write out",
            "leave it out: they are grouped",
        )
    start = next(t for t in trace.tensors if t.label == listing.root) if root is None else root
    book = Book(trace, start, sympy)
    if not listing.ways:
        zero = Line("0", "0")
        return Derivation(
            book.names[start.id],
            book.names[leaf.id],
            book.ratio(start.id, leaf.id),
            book.definitions(),
            (zero,),
            (),
        )
    routes = [book.route(path, start) for path in listing.paths]
    locals_ = [[book.local(a, b, occurrence) for a, b, occurrence in route] for route in routes]
    products = [sympy.Mul(*(book.in_leaves(e) for e in local)) for local in locals_]
    total = shortest(sympy, sympy.Add(*products))
    point = book.point()
    steps = [
        Line(
            " + ".join(" ".join(book.ratio(a, b).text for a, b, _ in route) for route in routes),
            " + ".join(" ".join(book.ratio(a, b).latex for a, b, _ in route) for route in routes),
        ),
        Line(
            " + ".join("*".join(part(e) for e in local) for local in locals_),
            " + ".join(r" \cdot ".join(latex_part(sympy, e) for e in local) for local in locals_),
        ),
        added(sympy, products),
        Line(text(total), sympy.latex(total)),
    ]
    numbers = with_numbers(str(total), point)
    steps += (
        []
        if numbers is None
        else [
            Line(
                numbers, numbers.replace("**", "^").replace("*", r" \cdot ").replace("σ", r"\sigma")
            )
        ]
    )
    value = f"{float(total.subs({sympy.Symbol(n): sympy.Float(v, 17) for n, v in point})):.6g}"
    steps.append(Line(value, value))
    distinct = [s for i, s in enumerate(steps) if not i or s.text != steps[i - 1].text]
    return Derivation(
        book.names[start.id],
        book.names[leaf.id],
        book.ratio(start.id, leaf.id),
        book.definitions(),
        tuple(distinct),
        tuple((n, f"{v:.6g}") for n, v in point),
    )


def library() -> Any:
    try:
        import sympy
    except ImportError:
        raise UsageError("--symbolic needs sympy", "pip install 'gradtrace[symbolic]'") from None
    return sympy


class Book:
    """The names and formulas of the tensors that a root is computed from."""

    def __init__(self, trace: Trace, root: TensorRecord, sympy: Any) -> None:
        self.trace = trace
        self.sympy = sympy
        self.root = root
        self.formulas: dict[int, Any] = {}
        self.used: list[tuple[int, int, int]] = []  # the operands that routes went through
        self.needed = self._needed()
        self.names = self._names()
        self.symbols = {i: sympy.Symbol(name) for i, name in self.names.items()}
        self.full: dict[int, Any] = {}
        for i in self.needed:
            self._enter(i)

    def _needed(self) -> list[int]:
        """The tensors that the root is computed from, in order of creation, itself last."""
        seen: set[int] = set()
        waiting = [self.root.id]
        while waiting:
            i = waiting.pop()
            if i not in seen:
                seen.add(i)
                operation = self.trace.tensors[i].operation
                waiting += () if operation is None else self.trace.operations[operation].tensors
        return sorted(seen)

    def _names(self) -> dict[int, str]:
        names = {i: self.trace.tensors[i].name for i in self.needed}
        taken = {name for name in names.values() if name}
        spare = iter(
            [c for c in LETTERS if c not in taken | set(ROOTS)]
            + [f"v{i}" for i in range(len(self.needed))]
        )
        tops = [c for c in ROOTS if c not in taken]
        for i in self.needed:
            record = self.trace.tensors[i]
            if names[i] is None and record.operation is None:
                names[i] = record.label
            elif names[i] is None:
                names[i] = tops[0] if i == self.root.id and tops else next(spare)
        return {i: name or "" for i, name in names.items()}

    def _enter(self, tensor: int) -> None:
        """The formula of a tensor: over the names of its operands, and over the leaves'."""
        record = self.trace.tensors[tensor]
        if record.value is not None and record.value.numel != 1:
            raise UsageError(
                f"--symbolic derives scalars, and {record.label} has the shape "
                f"{record.value.shape}",
                "leave it out, or take single numbers",
            )
        if record.operation is None:
            constant = number(self.sympy, record.label) if record.name is None else None
            self.full[tensor] = self.symbols[tensor] if constant is None else constant
            if constant is not None:
                self.symbols[tensor] = constant
            return
        operation = self.trace.operations[record.operation]
        self.formulas[tensor] = self.formula(operation, lambda i: self.symbols[i])
        self.full[tensor] = self.formula(operation, lambda i: self.full[i])

    def formula(
        self, operation: Operation, of: Callable[[int], Any], place: int | None = None
    ) -> Any:
        """Return the operation's formula over its operands; the operand at `place` is the symbol
        `_`.
        """
        rule = formula_of(operation.name.rstrip("_"))
        if rule is None:
            raise UsageError(
                f"--symbolic has no formula for {operation.name}",
                "leave it out: the paths have the numbers",
            )
        arguments = []
        for operand in operation.inputs:
            if operand.tensor is not None:
                arguments.append(
                    self.sympy.Symbol("_") if operand.position == place else of(operand.tensor)
                )
                continue
            constant = number(self.sympy, operand.text)
            if constant is None:
                raise UsageError(
                    f"--symbolic has no formula for {operation.name} with {operand.text}"
                )
            arguments.append(constant)
        try:
            return rule(self.sympy, *arguments)
        except (TypeError, ValueError):
            raise UsageError(f"--symbolic has no formula for {operation.label}") from None

    # ---- along a path

    def route(self, path: ways.Path, start: TensorRecord) -> list[tuple[int, int, int]]:
        """Return a path as (tensor, operand, place of the operand); the place distinguishes the two
        x of x*x.
        """
        at = start.id
        edges = []
        for factor in path.factors:
            operation = self.trace.operations[self.trace.tensors[at].operation or 0]
            same = [
                o
                for o in operation.inputs
                if o.tensor is not None and self.trace.tensors[o.tensor].label == factor.by
            ]
            seen = (
                sum(1 for a, b, _ in self.used if a == at and b == same[0].tensor)
                if len(same) > 1
                else 0
            )
            operand = same[seen % len(same)]
            edges.append((at, operand.tensor or 0, operand.position))
            self.used.append(edges[-1])
            at = operand.tensor or 0
        return edges

    def local(self, of: int, by: int, place: int) -> Any:
        """Return the derivative of a tensor by one of its operands, as an expression with names."""
        operation = self.trace.operations[self.trace.tensors[of].operation or 0]
        whole = self.formula(operation, lambda i: self.symbols[i], place)
        blank = self.sympy.Symbol("_")
        return self.sympy.diff(whole, blank).subs(blank, self.symbols[by])

    def in_leaves(self, expression: Any) -> Any:
        """Return an expression with the names of results replaced by their formulas over the
        leaves.
        """
        return expression.subs(
            {self.symbols[i]: self.full[i] for i in self.formulas}, simultaneous=True
        )

    # ---- writing

    def ratio(self, of: int, by: int) -> Line:
        a = self.names[of]
        b = self.names[by]
        return Line(f"d{a}/d{b}", rf"\frac{{\partial {a}}}{{\partial {b}}}")

    def definitions(self) -> tuple[Line, ...]:
        return tuple(
            Line(f"{self.names[i]} = {text(f)}", f"{self.names[i]} = {self.sympy.latex(f)}")
            for i, f in self.formulas.items()
        )

    def point(self) -> list[tuple[str, float]]:
        leaves = [self.trace.tensors[i] for i in self.needed if i not in self.formulas]
        return [
            (self.names[t.id], float(scalar(t)))
            for t in leaves
            if t.name is not None and t.value is not None
        ]


def scalar(record: TensorRecord) -> float:
    assert record.value is not None
    data = record.value.data
    return float(data) if not record.value.shape else float(data.reshape(-1)[0])


def number(sympy: Any, source: str) -> Any:
    """Return a constant of the source as an exact number; None if it is not a number."""
    try:
        return sympy.Rational(source.removeprefix("alpha=").replace(" ", ""))
    except (TypeError, ValueError):
        return None


def shortest(sympy: Any, total: Any) -> Any:
    """Return the form of the total with the fewest operations: as it is, expanded, factored or
    simplified.
    """
    forms: Iterator[Any] = (
        form(total) for form in (lambda e: e, sympy.expand, sympy.simplify, sympy.factor)
    )
    return min(forms, key=lambda e: (sympy.count_ops(e), len(str(e))))


def text(expression: Any) -> str:
    """Return an expression as text: "2w + x + 1"."""
    return FACTOR.sub(r"\1", str(expression))


def part(expression: Any) -> str:
    """Return an expression as a factor of a product."""
    shown = text(expression)
    return f"({shown})" if re.search(r"[+\-/]", shown) else shown


def added(sympy: Any, terms: list[Any]) -> Line:
    """Return the sum of the terms as text, with parentheses around terms that are sums."""
    if len(terms) == 1:
        return Line(text(terms[0]), sympy.latex(terms[0]))
    shown = " + ".join(f"({text(t)})" if t.is_Add else text(t) for t in terms)
    latex = " + ".join(latex_part(sympy, t) for t in terms)
    return Line(shown.replace("+ -", "- "), latex.replace("+ -", "- "))


def latex_part(sympy: Any, expression: Any) -> str:
    shown = str(sympy.latex(expression))
    return rf"\left({shown}\right)" if expression.is_Add else shown


def with_numbers(expression: str, point: list[tuple[str, float]]) -> str | None:
    """Return the expression with values in place of names; None if a name has no value."""
    values = {name: f"{value:.6g}" if value >= 0 else f"({value:.6g})" for name, value in point}
    missing = [n for n in re.findall(r"[A-Za-z_]\w*(?!\w*\()", expression) if n not in values]
    if missing:
        return None
    shown = re.sub(r"[A-Za-z_]\w*(?!\w*\()", lambda m: values[m.group()], expression)
    return re.sub(r"\((\([^()]*\))\)", r"\1", shown)  # sin((-1))


@cache
def logistic(sympy: Any) -> Any:
    """Return the logistic function, whose derivative is written σ(x)*(1 - σ(x))."""

    def differentiate(self: Any, argindex: int = 1) -> Any:
        return self * (1 - self)

    def evaluate(cls: Any, x: Any) -> Any:
        return 1 / (1 + sympy.exp(-x)) if x.is_Number else None

    def latex(self: Any, printer: Any, exp: str | None = None) -> str:
        power = f"^{{{exp}}}" if exp else ""
        return rf"\sigma{power}\left({printer.doprint(self.args[0])}\right)"

    members = {"fdiff": differentiate, "eval": classmethod(evaluate), "_latex": latex}
    return type("σ", (sympy.Function,), members)


# Public functions that stand on the record of another, or on several.
FUNCTIONS: dict[str, Callable[..., Any]] = function_table(
    "analysis.symbolic.FUNCTIONS",
    {
        "square": lambda s, a: a**2,
        "squeeze": lambda s, a: a,
        "sigmoid": lambda s, a: logistic(s)(a),
    },
)


def formula_of(name: str) -> Callable[..., Any] | None:
    """Return an operator's formula as a function of sympy and of the operands' expressions."""
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    record = record_of(name)
    if record is None:
        return None
    if record.identity or record.kind == "view":  # of single numbers
        return lambda s, *operands: operands[
            record.tensor_names.index(record.identity or record.tensor_names[0])
        ]
    return of_record(record)


def of_record(record: Op) -> Callable[..., Any] | None:
    """Return the formula that a record has for sympy, in its field `symbolic`."""
    written = record.symbolic
    if isinstance(written, str):
        return lambda s, *operands: getattr(s, written)(*operands)
    if written is True:
        return lambda s, *operands: s.sympify(
            record.formula, dict(zip(record.tensor_names, operands, strict=True))
        )
    return written or None
