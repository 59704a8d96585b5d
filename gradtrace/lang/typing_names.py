"""The module `typing` of programs. Annotations are not evaluated, so its names are placeholders."""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.lang.values import Frozen
from gradtrace.lang.words import words

NAMES = words("""Any Callable ClassVar Dict Final FrozenSet Generic Iterable Iterator List Literal Mapping NoReturn
    Optional Protocol Sequence Set Tuple Type TypeVar Union cast""")


class Form(Frozen):
    """A name of typing; subscripts are ignored: `Optional[int]` is the same as `Optional`."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def is_base(self) -> bool:
        """Whether a class may use it as a base."""
        return self._name in ("Generic", "Protocol")

    def __getitem__(self, arguments: Any) -> Form:
        return self

    def __or__(self, other: Any) -> Form:
        return self

    __ror__ = __or__

    def __repr__(self) -> str:
        return f"typing.{self._name}"


def form(name: str) -> Any:
    """Return the value of a name of typing."""
    if name == "cast":
        return lambda kind, value: value
    if name == "TypeVar":
        return lambda name, *args, **kwargs: Form(str(name))
    return Form(name)
