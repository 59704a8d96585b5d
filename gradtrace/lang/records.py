"""`dataclasses` for programs.

Python's `dataclasses` generates and executes program text. The methods are made here from closures instead, with the
same results and messages; the fields are Python's own. Annotations are not evaluated, so a field is any annotated name
of the class body except a `ClassVar`.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import _FIELD, MISSING, Field, FrozenInstanceError, field  # type: ignore[attr-defined]
from types import MappingProxyType

from gradtrace.annotations import Any, AnyFunction, Callable, Iterable
from gradtrace.engine.data.state import state
from gradtrace.lang.arguments import Parameters
from gradtrace.lang.attributes import Gate
from gradtrace.lang.objects import is_dunder
from gradtrace.lang.values import ProgramFunction
from gradtrace.lang.words import Names, refuse_unknown
from gradtrace.program import syntax as ast

ORDERS = {"__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}
FIELDS = "__dataclass_fields__"
MATCHED = "__match_args__"
Read = Callable[[Any, str], Any]  # an attribute, through the gate


Fields = MappingProxyType[str, Any]


def find_names(gate: Gate) -> Names:
    """Return the names of the module `dataclasses` and their values, for one run."""

    def dataclass(cls: Any = None, /, **options: Any) -> Any:
        refuse_unknown(
            "dataclass", options, "init repr eq order unsafe_hash frozen match_args kw_only slots weakref_slot"
        )
        if cls is None:
            return lambda definition: dataclass(definition, **options)
        if not isinstance(cls, type) or cls not in gate.own:
            raise TypeError("dataclass() takes a class of the program")
        return make_dataclass(cls, options, Access(gate))

    return {
        "dataclass": dataclass,
        "fields": lambda value: tuple(fields_of(value, "must be called with a dataclass type or instance").values()),
        "is_dataclass": lambda value: table_of(value if isinstance(value, type) else type(value)) is not None,
        "asdict": lambda value, *, dict_factory=dict: converted(instance(value, "asdict"), gate.get, dict_factory),
        "astuple": lambda value: converted(instance(value, "astuple"), gate.get, values_of),
        "replace": lambda value, /, **changes: replace(value, gate.get, changes),
    }


# ---- the class


class Access:
    """Reads and sets the fields of objects: directly if only the program has defined their class, else by the gate."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate
        self.direct: set[type] = set()

    def is_direct(self, kind: type) -> bool:
        if kind not in self.direct and kind in self.gate.own and self.gate.is_plain(kind):
            self.direct.add(kind)
        return kind in self.direct

    def values(self, value: Any, names: Iterable[str]) -> tuple[Any, ...]:
        read = getattr if self.is_direct(type(value)) else self.gate.get
        return tuple([read(value, name) for name in names])

    def setter(self, kind: type) -> Callable[[Any, str, Any], None]:
        return object.__setattr__ if self.is_direct(kind) else self.gate.set_plainly


def make_dataclass(cls: Any, options: Names, access: Access) -> Any:
    """Add the methods that `options` select to a class of the program, and return the class."""
    fields: dict[str, Any] = {}
    for base in reversed(cls.__mro__[1:]):
        fields.update(vars(base).get(FIELDS, {}))
    fields.update(own_fields(cls, bool(options.get("kw_only", False))))
    setattr(cls, FIELDS, MappingProxyType(fields))  # the gate gives programs a copy
    own = set(vars(cls))
    if options.get("init", True):
        cls.__init__ = initializer(cls, fields, access)
    if options.get("repr", True) and "__repr__" not in own:
        cls.__repr__ = method("__repr__", cls, lambda self: shown(self, fields, access))
    if options.get("eq", True) and "__eq__" not in own:
        cls.__eq__ = method("__eq__", cls, comparison("__eq__", fields, access))
        if "__hash__" not in own or vars(cls)["__hash__"] is None:
            cls.__hash__ = None
    if options.get("order", False):
        for name in ORDERS:
            setattr(cls, name, method(name, cls, comparison(name, fields, access)))
    if options.get("frozen", False):
        freeze(cls)
    if options.get("unsafe_hash", False) or (options.get("frozen", False) and options.get("eq", True)):
        hashed = [f.name for f in fields.values() if (f.compare if f.hash is None else f.hash)]
        cls.__hash__ = method("__hash__", cls, lambda self: hash(access.values(self, hashed)))
    if "__match_args__" not in own:
        setattr(cls, MATCHED, tuple(f.name for f in fields.values() if f.init and f.kw_only is not True))
    return cls


def own_fields(cls: Any, kw_only: bool) -> dict[str, Any]:
    """Return the fields that the body of the class declares, in order."""
    fields: dict[str, Any] = {}
    for name, annotation in vars(cls).get("__annotations__", {}).items():
        if type(name) is not str or is_dunder(name):
            raise TypeError(f"{name!r} cannot be a field of a dataclass")
        annotation = annotation if type(annotation) is str else repr(annotation)
        if annotation.partition("[")[0].rpartition(".")[2] == "ClassVar":
            continue
        if annotation.rpartition(".")[2] == "KW_ONLY":
            kw_only = True
            continue
        default = vars(cls).get(name, MISSING)
        made = default if isinstance(default, Field) else field(default=default)
        if type(made.default) in (list, dict, set):
            kind = type(made.default)
            raise ValueError(f"mutable default {kind} for field {name} is not allowed: use default_factory")
        made.name, made.type = name, annotation
        made._field_type = _FIELD  # type: ignore[union-attr]  # for its repr
        if made.kw_only is MISSING:
            made.kw_only = kw_only
        if made.default is not MISSING:
            setattr(cls, name, made.default)
        elif isinstance(default, Field):
            delattr(cls, name)
        fields[name] = made
    return fields


