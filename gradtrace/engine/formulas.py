"""Derivative rules as program text: a rule is called with terms in place of values, and the result tells its formula.

`hot.py` writes the steps of backward from these formulas, so that a step is one Python function without the calls of a
rule, of its namespace's names and of their fallbacks. A rule that asks about values (a comparison, a branch) has no
formula; then it is called as it is.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Callable
from gradtrace.engine.lazy import np
from gradtrace.engine.namespace import ARRAY
from gradtrace.engine.op import Op, records

SIGNS = {"+": "add", "-": "subtract", "*": "multiply", "/": "true_divide"}


class NoFormula(Exception):
    """The rule does something else than arithmetic and calls by name."""


class Term:
    """A value in a formula: a name, a number, or an operation on terms."""

    __slots__ = ("dtype", "operands", "operation")
    __array_ufunc__ = None  # numpy must not take it for an object to work on
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, operation: Any, operands: tuple[Any, ...] = (), dtype: Any = None) -> None:
        self.operation = operation  # a name, a sign, "neg", or the function that is called
        self.operands = operands
        if dtype is not None:  # without it a term has none, like a float
            self.dtype = dtype

    def made(self, operation: Any, *operands: Any) -> Term:
        if any(isinstance(o, Plain) for o in operands) and all(isinstance(o, (Plain, float, int)) for o in operands):
            parts = [o.operation if isinstance(o, Plain) else repr(o) for o in operands]
            never = next(o.never for o in operands if isinstance(o, Plain))
            return Plain(f"({parts[0]} {operation} {parts[1]})" if len(parts) == 2 else f"(-{parts[0]})", never)
        if not all(isinstance(o, Term) or type(o) in (float, int) for o in operands):
            raise NoFormula
        return Term(operation, operands, getattr(self, "dtype", None))

    def called(self, function: Callable[..., Any], operands: tuple[Any, ...]) -> Term:
        """A call by name, of which this term is an operand."""
        if not all(isinstance(o, (Term, float, int)) for o in operands):
            raise NoFormula
        return Term(function, operands, getattr(self, "dtype", None))

    def __add__(self, other: Any) -> Term:
        return self.made("+", self, other)

    def __radd__(self, other: Any) -> Term:
        return self.made("+", other, self)

    def __sub__(self, other: Any) -> Term:
        return self.made("-", self, other)

    def __rsub__(self, other: Any) -> Term:
        return self.made("-", other, self)

    def __mul__(self, other: Any) -> Term:
        return self.made("*", self, other)

    def __rmul__(self, other: Any) -> Term:
        return self.made("*", other, self)

    def __truediv__(self, other: Any) -> Term:
        return self.made("/", self, other)

    def __rtruediv__(self, other: Any) -> Term:
        return self.made("/", other, self)

    def __neg__(self) -> Term:
        return self.made("neg", self)

    def refuse(self, *_: Any) -> Any:
        raise NoFormula

    __bool__ = __float__ = __int__ = __index__ = __iter__ = __getitem__ = __pow__ = __rpow__ = __abs__ = refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __call__ = refuse


class Plain(Term):
    """A plain argument, a number: what is computed of it is one too. It may be compared with a number.

    The formula is that for unequal numbers; `never` gets the comparisons for which it is therefore not good.
    """

    __slots__ = ("never",)
    __hash__ = None

    def __init__(self, text: str, never: list[str]) -> None:
        super().__init__(text)
        self.never = never

    def __eq__(self, other: object) -> bool:
        if type(other) not in (float, int):
            raise NoFormula
        self.never.append(f"{self.operation} == {other!r}")
        return False


class Names:
    """Stands for `xp`: its names make terms; a kernel that is itself a formula becomes part of the rule's."""

    def __init__(self, floats: bool, never: list[str]) -> None:
        self.floats = floats
        self.never = never

    def __getattr__(self, name: str) -> Callable[..., Term]:
        if name not in records:
            getattr(ARRAY, name)  # which loads the family that has it
        record = records[name]

        def call(*operands: Any) -> Term:
            kernel = self.kernel(record)
            made = self.inlined(kernel, operands) if hasattr(kernel, "__code__") else None
            if made is not None:
                return made
            return next(o for o in operands if isinstance(o, Term)).called(kernel, operands)

        return call

    def inlined(self, kernel: Callable[..., Any], operands: tuple[Any, ...]) -> Term | None:
        """The formula of a kernel, if it has one that holds for all numbers."""
        known = len(self.never)
        try:
            made = kernel(*operands)
        except (NoFormula, TypeError, AttributeError, ValueError):
            made = None
        if len(self.never) == known:
            return made if isinstance(made, Term) else None
        del self.never[known:]
        return None

    def kernel(self, record: Op) -> Any:
        if not self.floats:
            return record.wide
        if record.scalar is None:
            raise NoFormula
        return record.scalar


