"""Names of types and text of modules, as PyTorch prints them."""

from __future__ import annotations

from gradtrace.engine.data.tensor import Tensor


def typename(value: object) -> str:
    """Return the type of `value` as PyTorch names it: torch.FloatTensor, str,
    torch.nn.modules.linear.Linear.
    """
    if isinstance(value, Tensor):
        return f"torch.{value.dtype.scalar_type}Tensor"
    kind = value if isinstance(value, type) else type(value)
    if kind.__module__ in ("builtins", ""):
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}".replace("gradtrace.", "torch.", 1)


def class_text(kind: type) -> str:
    """Return the repr of a class under PyTorch's name: <class 'torch.nn.modules.linear.Linear'>."""
    return f"<class '{typename(kind)}'>"


def indent(text: str, columns: int) -> str:
    """Indent all lines of `text` but the first."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(columns * " " + line if line.strip() else "" for line in rest)])
