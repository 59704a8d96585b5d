"""The first training step of a script in real PyTorch, for `gradtrace check --model`."""

from __future__ import annotations

from typing import Any

from torch.overrides import TorchFunctionMode

from gradtrace.analysis.first_step import FirstStep


class TorchFirstStep(FirstStep, TorchFunctionMode):
    """A FirstStep that sees each computation as a TorchFunctionMode."""

    def __enter__(self) -> Any:
        TorchFunctionMode.__enter__(self)  # type: ignore[no-untyped-call]
        return super().__enter__()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self.note(func, args, kwargs or {}, result)
        return result
