"""The pipe between a confined process and its broker: frames with a kind and a length.

    frame: kind, one byte; length, eight bytes, little-endian; that many bytes

    child                                    broker
    ASK    {"ask": "write", "output": 0}     ->
                                             <-  SAY    {"ok": true}, or {"error": ...}
    DATA   bytes        SEEK  offset         ->
    END    {}                                ->
                                             <-  SAY

A confined process has one broker, whose end stays open in `state`. Requests are answered one after
the other. An error of the broker is raised here as the exception of gradtrace that it names.
"""

from __future__ import annotations

import io
import os

from gradtrace import errors
from gradtrace.annotations import Any, Callable

ASK = b"?"
SAY = b"!"
DATA = b"d"
SEEK = b"s"
END = b"."
STOP = b"x"
KINDS = frozenset((ASK, SAY, DATA, SEEK, END, STOP))
HEADER = 9  # bytes
PIECE = 1 << 20  # bytes of a DATA frame
LONGEST_WORD = 4 << 20  # bytes of an ASK, SAY or END frame


class _State:
    """The channel of this process, if it is confined, and what it may ask for."""

    __slots__ = ("channel", "outputs")

    def __init__(self) -> None:
        self.channel: Channel | None = None
        # The names of the outputs that the command line asks for.
        self.outputs: tuple[str, ...] = ()


state = _State()


class Channel:
    """One end of the two pipes. `cut_by` is the exception (Ctrl-C or a limit) that interrupted a
    frame; no other frame can follow.
    """

    def __init__(self, incoming: int, outgoing: int) -> None:
        self.incoming = incoming
        self.outgoing = outgoing
        self.cut_by: BaseException | None = None

    def send(self, kind: bytes, body: bytes | memoryview = b"") -> None:
        if self.cut_by is not None:
            raise self.cut_by
        try:
            self.write(kind + len(body).to_bytes(HEADER - 1, "little"))
            self.write(body)
        except BaseException as error:
            self.cut_by = error
            raise

    def write(self, content: bytes | memoryview) -> None:
        left = memoryview(content)
        while left:
            left = left[os.write(self.outgoing, left) :]

    def receive(self) -> tuple[bytes, bytes]:
        """Return the next frame; raise EOFError if the other end is closed."""
        try:
            header = self.read(HEADER)
            return header[:1], self.read(int.from_bytes(header[1:], "little"))
        except BaseException as error:
            self.cut_by = error
            raise

    def read(self, size: int) -> bytes:
        parts: list[bytes] = []
        while size:
            part = os.read(self.incoming, min(size, PIECE))
            if not part:
                raise EOFError("the process at the other end has gone")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


def is_open() -> bool:
    """Whether this process is confined and has a broker."""
    return state.channel is not None


def ask(request: str, **details: Any) -> dict[str, Any]:
    """Ask the broker, and return its answer; raise the error that it answers with."""
    send_word(ASK, {"ask": request, **details})
    return answer()


def ask_with(request: str, content: bytes, **details: Any) -> bytes:
    """Ask the broker about `content`, and return the bytes that it answers with."""
    ask(request, **details)
    send_data(content)
    send_word(END, {})
    answer()
    return received_data()


def write_to(name: str, fill: Callable[[Any], None]) -> None:
    """Have the broker write an output of the command line; `fill` is called with a file to write
    to.
    """
    stream_to("write", fill, output=number_of(name))


def ask_about(name: str, request: str) -> None:
    """Ask the broker for something about an output of the command line."""
    ask(request, output=number_of(name))


def number_of(name: str) -> int:
    """Return the number of an output; UsageError if the command line does not name it."""
    if name not in state.outputs:
        raise errors.UsageError(
            f"cannot write '{name}': the command line does not name it", "give it with -o"
        )
    return state.outputs.index(name)


def stream_to(request: str, fill: Callable[[Any], Any], **details: Any) -> None:
    """Send what `fill` writes to the broker; the dict that it returns, if any, ends the content."""
    ask(request, **details)
    file = Outgoing()
    try:
        last = fill(file)
        file.flush()
    except BaseException:
        file.is_abandoned = True
        if opened().cut_by is None:
            send_word(STOP, {})
        raise
    send_word(END, last or {})
    answer()


class Outgoing(io.RawIOBase):
    """A file for writing whose content goes to the broker. Once `is_abandoned`, it drops what the
    buffers around it still hold.
    """

    def __init__(self) -> None:
        self.is_abandoned = False
        self.position = self.size = 0
        self.waiting: list[bytes] = []
        self.held = 0

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def write(self, content: Any, /) -> int:
        piece = bytes(content)
        self.waiting.append(piece)
        self.held += len(piece)
        self.position += len(piece)
        self.size = max(self.size, self.position)
        if self.held >= PIECE:
            self.flush()
        return len(piece)

    def flush(self) -> None:
        pieces = self.waiting
        self.waiting = []
        self.held = 0
        if pieces and not self.is_abandoned:
            send_data(b"".join(pieces))

    def tell(self) -> int:
        return self.position

    def seek(self, offset: int, whence: int = 0, /) -> int:
        self.flush()
        self.position = (0, self.position, self.size)[whence] + offset
        opened().send(SEEK, self.position.to_bytes(8, "little"))
        return self.position


def send_data(content: bytes) -> None:
    view = memoryview(content)
    for start in range(0, len(view), PIECE):
        opened().send(DATA, view[start : start + PIECE])


def received_data() -> bytes:
    """Return the content of DATA frames up to the END frame."""
    pieces: list[bytes] = []
    while True:
        kind, body = opened().receive()
        if kind != DATA:
            return b"".join(pieces)
        pieces.append(body)


def send_word(kind: bytes, word: dict[str, Any]) -> None:
    import json

    opened().send(kind, json.dumps(word).encode())


def answer() -> dict[str, Any]:
    import json

    _, body = opened().receive()
    reply: dict[str, Any] = json.loads(body)
    if reply.get("error") == "OSError":
        raise OSError(reply["number"], reply["message"])
    if "error" in reply:
        kind = getattr(errors, reply["error"], errors.UsageError)
        raise kind(reply["message"], reply["hint"])
    return reply


def opened() -> Channel:
    assert state.channel is not None
    return state.channel
