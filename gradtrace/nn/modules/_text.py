"""Names and text as PyTorch shows them, in messages and in the text of modules."""

from __future__ import annotations

from gradtrace.engine.tensor import Tensor


def typename(value: object) -> str:
    """The type of `value` as PyTorch's messages name it: torch.FloatTensor, str, torch.nn.modules.linear.Linear."""
    if isinstance(value, Tensor):
        return f"torch.{value.dtype.scalar_type}Tensor"
    kind = value if isinstance(value, type) else type(value)
    if kind.__module__ in ("builtins", ""):
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}".replace("gradtrace.", "torch.", 1)


def class_text(kind: type) -> str:
    """How a class prints, under PyTorch's name: <class 'torch.nn.modules.linear.Linear'>."""
    return f"<class '{typename(kind)}'>"


def indent(text: str, columns: int) -> str:
    """`text` with all lines but the first moved to the right."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(columns * " " + line if line.strip() else "" for line in rest)])
