"""Python's operators on a program's values; those that could exceed the budget in one step are checked first.

Each operator is a triple `(direct, apply, guarded)`: if the exact type of the left operand is in `direct`, `apply` is
called; otherwise `guarded`, which checks the operands first. Tensors and floats cost one set lookup, and strings, lists
and huge integers cannot exhaust the memory.
"""

from __future__ import annotations

import _operator as operator  # operator takes 0.4 ms to import

from gradtrace.annotations import Any, Callable, NamedTuple
from gradtrace.engine.data.tensor import Tensor
from gradtrace.lang.budget import AN_ITEM, MANY, Meter
from gradtrace.lang.costs import (
    SETS,
    SIZED,
    VIEWS,
    WORD,
    charge_hashing,
    charge_made,
    charge_search,
    charge_slice,
    holds_much,
    length_of,
    parts_of,
)
from gradtrace.lang.hash_cost import charge_items, charge_key
from gradtrace.lang.known_classes import class_at
from gradtrace.lang.strings import Strings
from gradtrace.lang.subscripts import get_from_tensor, is_data
from gradtrace.lang.values import Attributes, named
from gradtrace.program import syntax as ast

Binary = Callable[[Any, Any], Any]

# The operators by their names in Python's module `operator`, where those in place have an `i` before the name.
OPERATORS: dict[str, type] = {
    "add": ast.Add,
    "sub": ast.Sub,
    "mul": ast.Mult,
    "truediv": ast.Div,
    "floordiv": ast.FloorDiv,
    "mod": ast.Mod,
    "pow": ast.Pow,
    "matmul": ast.MatMult,
    "and_": ast.BitAnd,
    "or_": ast.BitOr,
    "xor": ast.BitXor,
    "lshift": ast.LShift,
    "rshift": ast.RShift,
}
COMPARISONS: dict[str, type] = {
    "eq": ast.Eq,
    "ne": ast.NotEq,
    "lt": ast.Lt,
    "le": ast.LtE,
    "gt": ast.Gt,
    "ge": ast.GtE,
}
BINARY: dict[type, Binary] = {kind: getattr(operator, name) for name, kind in OPERATORS.items()}
INPLACE: dict[type, Binary] = {kind: getattr(operator, "i" + name.rstrip("_")) for name, kind in OPERATORS.items()}
UNARY: dict[type, Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}
COMPARE: dict[type, Binary] = {
    **{kind: getattr(operator, name) for name, kind in COMPARISONS.items()},
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}

NUMBERS = frozenset({Tensor, float, int, bool})
SEQUENCES = frozenset({str, list, tuple})
HOLDERS = frozenset({list, tuple, dict, set, frozenset})
CONTAINERS = (*HOLDERS, Attributes)
ARRAY = "gradtrace.lang.arrays:Array"
SMALL = 1 << 64


# Operators that take linear time if the right operand is a small number.
LINEAR = frozenset({operator.mul, operator.imul, operator.floordiv, operator.ifloordiv, operator.mod, operator.imod})


class Guarded(NamedTuple):
    """An operator, the types of left operands that need no check, and the checked version for all others."""

    direct: frozenset[type]
    apply: Binary
    guarded: Binary

    def for_right_operand(self, right: Any) -> Guarded:
        """Return the operator for a constant right operand; one with a small number may need no check."""
        small = type(right) in (int, float) and abs(right) < SMALL
        return self._replace(direct=NUMBERS) if small and self.apply in LINEAR else self


def guarded_binary(kind: type, meter: Meter, strings: Strings, apply: Binary) -> Guarded:
    """Return the operator of an ast node type; `apply` is Python's operator, in-place or not."""
    if kind in (ast.Mod, ast.FloorDiv):
        return Guarded(FLOATING, apply, guard_division(kind, apply, meter, strings))
    direct, guard = GUARDS.get(kind, (NUMBERS, None))
    return Guarded(direct, apply, apply if guard is None else guard(apply, meter))


def guarded_comparison(kind: type, meter: Meter) -> Guarded:
    """Return the comparison of an ast node type, which charges for nested containers (exponential time)."""
    apply = COMPARE[kind]
    if kind in (ast.Is, ast.IsNot):
        return Guarded(NUMBERS, apply, apply)

    if kind in (ast.In, ast.NotIn):
        return Guarded(frozenset({float, int}), apply, guard_search(apply, meter))

    def compare(a: Any, b: Any) -> Any:
        kind = type(b)
        if kind is str:
            return apply(a, b)
        if isinstance(b, CONTAINERS) or hasattr(kind, "__dataclass_fields__") or kind is class_at("collections:deque"):
            charge_comparison(a, b, meter)
        elif kind in VIEWS:
            charge_items([a, b], meter)
        return apply(a, b)

    return Guarded(NUMBERS, apply, compare)


def guard_search(apply: Binary, meter: Meter) -> Binary:
    def search(a: Any, b: Any) -> Any:
        if type(a) is tuple:
            charge_key(a, meter)
        if type(b) is str:
            meter.count_text(len(b))
        elif type(a) in HOLDERS and isinstance(b, (list, tuple)):
            meter.count_items(len(b))
            for item in b:
                charge_comparison(a, item, meter)
        elif type(a) in HOLDERS and type(b) in (class_at("collections:deque"), type({}.values())):
            charge_items([a, *b], meter)
        elif type(b) not in SETS and type(b) is not dict:
            charge_search(a, b, meter)
        return apply(a, b)

    return search


