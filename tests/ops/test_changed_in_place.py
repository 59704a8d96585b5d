"""Tensors that backward reads (indices, masks, targets, weights, operands, results), changed in place before it runs.

PyTorch's own answers: the error about the saved tensor's version, or the gradient where nothing was saved.
"""

from __future__ import annotations

from collections.abc import Callable


def test_recorded(expression: str, printed: str, printed_by_gradtrace: Callable[[str], str]) -> None:
    assert printed_by_gradtrace(expression) == printed
