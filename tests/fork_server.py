"""Runs `gradtrace` command lines in forks of one process that has loaded what they all load.

Starting Python and loading gradtrace takes longer than most command lines that the tests run. A fork is a process too,
with limits, signals and audit hooks of its own. What the server has loaded is what a run of `WARM_UP` loads, so a
module that a command loads later is loaded later here too. Tests that use a fork run again as processes started from
nothing, under the marker `slow`.

    python fork_server.py SOCKET WARM_UP [MODULE]        MODULE: imported first
"""

from __future__ import annotations

import gc
import importlib
import io
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
WARM_UP = "x = 1\n"
WARM_UP_ARRAYS = (
    "import torch\nx = torch.ones(2, requires_grad=True)\n(x * x).sum().backward()\nprint(x.grad)\n"
)


class ForkServer:
    """The client's side; one server process, which ends when this object does."""

    def __init__(self, warm_up: str = WARM_UP, module: str = "", path: Path = ROOT) -> None:
        self.socket, theirs = socket.socketpair()
        paths = os.pathsep.join(filter(None, map(str, (path, ROOT, os.environ.get("PYTHONPATH")))))
        # -P: the folder tests/torch is not PyTorch
        command = [
            sys.executable,
            "-P",
            __file__,
            str(theirs.fileno()),
            warm_up,
            *filter(None, [module]),
        ]
        environment = {**os.environ, "PYTHONPATH": paths}
        self.process = subprocess.Popen(command, env=environment, pass_fds=[theirs.fileno()])
        theirs.close()

    def run(
        self,
        args: list[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        text: str | None = None,
        timeout: float = 120,
    ) -> subprocess.CompletedProcess[str]:
        """Like subprocess.run with captured text; `text` is the standard input."""
        with (
            tempfile.TemporaryFile() as stdin,
            tempfile.TemporaryFile() as stdout,
            tempfile.TemporaryFile() as stderr,
        ):
            stdin.write((text or "").encode("utf-8", "surrogateescape"))
            stdin.seek(0)
            streams = (stdin, stdout, stderr)
            request = json.dumps(
                {"args": [os.fsdecode(arg) for arg in args], "cwd": str(cwd), "env": dict(env)}
            ).encode()
            socket.send_fds(
                self.socket,
                [len(request).to_bytes(8, "little")],
                [file.fileno() for file in streams],
            )
            self.socket.sendall(request)
            pid = self.answer(60)
            try:
                code = self.answer(timeout)
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                self.answer(60)
                raise subprocess.TimeoutExpired(args, timeout) from None
            for file in (stdout, stderr):
                file.seek(0)
            out, err = (
                file.read().decode("utf-8", "replace").replace("\r\n", "\n")
                for file in (stdout, stderr)
            )
        return subprocess.CompletedProcess(args, code, out, err)

    def answer(self, timeout: float) -> int:
        self.socket.settimeout(timeout)
        received = self.socket.recv(8)
        if not received:
            raise RuntimeError("the fork server has ended")
        return int.from_bytes(received, "little", signed=True)

    def close(self) -> None:
        self.socket.close()
        self.process.wait(60)


def load(warm_up: str) -> None:
    """Loads what a run of the program `warm_up` loads. The run itself is a fork's: it leaves nothing behind here."""
    from gradtrace.cli.main import run

    reading, writing = os.pipe()
    if os.fork() == 0:
        with tempfile.TemporaryFile() as program:
            program.write(warm_up.encode())
            program.seek(0)
            os.dup2(program.fileno(), 0)
        sys.stdin, sys.stdout = os.fdopen(0, encoding="utf-8"), io.StringIO()
        run(["run", "-"])
        names = [name for name in sys.modules if name.partition(".")[0] in ("gradtrace", "numpy")]
        with open(writing, "w") as pipe:
            json.dump(names, pipe)
        os._exit(0)
    os.close(writing)
    with open(reading) as pipe:
        for name in json.load(pipe):
            importlib.import_module(name)
    os.wait()


def serve(connection: socket.socket) -> dict[str, Any]:
    """Forks for each request. Returns it in the fork; the server itself ends here when the client has gone."""
    while True:
        size, files, _, _ = socket.recv_fds(connection, 8, 3)
        if not size:
            os._exit(0)
        request = b""
        while len(request) < int.from_bytes(size, "little"):
            request += connection.recv(1 << 16)
        pid = os.fork()
        if pid == 0:
            connection.close()
            for i, file in enumerate(files):
                os.dup2(file, i)
                os.close(file)
            found: dict[str, Any] = json.loads(request)
            return found
        for file in files:
            os.close(file)
        connection.sendall(pid.to_bytes(8, "little", signed=True))
        _, status = os.waitpid(pid, 0)
        connection.sendall(os.waitstatus_to_exitcode(status).to_bytes(8, "little", signed=True))


def start() -> None:
    connection = socket.socket(fileno=int(sys.argv[1]))
    connection.set_inheritable(False)
    warm_up, *modules = sys.argv[2:]
    for module in modules:
        importlib.import_module(module)
    load(warm_up)
    gc.collect()
    gc.freeze()
    request = serve(connection)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(
        request.pop("env")
    )  # not kept: a program that reads this process's memory must not find it
    sys.argv[1:] = request["args"]
    sys.path[0] = request["cwd"]
    sys.stdin = os.fdopen(0, encoding="utf-8")
    sys.stdout = os.fdopen(1, "w", encoding="utf-8")
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1)
    from gradtrace.cli.main import main

    main()


if __name__ == "__main__":
    start()
