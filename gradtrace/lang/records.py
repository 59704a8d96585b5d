"""`dataclasses` for programs, and objects that only hold attributes (`argparse.Namespace`, `types.SimpleNamespace`).

Python's `dataclasses` generates and executes program text. The methods are made here from closures instead, with the
same results and messages. Annotations are not evaluated, so a field is any annotated name of the class body except a
`ClassVar`.
"""

from __future__ import annotations

from copy import deepcopy

from gradtrace.annotations import Any, Callable
from gradtrace.engine.state import state
from gradtrace.lang import syntax as ast
from gradtrace.lang.arguments import Parameters
from gradtrace.lang.attributes import Gate
from gradtrace.lang.object_fields import Attributes, checked_name
from gradtrace.lang.values import Frozen, ProgramFunction
from gradtrace.lang.words import words

ORDERS = {"__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}
FIELDS = "__dataclass_fields__"
MATCHED = "__match_args__"


class Namespace(Attributes):
    """The programs' version of argparse.Namespace."""

    __module__ = "argparse"


class SimpleNamespace(Attributes):
    """The programs' version of types.SimpleNamespace."""

    __module__ = "types"

    def __repr__(self) -> str:
        return super().__repr__().replace("SimpleNamespace", "namespace", 1)


class FrozenInstanceError(AttributeError):
    """The programs' version of dataclasses.FrozenInstanceError."""


FrozenInstanceError.__module__ = "builtins"  # where programs may name exceptions from


class Missing(Frozen):
    """The type of dataclasses.MISSING."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<dataclasses._MISSING_TYPE object>"


MISSING = Missing()


class Field(Frozen):
    """One field of a dataclass."""

    __slots__ = ("compare", "default", "default_factory", "hash", "init", "kw_only", "metadata", "name", "repr", "type")

    def __init__(
        self,
        default: Any = MISSING,
        default_factory: Any = MISSING,
        init: bool = True,
        repr: bool = True,
        hash: bool | None = None,
        compare: bool = True,
        metadata: Any = None,
        kw_only: Any = MISSING,
    ) -> None:
        self.default = default
        self.default_factory = default_factory
        self.init = init
        self.repr = repr
        self.hash = hash
        self.compare = compare
        self.metadata = metadata
        self.kw_only = kw_only
        self.name = ""
        self.type: Any = None

    @property
    def has_default(self) -> bool:
        return self.default is not MISSING or self.default_factory is not MISSING

    def __repr__(self) -> str:
        return f"Field(name={self.name!r},default={self.default!r})"


def find_names(gate: Gate) -> dict[str, Any]:
    """Return the names of the module `dataclasses` and their values, for one run."""

    def dataclass(cls: Any = None, /, **options: Any) -> Any:
        unknown = set(options) - words("init repr eq order unsafe_hash frozen match_args kw_only slots weakref_slot")
        if unknown:
            raise TypeError(f"dataclass() got an unexpected keyword argument '{min(unknown)}'")
        if cls is None:
            return lambda definition: dataclass(definition, **options)
        if not isinstance(cls, type) or cls not in gate.own:
            raise TypeError("dataclass() takes a class of the program")
        return make_dataclass(cls, options)

    def field(**options: Any) -> Any:
        made = Field(**options)
        if made.default is not MISSING and made.default_factory is not MISSING:
            raise ValueError("cannot specify both default and default_factory")
        return made

    return {
        "dataclass": dataclass,
        "field": field,
        "fields": lambda value: tuple(fields_of(value, "must be called with a dataclass type or instance").values()),
        "is_dataclass": lambda value: hasattr(value if isinstance(value, type) else type(value), FIELDS),
        "asdict": lambda value, *, dict_factory=dict: as_dict(instance(value, "asdict"), dict_factory),
        "astuple": lambda value: as_tuple(instance(value, "astuple")),
        "replace": replace,
        "FrozenInstanceError": FrozenInstanceError,
        "MISSING": MISSING,
        "KW_ONLY": None,
    }


# ---- the class


def make_dataclass(cls: Any, options: dict[str, Any]) -> Any:
    """Add the methods that `options` select to a class of the program, and return the class."""
    fields: dict[str, Field] = {}
    for base in reversed(cls.__mro__[1:]):
        fields.update(vars(base).get(FIELDS, {}))
    fields.update(own_fields(cls, bool(options.get("kw_only", False))))
    setattr(cls, FIELDS, fields)
    own = set(vars(cls))
    if options.get("init", True):
        cls.__init__ = initializer(cls, fields, bool(options.get("frozen", False)))
    if options.get("repr", True) and "__repr__" not in own:
        cls.__repr__ = method("__repr__", cls, lambda self: shown(self, fields))
    if options.get("eq", True) and "__eq__" not in own:
        cls.__eq__ = method("__eq__", cls, lambda self, other: equal(self, other, fields))
        if "__hash__" not in own or vars(cls)["__hash__"] is None:
            cls.__hash__ = None
    if options.get("order", False):
        for name in ORDERS:
            setattr(cls, name, method(name, cls, comparison(name, fields)))
    if options.get("frozen", False):
        freeze(cls)
    if options.get("unsafe_hash", False) or (options.get("frozen", False) and options.get("eq", True)):
        hashed = [f for f in fields.values() if (f.compare if f.hash is None else f.hash)]
        cls.__hash__ = method("__hash__", cls, lambda self: hash(tuple(getattr(self, f.name) for f in hashed)))
    if "__match_args__" not in own:
        setattr(cls, MATCHED, tuple(f.name for f in fields.values() if f.init and f.kw_only is not True))
    return cls


def own_fields(cls: Any, kw_only: bool) -> dict[str, Field]:
    """Return the fields that the body of the class declares, in order."""
    fields: dict[str, Field] = {}
    for name, annotation in vars(cls).get("__annotations__", {}).items():
        checked_name(name)
        if annotation.partition("[")[0].rpartition(".")[2] == "ClassVar":
            continue
        if annotation.rpartition(".")[2] == "KW_ONLY":
            kw_only = True
            continue
        default = vars(cls).get(name, MISSING)
        made = default if isinstance(default, Field) else Field(default=default)
        if type(made.default) in (list, dict, set):
            kind = type(made.default)
            raise ValueError(f"mutable default {kind} for field {name} is not allowed: use default_factory")
        made.name, made.type = name, annotation
        if made.kw_only is MISSING:
            made.kw_only = kw_only
        if made.default is not MISSING:
            setattr(cls, name, made.default)
        elif isinstance(default, Field):
            delattr(cls, name)
        fields[name] = made
    return fields


def method(name: str, cls: Any, function: Callable[..., Any]) -> ProgramFunction:
    """Return a method of a dataclass as a function of the program."""
    return ProgramFunction(name, f"{cls.__qualname__}.{name}", None, lambda args, kwargs: function(*args, **kwargs))


def initializer(cls: Any, fields: dict[str, Field], frozen: bool) -> ProgramFunction:
    given = [f for f in fields.values() if f.init]
    positional, keyword = [f for f in given if not f.kw_only], [f for f in given if f.kw_only]
    seen = False
    for one in positional:
        if seen and not one.has_default:
            raise TypeError(f"non-default argument '{one.name}' follows default argument")
        seen = seen or one.has_default
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
    defaults = {f.name: f.default for f in given if f.has_default}

    def init(args: Any, kwargs: Any) -> None:
        frame = parameters.bind(args, kwargs, defaults)
        self = frame.pop("self")
        for one in fields.values():
            value = frame.get(one.name, one.default)
            if value is MISSING and one.default_factory is not MISSING:
                value = one.default_factory()
            if value is not MISSING:
                object.__setattr__(self, one.name, value)
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


def shown(self: Any, fields: dict[str, Field]) -> str:
    parts = [f"{f.name}={getattr(self, f.name)!r}" for f in fields.values() if f.repr]
    return f"{type(self).__qualname__}({', '.join(parts)})"


def compared(self: Any, fields: dict[str, Field]) -> tuple[Any, ...]:
    return tuple(getattr(self, f.name) for f in fields.values() if f.compare)


def equal(self: Any, other: Any, fields: dict[str, Field]) -> Any:
    if type(other) is not type(self):
        return NotImplemented
    return compared(self, fields) == compared(other, fields)


def comparison(name: str, fields: dict[str, Field]) -> Callable[[Any, Any], Any]:
    def compare(self: Any, other: Any) -> Any:
        if type(other) is not type(self):
            return NotImplemented
        return getattr(compared(self, fields), name)(compared(other, fields))

    return compare


# ---- functions on instances


def fields_of(value: Any, otherwise: str) -> dict[str, Field]:
    found = getattr(value if isinstance(value, type) else type(value), FIELDS, None)
    if found is None:
        raise TypeError(otherwise)
    known: dict[str, Field] = found
    return known


def instance(value: Any, name: str) -> Any:
    if isinstance(value, type) or not hasattr(type(value), FIELDS):
        raise TypeError(f"{name}() should be called on dataclass instances")
    return value


def as_dict(value: Any, factory: Any = dict) -> Any:
    """Convert dataclasses to dicts, also within lists, tuples and dicts; other values are copied."""
    fields = getattr(type(value), FIELDS, None)
    if fields is not None:
        return factory([(name, as_dict(getattr(value, name), factory)) for name in fields])
    return within(value, lambda item: as_dict(item, factory))


def as_tuple(value: Any) -> Any:
    fields = getattr(type(value), FIELDS, None)
    if fields is not None:
        return tuple(as_tuple(getattr(value, name)) for name in fields)
    return within(value, as_tuple)


def within(value: Any, change: Callable[[Any], Any]) -> Any:
    state_origin = state.origin
    if type(value) in (list, tuple):
        return type(value)([change(item) for item in value])
    if type(value) is dict:
        return {change(key): change(item) for key, item in value.items()}
    copied = deepcopy(value)
    state.origin = state_origin
    return copied


def replace(value: Any, /, **changes: Any) -> Any:
    """Return a new instance with some fields changed."""
    if isinstance(value, type) or not hasattr(type(value), FIELDS):
        raise TypeError("replace() should be called on dataclass instances")
    kept = {n: getattr(value, n) for n, f in getattr(type(value), FIELDS).items() if f.init and n not in changes}
    return type(value)(**{**kept, **changes})
