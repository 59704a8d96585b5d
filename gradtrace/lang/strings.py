"""String operations of programs: attributes in `.format` fields pass the gate, result sizes are reserved first."""

from __future__ import annotations

from gradtrace.annotations import Any, AnyFunction, Callable
from gradtrace.lang import costs
from gradtrace.lang.budget import Meter
from gradtrace.lang.iteration import with_name
from gradtrace.lang.words import words

# Methods that read the whole text: they take a charge if it is long.
READING = words(
    """capitalize casefold count find index isalnum isalpha isascii isdecimal isdigit isidentifier islower isnumeric
    isprintable isspace istitle isupper lower lstrip partition removeprefix removesuffix rfind rindex rpartition rsplit
    rstrip split splitlines strip swapcase title upper"""
)
# Those that compare their argument with the text again at each place: Python searches from the right without a table.
SEARCHING = words("lstrip rfind rindex rpartition rsplit rstrip strip")


class Strings:
    """The string methods and operators that need the attribute gate or the meter."""

    def __init__(self, meter: Meter) -> None:
        self.meter = meter
        self.read: Callable[[Any, str], Any] = getattr  # replaced by the gate's before a program runs

    def special(self) -> dict[tuple[type, str], AnyFunction]:
        """Return replacements of str methods, for the gate."""
        return {
            (str, "format"): self.formatter,
            (str, "join"): self.joiner,
            (str, "replace"): self.replacer,
            (str, "expandtabs"): self.expander,
            **{(str, name): self.padder(name) for name in ("center", "ljust", "rjust", "zfill")},
            **{(str, name): self.reader(name) for name in READING},
        }

    # ---- values as text

    def text_of(self, write: Callable[[Any], str], value: Any) -> str:
        """Return str(value), repr(value) or ascii(value), charged for all that the value holds."""
        costs.charge_text(value, self.meter)
        return write(value)

    # ---- formatting

    def format(self, value: Any, spec: str = "") -> str:
        """Implement format(value, spec)."""
        costs.charge_text(value, self.meter)
        return format(value, self.check(spec) if type(spec) is str and spec else spec)

    def check(self, spec: str) -> str:
        """Reserve the width and precision of a format specification and return it."""
        number = 0
        self.meter.count_text(64 * len(spec))
        for c in spec:
            number = number * 10 + int(c) if "0" <= c <= "9" else 0
            if number > 4096:
                self.meter.reserve(4 * number)
        return spec

    def formatter(self, template: str) -> Callable[..., str]:
        """Return template.format, with attributes in its fields read through the gate."""

        def format_template(*args: Any, **kwargs: Any) -> str:
            if self.is_plain(template):
                for value in (*args, *kwargs.values()):
                    costs.charge_text(value, self.meter)
                return template.format(*args, **kwargs)
            formatted: str = self.gated_formatter().vformat(template, args, kwargs)
            return formatted

        return format_template

    def is_plain(self, template: str) -> bool:
        """Whether no field reads an attribute or has a nested field in its specification; also reserves the widths."""
        from string import Formatter

        try:
            fields = list(Formatter().parse(template))
        except ValueError:
            return True  # Python's method raises the error
        for _, field, spec, _ in fields:
            if field is not None and ("." in field or "{" in (spec or "")):
                return False
            self.check(spec or "")
        return True

    def gated_formatter(self) -> Any:
        # the function that splits a field name, also used by string.Formatter
        import _string  # type: ignore[import-not-found]
        import string

        strings, read = self, self.read

        class Gated(string.Formatter):
            count = 0  # of unnumbered fields; Python's Formatter does not count those like {.shape}
            manual = False

            def parse(self, format_string: Any) -> Any:
                for literal, field, spec, conversion in super().parse(format_string):
                    if field is not None and field[:1] in ("", ".", "["):
                        field, self.count = f"{self.count}{field}", self.count + 1
                    else:
                        self.manual |= field is not None and field[:1].isdigit()
                    if self.manual and self.count:
                        raise ValueError("cannot mix manual field specification and automatic field numbering")
                    yield literal, field, spec, conversion

            def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
                first, rest = _string.formatter_field_name_split(field_name)
                value = self.get_value(first, args, kwargs)
                for is_attribute, key in rest:
                    value = read(value, key) if is_attribute else value[key]
                return value, first

            def get_value(self, key: Any, args: Any, kwargs: Any) -> Any:
                if isinstance(key, int) and key >= len(args):
                    raise IndexError(f"Replacement index {key} out of range for positional args tuple")
                return super().get_value(key, args, kwargs)

            def format_field(self, value: Any, format_spec: str) -> str:
                return strings.format(value, format_spec)

        return Gated()

    def percent(self, template: str, values: Any) -> str:
        """Implement template % values."""
        self.check(template)
        for value in values if type(values) is tuple else (values,):
            costs.charge_text(value, self.meter)
        if "*" in template:
            widths = [v for v in (values if type(values) is tuple else (values,)) if type(v) is int]
            self.meter.reserve(4 * max(map(abs, widths), default=0))
        formatted: str = template % values
        return formatted

    # ---- methods whose result can be much longer than their arguments

    def joiner(self, separator: str) -> Callable[[Any], str]:
        def join(parts: Any) -> str:
            items = parts if type(parts) in (list, tuple) else list(parts)
            if set(map(type, items)) == {str}:
                self.meter.count_items(len(items))
                costs.charge_made(str, sum(map(len, items)) + len(separator) * len(items), self.meter)
            return separator.join(items)

        return join

    def replacer(self, text: str) -> Callable[..., str]:
        def replace(old: str, new: str, count: int = -1) -> str:
            self.meter.count_text(4 * len(text))
            if type(old) is str and type(new) is str and len(new) > len(old) + 16:
                costs.charge_made(str, len(text) + (len(new) - len(old)) * text.count(old), self.meter)
            return text.replace(old, new, count)

        return replace

    def expander(self, text: str) -> Callable[..., str]:
        def expandtabs(tabsize: int = 8) -> str:
            if type(tabsize) is int:
                costs.charge_made(str, len(text) + text.count("\t") * tabsize, self.meter)
            return text.expandtabs(tabsize)

        return expandtabs

    def reader(self, name: str) -> Callable[[str], Any]:
        """Return a method that reads the whole text, charged if that is long."""

        def charged(text: Any) -> AnyFunction:
            method: AnyFunction = getattr(text, name)
            if text is str:  # str.lower, which takes the text
                return with_name(lambda text, *args, **kwargs: charged(text)(*args, **kwargs), name)
            if len(text) <= costs.LONG:
                return method

            def read(*args: Any, **kwargs: Any) -> Any:
                wanted = len(args[0]) if name in SEARCHING and args and type(args[0]) is str else 1
                self.meter.count_text(8 * len(text) * max(wanted // 4, 1))
                return method(*args, **kwargs)

            return read

        return charged

    def padder(self, name: str) -> Callable[[str], Any]:
        def padded(text: str) -> Callable[..., str]:
            method: Callable[..., str] = getattr(text, name)

            def pad(width: Any, *fill: str) -> str:
                if type(width) is int:
                    costs.charge_made(str, 4 * width, self.meter)
                return method(width, *fill)

            return pad

        return padded
