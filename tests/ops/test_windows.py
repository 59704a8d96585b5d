"""torch.signal.windows and torch.hann_window's kin print what PyTorch prints."""

from __future__ import annotations

from collections.abc import Callable


def test_recorded(
    expression: str, printed: str, printed_by_gradtrace: Callable[[str], str]
) -> None:
    assert printed_by_gradtrace(expression) == printed
