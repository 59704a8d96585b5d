"""Forged messages to a broker, as from a confined process with a hostile program.

Each input is some exchanges as the protocol has them (`EXCHANGES`), with changes: in the fields of a request, in what
follows it, in the kinds, lengths and order of the frames, in their bytes. What the broker would do for an honest
request in another process is replaced by a function that checks what it is asked for.
"""

from __future__ import annotations

import io
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from gradtrace.sandbox.channel import (
    ASK,
    DATA,
    END,
    HEADER,
    KINDS,
    LONGEST_WORD,
    PIECE,
    SAY,
    SEEK,
    STOP,
    Channel,
)
from tests.fuzz import formats, mutate

if TYPE_CHECKING:
    from gradtrace.cli.grants import Grants

KIND = sorted(KINDS)
OUTPUTS = {
    "g.png": b"\x89PNG\r\n\x1a\n",
    "t.csv": b"x,y\n1,2\n",
    "r.gt": b"PK\x03\x04",
    "g.html": b"<!DOCTYPE html>",
}
CONTENT = [*OUTPUTS.values(), b"", b"digraph { a -> b }", b"<svg></svg>", b"{}", b"[1]"]
SIZES = (0, 1, 8, 1 << 20, (1 << 20) + 1, 1 << 22, (1 << 22) + 1, 1 << 31, 1 << 62, (1 << 64) - 1)
TENSOR = {"value": [1.0, "NaN"], "dtype": "float64"}
CALL = {
    **{"count": 1, "vectors": [TENSOR], "outputs": ["y"], "inputs": [], "retain_grad": []},
    **{"retain_graph": True, "create_graph": False, "zero_grad": False},
}
QUESTION = {
    **{"dtype": "float64", "imports_torch": True, "random_state": "00ff", "backward": CALL},
    **{"inputs": {"x": {**TENSOR, "requires_grad": True}}},
}
TABLE = {
    "table": {"rows": 9, "part_rows": 3, "names": ["x"], "offsets": [0, 5, 9, 12]},
    "there": {"0": 3},
}
# A request, what follows it (bytes, or a document), and the word at its end; None: nothing follows.
EXCHANGES: list[tuple[dict[str, Any], Any, dict[str, Any] | None]] = [
    *(
        ({"ask": "write", "output": number}, content, {})
        for number, content in enumerate(OUTPUTS.values())
    ),
    ({"ask": "open", "output": 3}, None, None),
    ({"ask": "prepare", "facts": {"program": "x", "rows": 4}, "resume": False}, None, None),
    ({"ask": "part", "first": 0, "kind": "csv"}, b"x\n1\n", {"end": 1, "bad": 0}),
    ({"ask": "finish", "rows": 4}, None, None),
    ({"ask": "render", "format": "svg", "dpi": 0, "time_limit": 60.0}, b"digraph { a -> b }", {}),
    ({"ask": "film", "width": 2, "height": 1}, b"123456", {}),
    ({"ask": "tensorboards"}, None, None),
    ({"ask": "entry", "names": ["x", "w"]}, None, None),
    ({"ask": "torch"}, QUESTION, {}),
    ({"ask": "cluster"}, {**TABLE, "constants": {"w": 2}}, {}),
    ({"ask": "command", "words": ["eval", "x*x", "--x", "2"]}, b"", {}),
    ({"ask": "command", "words": ["run", "-"]}, b"print(1)", {}),
]


def make(rng: Random) -> bytes:
    frames = [one for _ in range(rng.randint(1, 4)) for one in exchange(rng)]
    if rng.random() < 0.15:
        rng.shuffle(frames)
    if rng.random() < 0.15:
        frames.insert(rng.randrange(len(frames) + 1), (rng.choice(KIND), rng.choice(CONTENT)))
    if rng.random() < 0.002:
        frames.insert(
            0,
            (
                rng.choice((ASK, DATA, END)),
                rng.choice((b"[", b" ", b"9", b"\xff")) * (LONGEST_WORD + 1),
            ),
        )
    made = b"".join(frame(kind, body) for kind, body in frames)
    if rng.random() < 0.2:
        made = mutate.data(rng, [made])
    if rng.random() < 0.1:
        made += (
            rng.choice(KIND)
            + rng.choice(SIZES).to_bytes(8, "little")
            + rng.randbytes(rng.randrange(20))
        )
    return made


def exchange(rng: Random) -> list[tuple[bytes, bytes]]:
    """Return the frames of a request and of what follows it; most have one to three changes."""
    request, content, end = rng.choice(EXCHANGES)
    changed = rng.randrange(5)
    if changed == 0:
        request = formats.document(rng, request)
    made = [(ASK, formats.dumped(request))]
    if end is None and changed != 1:
        return made
    if not isinstance(content, bytes):
        content = formats.dumped(formats.document(rng, content) if changed in (2, 3) else content)
    elif changed == 2:
        content = (
            rng.choice(CONTENT) if rng.random() < 0.5 else mutate.data(rng, [content, *CONTENT])
        )
    made.append((DATA, content))
    if changed == 3:
        made += [(SEEK, rng.choice(SIZES).to_bytes(8, "little")), (DATA, rng.choice(CONTENT))]
    made.append(
        (
            rng.choice((END, END, STOP)),
            formats.dumped(formats.document(rng, end) if changed == 4 else end),
        )
    )
    return made


