"""torch.save and torch.load in programs: what may not be written to a file stays in memory for the run."""

from __future__ import annotations

import io
import os

from gradtrace.annotations import Any, Callable
from gradtrace.utils import serialization

KEPT = "torch.save keeps what it gets in memory, for torch.load in the same run: no file is written"


def checkpoint_names(tell: Callable[[str], None]) -> dict[str, dict[str, Any]]:
    """Return torch.save and torch.load of a run; `tell` prints a line for the user."""
    kept: dict[str, bytes] = {}  # the content of files that could not be written, by absolute path

    def save(obj: Any, f: Any, *args: Any, **options: Any) -> None:
        """Write an object to a file (torch.save); keep it in memory if the file cannot be written."""
        try:
            serialization.save(obj, f, *args, **options)
        except OSError:
            if not isinstance(f, (str, os.PathLike)):
                raise
            tell(KEPT)
            content = io.BytesIO()
            serialization.save(obj, content)
            kept[os.path.abspath(f)] = content.getvalue()

    def load(f: Any, *args: Any, **options: Any) -> Any:
        """Return what a file holds (torch.load)."""
        path = os.path.abspath(f) if isinstance(f, (str, os.PathLike)) else ""
        return serialization.load(io.BytesIO(kept[path]) if path in kept else f, *args, **options)

    return {"torch": {"save": save, "load": load}, "torch.serialization": {"save": save, "load": load}}
