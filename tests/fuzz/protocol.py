"""Random messages to a broker, as from a confined process with a hostile program."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

from gradtrace.sandbox.channel import ASK, DATA, END, KINDS, SEEK, STOP, Channel
from tests.fuzz import mutate

KIND = sorted(KINDS)
ODD: list[Any] = [
    None, True, -1, 0, 1, 2, 10**13, 10**400, 0.5, float("nan"), float("inf"), "", "png", "../x", "/etc/passwd",
    "\x00", "é", [], [1], ["x"], {}, {"x": 1}, "csv", "svg", "gif", "rows",
]  # fmt: skip
FIELDS = """output facts resume first kind rows format dpi time_limit width height seconds most names table there
    constants end bad""".split()  # noqa: SIM905
CONTENT = [
    b"\x89PNG\r\n\x1a\n",
    b"",
    b"digraph { a -> b }",
    b"<svg></svg>",
    b"PK\x03\x04",
    b"{}",
    b"[1]",
    b"x,y\n1,2\n",
]


def make(rng: Random) -> bytes:
    """Frames, most of them as the protocol has them, some cut or changed."""
    from gradtrace.cli import requests

    names = sorted(requests.HANDLERS)
    made = b""
    for _ in range(rng.randint(1, 4)):
        request = {"ask": rng.choice(names), **{rng.choice(FIELDS): rng.choice(ODD) for _ in range(rng.randint(0, 5))}}
        # drawing starts a process each time: rarely
        if request["ask"] in ("render", "film", "figures", "tensorboards") and rng.random() < 0.98:
            request["dpi"] = request["width"] = request["seconds"] = "none"
            request["ask"] = "render"
        made += frame(ASK, json.dumps(request if rng.random() < 0.95 else rng.choice(ODD)).encode())
        for _ in range(rng.choice((0, 1, 1, 2, 5))):
            kind = rng.choice((DATA, DATA, SEEK))
            offset = rng.choice((0, 1, 8, 2**31, 2**62, 2**64 - 1)).to_bytes(8, "little")
            made += frame(kind, rng.choice(CONTENT) if kind == DATA else offset)
        made += frame(rng.choice((END, END, STOP, DATA)), json.dumps(rng.choice(ODD)).encode())
    if rng.random() < 0.3:
        made = mutate.data(rng, [made])
    if rng.random() < 0.1:
        made = rng.choice(KIND) + rng.randbytes(8) + made
    return made


def frame(kind: bytes, body: bytes) -> bytes:
    return kind + len(body).to_bytes(8, "little") + body


class PrintsNothing:
    """The Copier of a child that prints nothing."""

    over = False
    failure = None
    left = 0

    def settle(self, look: Callable[[], None]) -> None:
        pass


def run(messages: bytes) -> None:
    """The broker answers, or ends the child; the child has closed its end after the messages."""
    from gradtrace.cli.broker import Broker, Ended
    from gradtrace.cli.grants import Grants

    outputs = tuple((name, name) for name in ("g.png", "t.csv", "r.gt"))
    requests, answers = os.pipe(), os.pipe()
    threads = [
        threading.Thread(target=send, args=(requests[1], messages)),
        threading.Thread(target=read_all, args=(answers[0],)),
    ]
    for thread in threads:
        thread.start()
    try:
        grants = Grants(outputs=outputs, folder="parts", seconds=3.0, memory=10**9)
        broker = Broker(os.getpid(), Channel(requests[0], answers[1]), PrintsNothing(), grants, [])  # type: ignore[arg-type]
        with suppress(EOFError, Ended):
            while broker.answered():
                pass
    finally:
        os.close(requests[0])
        os.close(answers[1])
        for thread in threads:
            thread.join()
    unknown = set(os.listdir()) - {name for name, _ in outputs} - {"parts"}
    assert not unknown, unknown


def send(descriptor: int, content: bytes) -> None:
    with suppress(BrokenPipeError):
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
    os.close(descriptor)


def read_all(descriptor: int) -> None:
    while os.read(descriptor, 65536):
        pass
    os.close(descriptor)
