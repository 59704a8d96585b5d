"""torch.signal: `windows`."""

from __future__ import annotations

from gradtrace.signal import windows

__all__ = ["windows"]
