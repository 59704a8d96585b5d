"""A yard with canaries: a folder in which gradtrace runs as a process, and in which nothing may be touched or told."""

import io
import os
import pickle
import socket
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.fork_server import ForkServer

ROOT = Path(__file__).resolve().parents[2]
SECRET = "canary-of-the-file-7391"
ENVIRONMENT = "canary-of-the-environment-2284"
INNER = ("Traceback (most recent call last)", "<module 'os'", "site-packages", "BuiltinImporter")


class Promise(NamedTuple):
    """How a case must end: the exit code, and a part of what it then prints to stderr (or to stdout, if it is 0)."""

    code: int
    part: str


class Case(NamedTuple):
    """A program, how it is called, and what is promised."""

    name: str
    text: str
    options: tuple[str, ...]
    promise: Promise


class Door:
    """A local TCP port at which nobody may knock."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.setblocking(False)
        self.port = self.listener.getsockname()[1]

    def knocked(self) -> bool:
        try:
            self.listener.accept()
        except BlockingIOError:
            return False
        return True


class Yard:
    """A folder with canaries, and the process that is let loose in it."""

    def __init__(self, folder: Path, door: Door, server: ForkServer | None) -> None:
        self.server = server
        self.whole = folder  # with what lies beside the folder that the process runs in
        self.folder = folder = folder / "yard"
        self.door = door
        for name in ("yard", "yard/out", "yard/outer", "elsewhere"):
            (self.whole / name).mkdir()
        (self.whole / "elsewhere" / "data.npy").write_text(SECRET)
        (folder / "link").symlink_to(self.whole / "elsewhere")
        (folder / "link.npy").symlink_to(self.whole / "elsewhere" / "data.npy")
        os.link(self.whole / "elsewhere" / "data.npy", folder / "second.npy")
        os.mkfifo(folder / "pipe.npy")
        (folder / "secret.txt").write_text(SECRET)
        (folder / "other.py").write_text(f"MARK = '{SECRET}'\nopen('made', 'w')\nprint(MARK)\n")
        (folder / "data.npy").write_bytes(pickled_array())

    def run(
        self,
        *args: str,
        text: str | None = None,
        module: str = "gradtrace",
        seconds: int = 120,
        environment: dict[str, str] | None = None,
        makes: tuple[str, ...] = (),
        may_make: tuple[str, ...] = (),
        inner: tuple[str, ...] = INNER,
    ) -> subprocess.CompletedProcess[str]:
        """`python -m gradtrace ARGS`; what the canaries then say is asserted, and that it makes the files it should."""
        before = self.state()
        env = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "CANARY": ENVIRONMENT,
            "PYTHONIOENCODING": "utf-8",
            "PYTHONDONTWRITEBYTECODE": "1",
            "NO_COLOR": "1",
            **(environment or {}),
        }
        if self.server:
            done = self.server.run(list(args), cwd=self.folder, env=env, text=text, timeout=seconds)
        else:
            done = subprocess.run(
                [sys.executable, "-m", module, *args],
                input=text,
                cwd=self.folder,
                env=env,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=seconds,
            )
        said = done.stdout + done.stderr
        assert SECRET not in said and ENVIRONMENT not in said, "a canary was read"
        assert not [word for word in inner if word in said], said[-2000:]
        after = self.state()
        for name in may_make:
            after.pop(str(self.folder / name), None)
        assert {after.pop(str(self.folder / name), None) is not None for name in makes} <= {True}, (
            "a file is missing"
        )
        assert after == before, "a file was touched"
        assert not self.door.knocked(), "the port was reached"
        return done

    def state(self) -> dict[str, bytes]:
        """What is in the folder and beside it, and in the files."""
        return {
            str(p): p.read_bytes() if p.is_file() else b"" for p in sorted(self.whole.rglob("*"))
        }


class Touch:
    """What a pickle can do when it is read."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("touch made",)


def pickled_array() -> bytes:
    """A .npy file of objects: unpickling it runs a command."""
    header = b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    out = io.BytesIO()
    out.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    out.write(pickle.dumps([Touch()]))
    return out.getvalue()


def read_cases(path: Path) -> list[Case]:
    """The cases of a file: programs between `# ---`, each with its promise in the first line (`# CODE: PART`) and, if
    it is not called by `run FILE`, its arguments in the second (`# $ ARGS`, where - is the program itself)."""
    cases = []
    for number, text in enumerate(path.read_text("utf-8").split("# ---\n")):
        first, _, body = text.partition("\n")
        code, _, part = first.removeprefix("# ").partition(": ")
        options: tuple[str, ...] = ("run", "-")
        if body.startswith("# $ "):
            line, _, body = body.partition("\n")
            options = tuple(line.removeprefix("# $ ").split())
        words = " ".join(body.split())[:60]
        cases.append(
            Case(f"{path.stem}-{number}: {words}", body, options, Promise(int(code), part))
        )
    return cases


def kept(done: subprocess.CompletedProcess[str], promise: Promise) -> bool:
    """Whether a process ended as promised."""
    where = done.stdout if promise.code == 0 else done.stderr
    return done.returncode == promise.code and promise.part in where
