"""What a gradient's own graph looks like under create_graph: PyTorch's backward operators by their names."""

from __future__ import annotations

from typing import Any


def test_prints_what_pytorch_prints(
    expression: str, printed: str, printed_by_gradtrace: Any
) -> None:
    assert printed_by_gradtrace(expression) == printed
