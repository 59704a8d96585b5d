"""PyTorch's error messages for operator calls whose arguments match no signature."""

from __future__ import annotations

from types import MethodType

from gradtrace.annotations import Any
from gradtrace.engine.data.tensor import Tensor
from gradtrace.ops import api
from gradtrace.ops.signatures import refusal

# The table to search first for an owner, since a name may be in several (torch.det is torch.linalg.det).
OWNERS = {"linalg": "l", "LA": "l", "special": "s", "functional": "n", "F": "n", "torch": "f"}


def is_operator(target: Any) -> bool:
    """Whether a function is one of torch's operators."""
    name = getattr(target, "__name__", "")
    return any(table.get(name) is target for table in (api.functions, api.linalg, api.special))


def signature_mismatch(target: Any, name: str, args: tuple[Any, ...], named: dict[str, Any]) -> str:
    """Return PyTorch's message for a failed operator call; "" if it is not an operator or the arguments match."""
    owner, _, name = name.rpartition(".")
    bound = getattr(target, "__self__", None)
    if isinstance(bound, Tensor):
        return refusal("m", name or target.__name__, args, named)
    if isinstance(target, (MethodType, type)) or bound is not None:
        return ""
    own = name or getattr(target, "__name__", "")
    if own.endswith("_loss") and owner != "torch":
        return ""  # torch.NAME_loss takes numbers where functional's takes strings
    tables = [("f", api.functions), ("l", api.linalg), ("n", api.functional), ("s", api.special)]
    tables.sort(key=lambda entry: entry[0] != OWNERS.get(owner))
    for table, entries in tables:
        if own in entries and entries[own] in (target, getattr(target, "__wrapped__", None)):
            return refusal(table, own, args, named)
    return ""
