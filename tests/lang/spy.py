"""A spy: an object of a program's class that notes all that it is asked for."""

from __future__ import annotations

from typing import Any

SPECIAL = """abs add aenter aexit aiter and anext await array array_function array_interface array_priority
    array_struct array_ufunc array_wrap array_finalize buffer bool bytes ceil complex contains copy deepcopy delattr
    delitem delete dir divmod dlpack dlpack_device enter eq exit float floor floordiv format fspath ge get getitem
    getnewargs getstate gt hash iadd iand ifloordiv ilshift imatmul imod imul index instancecheck int invert ior
    ipow irshift isub iter itruediv ixor le len length_hint lshift lt matmul missing mod mul ne neg next or pos pow
    prepare radd rand rdivmod reduce reduce_ex repr reversed rfloordiv rlshift rmatmul rmod rmul ror round rpow
    rrshift rshift rsub rtruediv rxor set setitem setstate sizeof str sub subclasscheck torch_function truediv
    trunc xor""".split()  # noqa: SIM905
asked: list[str] = []


def noting(name: str) -> Any:
    def special(self: object, *args: object) -> Any:
        asked.append(name)
        raise TypeError(f"a spy was asked for {name}")

    return special


class OfType(type):
    """The class of spies' classes: notes what Python code asks a type for, but for its names and its bases."""

    def __getattribute__(cls, name: str) -> Any:
        if name not in ("__module__", "__name__", "__qualname__", "__mro__", "__bases__", "__dict__", "__class__"):
            asked.append(f"type.{name}")
        return type.__getattribute__(cls, name)


def read(self: object, name: str) -> Any:
    asked.append(name)
    return object.__getattribute__(self, name)


# A program's class, but with the special methods too that the language refuses in a class statement.
METHODS = {f"__{name}__": noting(f"__{name}__") for name in SPECIAL}
Spy = OfType("Spy", (), {**METHODS, "__module__": "__main__", "__getattribute__": read, "__hash__": object.__hash__})


def forms(spy: Any) -> list[Any]:
    """The spy itself, and inside containers."""
    return [spy, [spy], (spy,), {"key": spy}, [[1.0, spy]], (spy for _ in [1])]
