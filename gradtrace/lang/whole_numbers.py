"""Functions of `math` on whole numbers, whose results may be huge: the budget is charged before they are computed."""

from __future__ import annotations

import math

from gradtrace.annotations import Any, Callable
from gradtrace.lang.budget import Meter
from gradtrace.lang.costs import charge_visit
from gradtrace.lang.iteration import metered, with_name


def find_names(meter: Meter, multiply: Callable[[Any, Any], Any]) -> dict[str, Any]:
    """Return the functions by their names; `multiply` is the operator of programs."""
    return {
        **{name: counting(name, meter) for name in ("factorial", "comb", "perm")},
        **{name: dividing(name, meter) for name in ("gcd", "isqrt", "lcm")},
        "prod": make_product(meter, multiply),
    }


def counting(name: str, meter: Meter) -> Callable[..., int]:
    """Return factorial, comb or perm, with its result (about n * log2(n) bits) reserved in the budget first."""
    real = getattr(math, name)

    def call(n: Any, *k: Any) -> int:
        if type(n) is int and n > 64:
            meter.reserve_integer(n.bit_length() * min(n, *(x for x in k if type(x) is int), n))
        result: int = real(n, *k)
        return result

    return with_name(call, name)


def dividing(name: str, meter: Meter) -> Callable[..., int]:
    """Return gcd, lcm or isqrt, whose time grows with the square of the length of their integers."""
    real = getattr(math, name)

    def call(*args: Any) -> int:
        bits = sum(arg.bit_length() for arg in args if type(arg) is int)
        if bits > 8192:
            meter.count_division(2 * bits, bits)
        result: int = real(*args)
        return result

    return with_name(call, name)


def make_product(meter: Meter, multiply: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def prod(iterable: Any, /, *, start: Any = 1) -> Any:
        if type(iterable) not in (list, tuple) or not set(map(type, iterable)) <= {int, bool}:
            charge_visit(iterable, meter)
            return math.prod(iterable, start=start)
        for item in metered(iterable, meter):  # a product of integers grows with each
            start = multiply(start, item)
        return start

    return with_name(prod, "prod")
