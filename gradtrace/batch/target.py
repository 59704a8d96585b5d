"""The destination of a table: a file that is renamed when complete, or a pipe or device."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from types import TracebackType
from typing import IO, Any

from gradtrace.batch import formats
from gradtrace.errors import UsageError


class Target:
    """A file that is either written completely or not at all.

    with Target("out.csv", "csv") as writer:
        writer.write(columns, set(), set())
    """

    def __init__(self, name: str, kind: str) -> None:
        self.name, self.kind = name, kind
        self.stream: IO[bytes] | None = None

    def __enter__(self) -> Any:
        folder = os.path.dirname(os.path.realpath(self.name))
        self.direct = os.path.exists(self.name) and not stat.S_ISREG(os.stat(self.name).st_mode)
        if not self.direct and os.path.exists(self.name) and not os.access(self.name, os.W_OK):
            raise UsageError(f"cannot write '{self.name}': permission denied", "choose another place with -o")
        hidden = f".{os.path.basename(self.name)}.{os.getpid()}.tmp"
        self.beside = self.name if self.direct else os.path.join(folder, hidden)
        try:
            self.stream = open(self.beside, "wb" if self.direct else "w+b")
        except OSError as error:
            raise UsageError(
                f"cannot write '{self.name}': {(error.strerror or str(error)).lower()}",
                "create the folder first, or choose another place with -o",
            ) from error
        self.writer = formats.writer(self.stream, self.kind, folder)
        return self.writer

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self.stream is not None
        try:
            if kind is None:
                self.writer.close()
                self.stream.close()
                if not self.direct:
                    self.keep_rights()
                    os.replace(self.beside, os.path.realpath(self.name))
        finally:
            with suppress(OSError, ValueError):
                self.stream.close()
            if not self.direct:
                with suppress(OSError):
                    os.unlink(self.beside)

    def keep_rights(self) -> None:
        """Give the new file the owner and mode of the file that it replaces."""
        with suppress(OSError):
            known = os.stat(self.name)
            os.chmod(self.beside, stat.S_IMODE(known.st_mode))
            os.chown(self.beside, known.st_uid, known.st_gid)
