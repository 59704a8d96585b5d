"""Named tuples returned by operators with several results: `torch.return_types.max(values=...,
indices=...)`.
"""

from __future__ import annotations

from _operator import itemgetter  # operator takes 0.4 ms to import

from gradtrace.annotations import Any


class Result(tuple[Any, ...]):
    """A tuple with named items, printed as in PyTorch."""

    __slots__ = ()
    _item_names: tuple[str, ...] = ()

    def __repr__(self) -> str:
        items = ",\n".join(
            f"{name}={item!r}" for name, item in zip(self._item_names, self, strict=True)
        )
        return f"torch.return_types.{type(self).__name__}(\n{items})"


_result_types: dict[str, type[Result]] = {}


def result_type(name: str, *fields: str) -> type[Result]:
    """Return the result type of an operator; there is one type for each name."""
    if name not in _result_types:
        members: dict[str, Any] = {
            "__slots__": (),
            "_item_names": fields,
            "__module__": "torch.return_types",
        }
        for i, field in enumerate(fields):
            members[field] = property(itemgetter(i))
        _result_types[name] = type(name, (Result,), members)
    return _result_types[name]


def values_and_indices(name: str, pair: tuple[Any, Any]) -> Result:
    """Return the (values, indices) result of an operator."""
    return result_type(name, "values", "indices")(pair)
