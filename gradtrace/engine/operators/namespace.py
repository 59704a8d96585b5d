"""The array namespaces on which a derivative rule can run.

    SCALAR   Python floats, through the records' scalar kernels (falling back to 0-d arrays)
    ARRAY    numpy arrays, through the records' kernels; nothing is recorded
    TRACED   Tensors, through the records themselves: create_graph

A fourth namespace works on terms, and gives a rule's formula for compilation
(`reverse/compile.py`).

A rule is `rule(xp, g, out, *operands)`, where `xp` is a namespace. `xp.NAME` calls the operator
record of that name, with the record's positional arguments.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, Callable
from gradtrace.engine.data.higher import higher
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import normalise
from gradtrace.engine.operators.op import FLOAT_TRAPS, Op, records

if TYPE_CHECKING:
    from gradtrace.engine.data.types import Kernel, Raw


class _Namespace:
    """Looks up the record of a name on first use and caches the function made from it."""

    def __getattr__(self, name: str) -> Kernel:
        record = records.get(name)
        if record is None:
            higher["load"](name)
            record = records[name]
        kernel = self.make(record)
        setattr(self, name, kernel)
        return kernel

    def make(self, record: Op) -> Kernel:
        raise NotImplementedError


class _Traced(_Namespace):
    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Op: ...

    def make(self, record: Op) -> Kernel:
        return record


class _Array(_Namespace):
    def make(self, record: Op) -> Kernel:
        kernel: Kernel = record.kernel
        arity = record.arity
        if (
            not arity
            or record.variadic
            or (record.promote is not None and type(record._kernel) is str)
        ):
            return kernel
        if record.promote is not None:

            def on_mixed(*args: Raw) -> Any:
                if float in map(type, args):  # a saved scalar; gradtrace's kernels expect arrays
                    args = tuple(
                        np.asarray(a) if type(a) is float and i < arity else a
                        for i, a in enumerate(args)
                    )
                return kernel(*args)

            return on_mixed

        if arity == 1:

            def on_array(a: object, *plain: object) -> Any:
                return kernel(a if type(a) is np.ndarray else np.asarray(a), *plain)

            return on_array

        def on_arrays(a: object, b: object, *rest: object) -> Any:
            if arity == 2 and type(a) is np.ndarray and type(b) is np.ndarray:
                return kernel(a, b, *rest)
            args = (a, b, *rest)
            return kernel(
                *(np.asarray(x) if i < arity and x is not None else x for i, x in enumerate(args))
            )

        return on_arrays


class _Scalar(_Namespace):
    def make(self, record: Op) -> Kernel:
        scalar = record.scalar

        def on_floats(*args: object) -> Any:
            if scalar is not None:
                try:
                    return scalar(*args)
                except FLOAT_TRAPS:
                    pass
            # Only here, because this imports numpy.
            own = (
                np.float64(a) if type(a) is float and i < record.arity else a
                for i, a in enumerate(args)
            )
            return normalise(getattr(ARRAY, record.name)(*own))

        return on_floats


ARRAY = _Array()
SCALAR = _Scalar()
TRACED = _Traced()


# ---- rules as formulas


class NoFormula(Exception):
    """Raised when a rule does something that a formula cannot express, such as a comparison of
    values.
    """


class Term:
    """A value in a formula: a name, or an operation on terms and numbers.

    `operation` is a name, one of SIGNS, "negative", or the function that is called.
    """

    __slots__ = ("dtype", "operands", "operation")
    __array_ufunc__ = None  # numpy must not take it as an object to work on
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, operation: Any, operands: tuple[Any, ...] = (), dtype: Any = None) -> None:
        self.operation = operation
        self.operands = operands
        if dtype is not None:  # without it a term has none, like a float
            self.dtype = dtype

    def apply(self, operation: Any, *operands: Any) -> Term:
        """Return the term for an operation on `operands`, one of which is this term."""
        if not all(isinstance(o, Term) or type(o) in (float, int) for o in operands):
            raise NoFormula
        if all(isinstance(o, PlainTerm) or type(o) in (float, int) for o in operands):
            return PlainTerm(
                operation, operands, next(o.unless for o in operands if isinstance(o, PlainTerm))
            )
        return Term(operation, operands, getattr(self, "dtype", None))

    def __add__(self, other: Any) -> Term:
        return self.apply("add", self, other)

    def __radd__(self, other: Any) -> Term:
        return self.apply("add", other, self)

    def __sub__(self, other: Any) -> Term:
        return self.apply("subtract", self, other)

    def __rsub__(self, other: Any) -> Term:
        return self.apply("subtract", other, self)

    def __mul__(self, other: Any) -> Term:
        return self.apply("multiply", self, other)

    def __rmul__(self, other: Any) -> Term:
        return self.apply("multiply", other, self)

    def __truediv__(self, other: Any) -> Term:
        return self.apply("true_divide", self, other)

    def __rtruediv__(self, other: Any) -> Term:
        return self.apply("true_divide", other, self)

    def __neg__(self) -> Term:
        return self.apply("negative", self)

    def refuse(self, *_: Any) -> Any:
        raise NoFormula

    __bool__ = __float__ = __int__ = __index__ = __iter__ = __getitem__ = __pow__ = __rpow__ = (
        __abs__
    ) = refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __call__ = refuse


class PlainTerm(Term):
    """A term for a plain argument (a number), or for an expression of plain arguments alone.

    A rule may compare it with a number. The formula then assumes that they differ, and `unless`
    lists the pairs (term, number) for which the formula is wrong if they are equal.
    """

    __slots__ = ("unless",)
    __hash__ = None

    def __init__(
        self, operation: Any, operands: tuple[Any, ...], unless: list[tuple[Term, float]]
    ) -> None:
        super().__init__(operation, operands)
        self.unless = unless

    def __eq__(self, other: object) -> bool:
        if type(other) not in (float, int):
            raise NoFormula
        self.unless.append((self, other))  # type: ignore[arg-type]
        return False


class TermNamespace:
    """The namespace `xp` of terms: its functions return terms. A kernel that has a formula itself
    is inlined.
    """

    def __init__(self, floats: bool, unless: list[tuple[Term, float]]) -> None:
        self.floats = floats
        self.unless = unless

    def __getattr__(self, name: str) -> Callable[..., Term]:
        if name not in records:
            getattr(ARRAY, name)  # loads the family that has it
        record = records[name]

        def call(*operands: Any) -> Term:
            kernel = self.kernel(record)
            inlined = self.inlined(kernel, operands) if hasattr(kernel, "__code__") else None
            if inlined is not None:
                return inlined
            return next(o for o in operands if isinstance(o, Term)).apply(kernel, *operands)

        return call

    def inlined(self, kernel: Callable[..., Any], operands: tuple[Any, ...]) -> Term | None:
        """Return the formula of a kernel, or None if it has no formula that holds for all
        numbers.
        """
        count = len(self.unless)
        term = attempt(kernel, operands)
        if len(self.unless) > count:
            del self.unless[count:]
            return None
        return term

    def kernel(self, record: Op) -> Any:
        if not self.floats:
            return record.wide
        if record.scalar is None:
            raise NoFormula
        return record.scalar


def attempt(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Term | None:
    """Call a rule or a kernel with terms, and return its formula; None if it has no formula."""
    try:
        term = function(*arguments)
    except (NoFormula, TypeError, AttributeError, ValueError):
        return None
    return term if isinstance(term, Term) else None


def formula(
    rule: Callable[..., Any],
    operands: tuple[str, ...],
    floats: bool,
    unless: list[tuple[Term, float]],
) -> Term | None:
    """Return the formula of `rule(xp, g, out, *operands)` as a term, or None. An operand "p" is a
    plain argument.
    """
    dtype = None if floats else np.dtype(np.float64)
    terms = [
        PlainTerm(n, (), unless) if n == "p" else Term(n, (), dtype)
        for n in ("g", "out", *operands)
    ]
    return attempt(rule, (TermNamespace(floats, unless), *terms))