def charge_comparison(a: Any, b: Any, meter: Meter) -> None:
    """Charge for all that Python's comparison may visit, if all items before it are equal."""
    todo, total = [(a, b)], 0
    while todo:
        a, b = todo.pop()
        if type(a) is not type(b) and not isinstance(a, tuple):
            continue
        if type(a) is str:
            total += len(a) >> 9
            continue
        pairs = pairs_of(a, b)
        if pairs is None:
            continue
        meter.count_steps(1)
        length = min(length_of(a), length_of(b))
        meter.count_items(length)
        total += length
        todo.extend((x, y) for x, y in pairs if x is not y and holds_much(x))
    if total > MANY:
        meter.foresee(total * AN_ITEM)


def pairs_of(a: Any, b: Any) -> Any:
    """Return the pairs of items that the comparison of two containers compares; None for other values."""
    if isinstance(a, dict) and isinstance(b, dict):
        return ((dict.get(a, key), dict.get(b, key)) for key in a if key in b) if len(a) == len(b) else None
    parts, others = parts_of(a), parts_of(b)
    return zip(parts[0], others[0]) if parts and others and not isinstance(a, SETS) else None


def guard_sets(apply: Binary, meter: Meter) -> Binary:
    def combine(a: Any, b: Any) -> Any:
        if type(a) in SIZED:
            charge_hashing(a, meter)
            charge_hashing(b, meter)
        return apply(a, b)

    return combine


def guard_division(kind: type, apply: Binary, meter: Meter, strings: Strings) -> Binary:
    def divide(a: Any, b: Any) -> Any:
        if isinstance(a, str) and kind is ast.Mod:
            return strings.percent(a, b)
        if isinstance(a, int) and not -SMALL < a < SMALL and isinstance(b, int):
            meter.count_division(a.bit_length(), b.bit_length())
        return apply(a, b)

    return divide


def guard_add(apply: Binary, meter: Meter) -> Binary:
    def add(a: Any, b: Any) -> Any:
        if type(a) in SEQUENCES and (type(a) is type(b) or type(a) is list):
            size = len(a) + length_of(b)
            if size > 4096 and (apply is operator.add or type(a) is str):
                charge_made(type(a), size, meter)
            elif size > 4096:  # in place
                meter.reserve(size * WORD)
                meter.count_items(length_of(b))
        return apply(a, b)

    return add


def guard_multiply(apply: Binary, meter: Meter) -> Binary:
    def multiply(a: Any, b: Any) -> Any:
        kinds = type(a), type(b)
        if kinds == (int, int):
            if not (-SMALL < a < SMALL and -SMALL < b < SMALL):
                meter.count_product(a.bit_length(), b.bit_length())
        elif kinds[0] in SEQUENCES and can_repeat(b):
            charge_repeated(a, operator.index(b), meter)
        elif kinds[1] in SEQUENCES and can_repeat(a):
            charge_repeated(b, operator.index(a), meter)
        return apply(a, b)

    return multiply


def can_repeat(value: Any) -> bool:
    """Return whether a sequence times this value repeats the sequence; tensors and arrays multiply its items."""
    kind = type(value)
    return hasattr(kind, "__index__") and kind is not Tensor and not (kind is class_at(ARRAY) and value.ndim)


def charge_repeated(sequence: Any, count: int, meter: Meter) -> None:
    charge_made(type(sequence), len(sequence) * max(count, 0), meter)


def guard_power(apply: Binary, meter: Meter) -> Binary:
    def raise_to_power(a: Any, b: Any) -> Any:
        if isinstance(a, int) and isinstance(b, int) and (b > 64 or not -SMALL < a < SMALL):
            meter.reserve_integer(a.bit_length() * b)
        return apply(a, b)

    return raise_to_power


def guard_shift(apply: Binary, meter: Meter) -> Binary:
    def shift(a: Any, b: Any) -> Any:
        if isinstance(a, int) and isinstance(b, int) and b > 64:
            meter.reserve_integer(a.bit_length() + b)
        return apply(a, b)

    return shift


FLOATING = frozenset({Tensor, float})
# The types of left operands that need no check, and what makes the check of the others.
GUARDS: dict[type, tuple[frozenset[type], Callable[[Binary, Meter], Binary]]] = {
    ast.Add: (NUMBERS, guard_add),
    ast.Mult: (FLOATING, guard_multiply),
    ast.Pow: (FLOATING, guard_power),
    ast.LShift: (frozenset({Tensor}), guard_shift),
    **dict.fromkeys((ast.BitOr, ast.BitAnd, ast.BitXor, ast.Sub), (NUMBERS, guard_sets)),
}


def item_reader(meter: Meter) -> Binary:
    """Return the function that reads an item, charged for the hash of a tuple and the copy of a slice."""

    def read(value: Any, key: Any) -> Any:
        if type(value) not in HOLDERS and is_data(type(value)):
            return get_from_tensor(value, key)
        if type(key) is tuple:
            charge_key(key, meter)
        elif type(key) is slice:
            charge_slice(value, key, meter)
        return value[key]

    return named(read, "getitem")


def operators_by_name(meter: Meter, strings: Strings) -> Callable[[str], Any]:
    """Return a function that maps names of the `operator` module to guarded operators, and other names to None."""

    def find_operator(name: str) -> Any:
        if name in OPERATORS:
            kind = OPERATORS[name]
            direct, apply, guarded = guarded_binary(kind, meter, strings, BINARY[kind])
        elif name in COMPARISONS or name == "in_":
            direct, apply, guarded = guarded_comparison(COMPARISONS.get(name, ast.In), meter)
        else:
            return item_reader(meter) if name == "getitem" else None

        def apply_guarded(a: Any, b: Any) -> Any:
            return apply(a, b) if type(a) in direct else guarded(a, b)

        apply_guarded.__name__ = name
        return apply_guarded

    return find_operator
