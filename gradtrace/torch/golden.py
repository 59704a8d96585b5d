"""A recording that is compared with a stored one: what the pytest fixture `gradtrace_golden` hands
out.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from gradtrace.errors import GradtraceError
from gradtrace.torch.recording import record

UPDATE = "--gradtrace-update"


class GoldenRecord(record):
    """Record a step; at the end of the block call `fail` with the verdict of `diff` if it differs
    from the file `path`.

    With `update` the file is written instead. `tolerance` is that of `compare`: `rtol`, `atol`,
    `exact`.
    """

    def __init__(
        self, path: Path, update: bool, fail: Callable[[str], None], tolerance: dict[str, Any]
    ) -> None:
        super().__init__("compare")
        self.path = path
        self.update = update
        self.fail = fail
        self.tolerance = tolerance

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        super().__exit__(kind, error, tb)
        if error is not None:
            return
        if self.update:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.save(str(self.path))
        elif message := self.difference():
            self.fail(f"{message}\n\nIf the change is intended, run this test with {UPDATE}.")

    def difference(self) -> str:
        """Say how the step differs from the stored one; "" if it does not."""
        name = "/".join(self.path.parts[-3:])
        if not self.path.is_file():
            return f"the record {name} does not exist"
        try:
            comparison = self.diff(str(self.path), **self.tolerance)
        except GradtraceError as error:
            return f"{name} cannot be compared with this step: {error}"
        return (
            ""
            if comparison.equal
            else f"this step (B) differs from {name} (A):\n\n{comparison.verdict_text()}"
        )
