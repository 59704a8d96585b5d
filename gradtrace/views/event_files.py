"""TensorBoard's event files: messages that tensorboardX (the extra `tensorboard`) makes, each with
its checksum.

    messages = Messages()                  imports tensorboardX; RenderError where it is not
                                           installed
    file = EventFile(sink, messages)       sink has write(bytes) and close()
    file.add(messages.scalar("loss", 0.5), step=3)

The sink is an argument, so that a program's files are opened only where its permission to write
allows.
"""

from __future__ import annotations

import itertools
import os
import struct
import time

from gradtrace.annotations import Any
from gradtrace.errors import RenderError

_numbers = itertools.count()


class Messages:
    """tensorboardX's message classes and the functions that make messages."""

    def __init__(self) -> None:
        try:
            from tensorboardX import summary
            from tensorboardX.proto.event_pb2 import Event
            from tensorboardX.record_writer import masked_crc32c
        except ImportError:
            raise RenderError(
                "a TensorBoard file needs tensorboardX, which is not installed",
                "pip install 'gradtrace[tensorboard]'; or gradtrace graph FILE -o graph.html, "
                "which needs nothing",
            ) from None
        self.event = Event
        self.checksum = masked_crc32c
        self.scalar = summary.scalar
        self.histogram = summary.histogram
        self.text = summary.text


class EventFile:
    """One event file. It begins with the version record that TensorBoard requires."""

    def __init__(self, sink: Any, messages: Messages) -> None:
        self._sink = sink
        self._messages = messages
        self._record(messages.event(wall_time=time.time(), file_version="brain.Event:2"))

    def add(self, summary: Any, step: int | None = None, wall_time: float | None = None) -> None:
        """Write a summary (a scalar, a histogram, a text) for a step."""
        now = time.time() if wall_time is None else wall_time
        self._record(
            self._messages.event(wall_time=now, step=0 if step is None else step, summary=summary)
        )

    def add_graph(self, graph: Any) -> None:
        content = graph.SerializeToString(deterministic=True)
        self._record(self._messages.event(wall_time=time.time(), graph_def=content))

    def close(self) -> None:
        self._sink.close()

    def _record(self, event: Any) -> None:
        content = event.SerializeToString()
        length = struct.pack("<Q", len(content))
        check = self._messages.checksum
        self._sink.write(
            length + struct.pack("<I", check(length)) + content + struct.pack("<I", check(content))
        )


def new_name(suffix: str = "") -> str:
    """Return a new unique file name that TensorBoard recognizes."""
    return f"events.out.tfevents.{int(time.time()):010d}.gradtrace.{os.getpid()}.{next(_numbers)}{suffix}"