def frame(kind: bytes, body: bytes) -> bytes:
    return kind + len(body).to_bytes(8, "little") + body


class PrintsNothing:
    """The Copier of a child that prints nothing."""

    over = False
    failure = None
    left = written = 0

    def settle(self, look: Callable[[], None]) -> None:
        pass


@cache
def grants() -> Grants:
    """Return everything that a command line can grant; what happens in other processes is only checked."""
    from gradtrace.batch import cluster
    from gradtrace.cli import argv, console, torch_process
    from gradtrace.cli import grants as asked
    from gradtrace.cli.commands import graph
    from gradtrace.cli.commands.map import command
    from gradtrace.limits import Budget
    from gradtrace.views import animation, image

    image.drawn_apart = check_drawing  # type: ignore[assignment]
    animation.encoded = check_drawing
    graph.show_file = check_shown
    console.started = check_command  # type: ignore[assignment]
    cluster.run = check_table  # type: ignore[assignment]
    torch_process.answer_of = check_question  # type: ignore[assignment]
    sys.argv = [
        "gradtrace",
        "map",
        "-e",
        "x * 2",
        "--grid",
        "x=0:1:5",
        "--scheduler",
        "tcp://nowhere",
    ]
    found = argv.split(sys.argv[2:], command.arity)
    return asked.Grants(
        outputs=tuple((name, name) for name in OUTPUTS),
        shows=True,
        folder="parts",
        seconds=3.0,
        entry_seconds=3.0,
        memory=10**9,
        torch=asked.beside_torch(found, Budget(), False),
        cluster=asked.on_cluster(found, False),
        commands=console.runner(Budget()),
        prompt=entries,
    )


def entries(names: Callable[[], list[str]]) -> Iterator[str]:
    """Yield entries at a prompt where a person asks for the names to complete."""
    while True:
        assert all(map(str.isprintable, names())), names()
        yield ":graph g.png"


def check_drawing(content: bytes, *settings: Any) -> bytes:
    assert isinstance(content, bytes)
    assert len(repr(settings)) < 300
    return content[:2] * PIECE


def check_shown(name: str) -> None:
    assert name in OUTPUTS


def check_command(words: list[str], program: bytes, budget: Any) -> Any:
    from gradtrace.cli import console

    assert not console.hindrance(words, bool(program)) and budget.seconds <= 3.0
    return console.CommandResult(0, "1\n", "")


def check_table(task: Any, table: Any, there: Any, address: str, done: Any, progress: Any) -> None:
    from gradtrace.batch import cluster

    assert address == "tcp://nowhere"
    starts = range(0, table.rows, table.part_rows)
    assert len(starts) <= cluster.MOST_PARTS
    for start in (*starts[:2], *starts[-2:]):
        assert cluster.part_of(table, start)["rows"] > 0


def check_question(text: str, request: dict[str, Any], python: str | None, seconds: float) -> bytes:
    assert (text, python) == ("x * 2", None)
    return json.dumps(request).encode()


def run(messages: bytes) -> None:
    """The broker answers, or ends the child; the child has closed its end after the messages."""
    from gradtrace.cli.broker import Broker, Ended

    for name in OUTPUTS:
        Path(name).unlink(missing_ok=True)
    requests, answers = os.pipe(), os.pipe()
    said = io.BytesIO()
    threads = [
        threading.Thread(target=send, args=(requests[1], messages)),
        threading.Thread(target=read_all, args=(answers[0], said)),
    ]
    for thread in threads:
        thread.start()
    try:
        pipe = Channel(requests[0], answers[1])
        broker = Broker(os.getpid(), pipe, PrintsNothing(), grants(), [])  # type: ignore[arg-type]
        with suppress(EOFError, Ended):
            while broker.answered():
                pass
    finally:
        os.close(requests[0])
        os.close(answers[1])
        for thread in threads:
            thread.join()
    check_answers(said.getvalue())
    unknown = set(os.listdir()) - {*OUTPUTS, "parts"}
    assert not unknown, unknown
    for name in ("g.png", "r.gt"):
        assert not os.path.exists(name) or Path(name).read_bytes().startswith(OUTPUTS[name][:2]), (
            name
        )
    assert not os.path.exists("g.html")  # none of the contents is a page of gradtrace's own


def check_answers(said: bytes) -> None:
    """The broker answers in whole frames, and tells nothing of its environment."""
    assert os.environ.get("CANARY", "canary").encode() not in said
    while said:
        kind, size = said[:1], int.from_bytes(said[1:HEADER], "little")
        assert kind in (SAY, DATA, END) and len(said) >= HEADER + size, said[:HEADER]
        if kind == SAY:
            assert {"ok", "error"} & set(json.loads(said[HEADER : HEADER + size]))
        said = said[HEADER + size :]


def send(descriptor: int, content: bytes) -> None:
    with suppress(BrokenPipeError):
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
    os.close(descriptor)


def read_all(descriptor: int, said: io.BytesIO) -> None:
    while part := os.read(descriptor, 65536):
        said.write(part)
    os.close(descriptor)
