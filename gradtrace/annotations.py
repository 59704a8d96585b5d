"""The parts of `typing`, `collections` and `collections.abc` that most modules need, without
importing them.

A type checker sees the real names. At run time, importing `typing` would take longer than
evaluating a scalar expression (it imports re, enum, functools and contextlib), so this module
defines substitutes: `Any`, `Protocol` and others do nothing, and `NamedTuple` makes the same
classes (tuples with named fields, defaults, methods, `_replace`, `_asdict`, `_make`, pickling,
patterns) without compiling code for each class. The modules that a scalar expression loads import
from here, with `from __future__ import annotations`; other modules may import from `typing`.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
    from typing import Any, Final, NamedTuple, NoReturn, Protocol, TypeVar
else:
    # the home of collections.abc, loaded by Python itself when it starts
    from _collections import deque
    from _collections_abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    try:
        # collections.namedtuple uses the same descriptor
        from _collections import _tuplegetter as field_getter
    except ImportError:

        def field_getter(index, doc):
            return property(lambda self: self[index], doc=doc)

    class Any:
        """A substitute for typing.Any."""

    class Protocol:
        """A substitute for typing.Protocol: the base of classes that describe an interface."""

    Final = NoReturn = Any

    def TypeVar(name, **rules):
        return Any

    new_tuple = tuple.__new__

    class _RecordType(type):
        """The metaclass of records: it makes a field of each annotation in the class body."""

        def __new__(cls, name, bases, body):
            body.setdefault("__slots__", ())
            fields = tuple(body.get("__annotations__", ()))
            if fields:
                defaults = {field: body[field] for field in fields if field in body}
                body.update(_fields=fields, _field_defaults=defaults, __match_args__=fields)
                body["_count"] = len(fields)
                # A type checker refuses a field without a default after one with a default.
                body["_last"] = tuple(defaults.values())
                for i, field in enumerate(fields):
                    body[field] = field_getter(i, f"Alias for field number {i}")
            return super().__new__(cls, name, bases, body)

    class NamedTuple(tuple, metaclass=_RecordType):
        """A substitute for typing.NamedTuple: the base of tuples with named fields."""

        _fields = ()
        _field_defaults = {}
        _count = 0
        _last = ()  # the defaults of the last fields

        def __new__(cls, *values, **named):
            if named:
                return new_tuple(cls, _completed(cls, values, named))
            missing = cls._count - len(values)
            if not missing:
                return new_tuple(cls, values)
            last = cls._last
            if 0 < missing <= len(last):
                return new_tuple(cls, values + last[-missing:])
            return new_tuple(cls, _completed(cls, values, named))

        @classmethod
        def _make(cls, values):
            return cls(*values)

        def _replace(self, **changed):
            values = tuple(map(changed.pop, self._fields, self))
            if changed:
                raise ValueError(f"Got unexpected field names: {list(changed)!r}")
            return new_tuple(type(self), values)

        __replace__ = _replace

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __getnewargs__(self):
            return tuple(self)

        def __repr__(self):
            shown = ", ".join(
                f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True)
            )
            return f"{type(self).__name__}({shown})"

    def _completed(cls, given, named):
        """Return the values of all fields; raise TypeError, as any call, if they do not fit."""
        fields = cls._fields
        defaults = cls._field_defaults
        values = list(given)
        for field in fields[len(given) :]:
            if field in named:
                values.append(named.pop(field))
            elif field in defaults:
                values.append(defaults[field])
            else:
                raise TypeError(f"{cls.__name__}() misses a value for '{field}'")
        if named:
            wrong = next(iter(named))
            problem = "has two values for" if wrong in fields else "has no field"
            raise TypeError(f"{cls.__name__}() {problem} '{wrong}'")
        if len(values) > len(fields):
            raise TypeError(
                f"{cls.__name__}() takes {len(fields)} values but {len(values)} were given"
            )
        return values


AnyFunction = Callable[..., Any]

__all__ = [
    "TYPE_CHECKING", "Any", "AnyFunction", "Callable", "Container", "Final", "Iterable", "Iterator", "Mapping",
    "NamedTuple", "NoReturn", "Protocol", "Sequence", "TypeVar", "deque",
]  # fmt: skip