def formula(rule: Callable[..., Any], names: tuple[str, ...], floats: bool, never: list[str]) -> Term | None:
    """The rule of (g, out, *names) as a term; None where it has none. `floats`: on Python's, else on float64 arrays.

    A name "p" is a plain argument. `never` gets the conditions on it under which the formula does not hold.
    """
    dtype = None if floats else np.dtype(np.float64)
    terms = [Plain(name, never) if name == "p" else Term(name, (), dtype) for name in ("g", "out", *names)]
    try:
        found = rule(Names(floats, never), *terms)
    except (NoFormula, TypeError, AttributeError, ValueError):
        return None
    return found if isinstance(found, Term) else None


class Writer:
    """Writes terms as lines of Python; `values` gets what the lines refer to by name."""

    def __init__(self, floats: bool, values: dict[str, Any]) -> None:
        self.floats = floats
        self.values = values
        self.lines: list[str] = []
        self.temporaries: set[str] = set()
        self.used: set[str] = set()  # the operands that the lines need

    def write(self, term: Any) -> str:
        """The expression for a term, after lines for its parts where it needs some."""
        if not isinstance(term, Term):
            return self.number(term)
        operation = term.operation
        if isinstance(term, Plain):
            self.used.add("p")
            return operation
        if not term.operands:
            self.used.add(operation)
            return operation
        if not callable(operation):
            parts = [self.write(operand) for operand in term.operands]
            return self.in_signs(operation, parts) if self.floats else self.in_calls(operation, parts)
        parts = [self.write(o) if isinstance(o, Term) else self.literal(o) for o in term.operands]
        name = self.bound(operation)
        if self.floats:
            return f"{name}({', '.join(parts)})"
        return self.call(name, parts, isinstance(operation, np.ufunc))

    def in_signs(self, sign: str, parts: list[str]) -> str:
        return f"(-{parts[0]})" if sign == "neg" else f"({parts[0]} {sign} {parts[1]})"

    def in_calls(self, sign: str, parts: list[str]) -> str:
        return self.call(self.bound(getattr(np, "negative" if sign == "neg" else SIGNS[sign])), parts, True)

    def call(self, name: str, parts: list[str], into: bool) -> str:
        """A call whose result goes into a temporary among its operands (`into`), or is a new one."""
        target = next((part for part in parts if part in self.temporaries), None) if into else None
        if target is not None:
            self.lines.append(f"{target} = {name}({', '.join([*parts, target])})")
        else:
            target = f"t{len(self.lines)}"
            self.lines.append(f"{target} = {name}({', '.join(parts)})")
            if into:
                self.temporaries.add(target)
        return target

    def number(self, value: Any) -> str:
        return self.literal(value) if self.floats else self.bound(np.asarray(value, np.float64))

    def literal(self, value: Any) -> str:
        return repr(value) if value - value == 0 else self.bound(value)

    def bound(self, value: Any) -> str:
        """A name for a value that the lines refer to."""
        for name, known in self.values.items():
            if known is value:
                return name
        name = f"v{len(self.values)}"
        self.values[name] = value
        return name