def method(name: str, cls: Any, function: AnyFunction) -> ProgramFunction:
    """Return a method of a dataclass as a function of the program."""
    return ProgramFunction(name, f"{cls.__qualname__}.{name}", None, lambda args, kwargs: function(*args, **kwargs))


def has_default(one: Any) -> bool:
    return one.default is not MISSING or one.default_factory is not MISSING


def initializer(cls: Any, fields: dict[str, Any], access: Access) -> ProgramFunction:
    given = [f for f in fields.values() if f.init]
    positional, keyword = [f for f in given if not f.kw_only], [f for f in given if f.kw_only]
    seen = False
    for one in positional:
        if seen and not has_default(one):
            raise TypeError(f"non-default argument '{one.name}' follows default argument")
        seen = seen or has_default(one)
    parameters = Parameters(
        f"{cls.__qualname__}.__init__",
        ast.arguments(
            posonlyargs=[],
            args=[ast.arg("self"), *(ast.arg(f.name) for f in positional)],
            vararg=None,
            kwonlyargs=[ast.arg(f.name) for f in keyword],
            kw_defaults=[],
            kwarg=None,
            defaults=[],
        ),
    )
    defaults = {f.name: f.default for f in given if has_default(f)}

    def init(args: Any, kwargs: Any) -> None:
        frame = parameters.bind(args, kwargs, defaults)
        self = frame.pop("self")
        put = access.setter(type(self))
        for one in fields.values():
            value = frame.get(one.name, one.default)
            if value is MISSING and one.default_factory is not MISSING:
                value = one.default_factory()
            if value is not MISSING:
                put(self, one.name, value)
        after = getattr(type(self), "__post_init__", None)
        if after is not None:
            after(self)

    return ProgramFunction("__init__", f"{cls.__qualname__}.__init__", None, init)


def freeze(cls: Any) -> None:
    """Make the instances of a class refuse assignments and deletions."""

    def refuse(word: str) -> Callable[..., None]:
        def change(self: Any, name: str, *value: Any) -> None:
            raise FrozenInstanceError(f"cannot {word} field '{name}'")

        return change

    cls.__setattr__ = refuse("assign to")
    cls.__delattr__ = refuse("delete")


def shown(self: Any, fields: dict[str, Any], access: Access) -> str:
    names = [f.name for f in fields.values() if f.repr]
    parts = [f"{name}={value!r}" for name, value in zip(names, access.values(self, names), strict=True)]
    return f"{type(self).__qualname__}({', '.join(parts)})"


def comparison(name: str, fields: dict[str, Any], access: Access) -> Callable[[Any, Any], Any]:
    names = [f.name for f in fields.values() if f.compare]

    def compare(self: Any, other: Any) -> Any:
        if type(other) is not type(self):
            return NotImplemented
        return getattr(access.values(self, names), name)(access.values(other, names))

    return compare


# ---- functions on instances


def table_of(kind: type) -> Fields | None:
    """Return the fields of a dataclass that a program has made; None for any other class."""
    found = getattr(kind, FIELDS, None)
    return found if type(found) is MappingProxyType else None


def fields_of(value: Any, otherwise: str) -> Fields:
    found = table_of(value if isinstance(value, type) else type(value))
    if found is None:
        raise TypeError(otherwise)
    return found


def instance(value: Any, name: str) -> Any:
    if isinstance(value, type) or table_of(type(value)) is None:
        raise TypeError(f"{name}() should be called on dataclass instances")
    return value


def converted(value: Any, read: Read, make: Callable[[list[tuple[str, Any]]], Any]) -> Any:
    """Convert dataclasses, of whose fields `make` gets the names and values, also within lists, tuples and dicts.

    Other values are copied.
    """
    state_origin = state.origin
    fields = table_of(type(value))
    if fields is not None:
        return make([(name, converted(read(value, name), read, make)) for name in fields])
    if type(value) in (list, tuple):
        return type(value)([converted(item, read, make) for item in value])
    if type(value) is dict:
        return {converted(key, read, make): converted(item, read, make) for key, item in value.items()}
    copied = deepcopy(value)
    state.origin = state_origin
    return copied


def values_of(pairs: list[tuple[str, Any]]) -> tuple[Any, ...]:
    return tuple([value for _, value in pairs])


def replace(value: Any, read: Read, changes: Names) -> Any:
    """Return a new instance with some fields changed."""
    fields = fields_of(instance(value, "replace"), "")
    kept = {name: read(value, name) for name, field in fields.items() if field.init and name not in changes}
    return type(value)(**{**kept, **changes})
