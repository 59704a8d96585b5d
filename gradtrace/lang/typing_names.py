"""The module `typing` of programs. Annotations are not evaluated, so its names are placeholders."""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.lang.values import Frozen
from gradtrace.lang.words import words

NAMES = words("""AbstractSet Annotated Any AnyStr Awaitable Callable ChainMap ClassVar Collection Concatenate
    Container ContextManager Counter DefaultDict Deque Dict Final FrozenSet Generator Generic Hashable
    ItemsView Iterable Iterator KeysView List Literal Mapping MutableMapping MutableSequence MutableSet
    NamedTuple Never NewType NoReturn NotRequired Optional OrderedDict ParamSpec Protocol Required
    Reversible Self Sequence Set Sized SupportsFloat SupportsIndex SupportsInt TYPE_CHECKING Text Tuple
    Type TypeAlias TypeGuard TypeVar TypedDict Union Unpack ValuesView cast final get_type_hints
    no_type_check overload override runtime_checkable""")
BASES = words("Generic Protocol")  # names that a class may use as a base, where they add nothing


class Form(Frozen):
    """A name of `typing`; subscripts are ignored: `Optional[int]` is the same as `Optional`."""

    __slots__ = ("_base", "_name")

    def __init__(self, name: str, base: bool = False) -> None:
        self._name = name
        self._base = base

    def is_named(self, name: str) -> bool:
        return self._name == name

    @property
    def is_base(self) -> bool:
        """Whether a class may use this name as a base."""
        return self._base or self._name in BASES

    def __getitem__(self, arguments: Any) -> Form:
        return self

    def __or__(self, other: Any) -> Form:
        return self

    __ror__ = __or__

    def __repr__(self) -> str:
        return f"typing.{self._name}"


# The names that are not a Form.
OTHERS = {
    **dict.fromkeys(words("TypeVar ParamSpec"), lambda name, *args, **kwargs: Form(str(name))),
    **dict.fromkeys(words("final no_type_check overload override runtime_checkable"), lambda function: function),
    "NewType": lambda name, kind: lambda value: value,
    "TYPE_CHECKING": False,
    "cast": lambda kind, value: value,
    "get_type_hints": lambda value, *args: {},
}


def form(name: str) -> Any:
    """Return the placeholder for a name of `typing`."""
    return OTHERS[name] if name in OTHERS else Form(name)
