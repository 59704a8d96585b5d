"""Formatting of strings with values of a program: `.format` fields go through the attribute gate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

MAX_WIDTH = 1_000_000


def check_spec(spec: str) -> str:
    """A format specification whose width cannot fill the memory."""
    digits = ""
    for c in spec + " ":
        digits = digits + c if c.isdigit() else ""
        if len(digits) > 7 or (digits and int(digits) > MAX_WIDTH):
            raise ValueError("Too many decimal digits in format string")
    return spec


def formatter(template: str) -> Callable[..., str]:
    """template.format, with fields read through the gate."""
    import _string
    import string

    from gradtrace.lang.attributes import get

    class Gated(string.Formatter):
        def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
            first, rest = _string.formatter_field_name_split(field_name)
            value = self.get_value(first, args, kwargs)
            for is_attribute, key in rest:
                value = get(value, key) if is_attribute else value[key]
            return value, first

        def format_field(self, value: Any, format_spec: str) -> str:
            return format(value, check_spec(format_spec))

    return lambda *args, **kwargs: Gated().vformat(template, args, kwargs)


def percent(template: str, values: Any) -> str:
    """template % values, widths checked."""
    check_spec(template)
    return template % values
