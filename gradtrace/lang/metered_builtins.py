"""Built-in functions, and those of `math`, whose time or memory grows with their arguments: they are charged first."""

from __future__ import annotations

import _operator as operator  # operator takes 0.4 ms to import
import math

from gradtrace.annotations import Any, AnyFunction, Callable
from gradtrace.lang.budget import Meter
from gradtrace.lang.costs import charge_visit, length_of
from gradtrace.lang.iteration import charged, metered, with_name
from gradtrace.lang.operators import SEQUENCES, SMALL, guard_add, guard_power
from gradtrace.lang.strings import Strings


def make_pow(meter: Meter) -> AnyFunction:
    two = guard_power(pow, meter)

    def power_or_modular(base: Any, exp: Any, mod: Any = None) -> Any:
        if mod is None:
            return two(base, exp)
        if type(base) is type(exp) is type(mod) is int and mod.bit_length() > 64:
            meter.count_numbers(abs(exp).bit_length() * (mod.bit_length() / 200) ** 2)
            meter.count_division(base.bit_length(), mod.bit_length())
        return pow(base, exp, mod)

    return with_name(power_or_modular, "pow")


def make_divmod(meter: Meter) -> AnyFunction:
    def charge(args: Any, _: Any) -> None:
        if len(args) == 2 and type(args[0]) is type(args[1]) is int:
            meter.count_division(args[0].bit_length(), args[1].bit_length())

    return charged(divmod, charge)


def make_sum(meter: Meter) -> AnyFunction:
    add = guard_add(operator.add, meter)

    def sum_charged(iterable: Any, /, start: Any = 0) -> Any:
        charge_visit(iterable, meter)
        if type(start) not in SEQUENCES and not has_long_items(iterable):
            return sum(iterable, start)
        if type(start) is str:
            raise TypeError("sum() can't sum strings [use ''.join(seq) instead]")
        for item in metered(iterable, meter):
            start = add(start, item)
        return start

    return with_name(sum_charged, "sum")


def has_long_items(items: Any) -> bool:
    """Whether a container has sequences or huge integers, whose sums cost more with each."""
    if type(items) not in (list, tuple, set, frozenset):
        return False
    kinds = set(map(type, items))
    if int not in kinds:
        return not kinds.isdisjoint(SEQUENCES)
    numbers = items if len(kinds) == 1 else [item for item in items if type(item) is int]
    return max(numbers) >= SMALL or min(numbers) <= -SMALL or not kinds.isdisjoint(SEQUENCES)


def make_visitor(function: AnyFunction, meter: Meter) -> AnyFunction:
    def call(iterable: Any, /) -> Any:
        charge_visit(iterable, meter)
        return function(iterable)

    return with_name(call, function.__name__)


def make_writer(write: Callable[[Any], str], strings: Strings) -> Callable[[Any], str]:
    return with_name(lambda value, /: strings.text_of(write, value), write.__name__)


def formatting_dates(meter: Meter, kinds: tuple[type, ...]) -> dict[tuple[type, str], AnyFunction]:
    """Return the method strftime of dates and times, charged for a long format."""
    return {(kind, "strftime"): lambda value: charged_strftime(value.strftime, meter) for kind in kinds}


def charged_strftime(strftime: AnyFunction, meter: Meter) -> AnyFunction:
    def charge(args: Any, how: Any) -> None:
        meter.count_items(20 * sum(map(length_of, (*args, *how.values()))))

    return charged(strftime, charge)


# ---- math


def math_names(meter: Meter, multiply: Callable[[Any, Any], Any]) -> dict[str, Any]:
    """Return the functions of `math` on whole numbers, whose results may be huge; `multiply` is programs' operator."""
    return {
        **{name: counting(name, meter) for name in ("factorial", "comb", "perm")},
        **{name: dividing(name, meter) for name in ("gcd", "isqrt", "lcm")},
        "prod": make_product(meter, multiply),
    }


def counting(name: str, meter: Meter) -> Callable[..., int]:
    """Return factorial, comb or perm, with its result (about n * log2(n) bits) reserved in the budget first."""

    def charge(args: Any, _: Any) -> None:
        if args and type(args[0]) is int and args[0] > 64:
            meter.reserve_integer(args[0].bit_length() * min(arg for arg in args if type(arg) is int))

    return charged(getattr(math, name), charge)


def dividing(name: str, meter: Meter) -> Callable[..., int]:
    """Return gcd, lcm or isqrt, whose time grows with the square of the length of their integers."""

    def charge(args: Any, _: Any) -> None:
        bits = sum(arg.bit_length() for arg in args if type(arg) is int)
        if bits > 8192:
            meter.count_division(2 * bits, bits)

    return charged(getattr(math, name), charge)


def make_product(meter: Meter, multiply: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def prod(iterable: Any, /, *, start: Any = 1) -> Any:
        if type(iterable) not in (list, tuple) or not set(map(type, iterable)) <= {int, bool}:
            charge_visit(iterable, meter)
            return math.prod(iterable, start=start)
        for item in metered(iterable, meter):  # a product of integers grows with each
            start = multiply(start, item)
        return start

    return with_name(prod, "prod")
