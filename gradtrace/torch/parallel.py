"""What PyTorch does between processes within a module's forward: buffers that
DistributedDataParallel sends, pipelines.

Neither is an operation of the program. Buffers that were overwritten get new versions in the
record. Stages of a pipeline first compute with tensors of no meaning, to learn shapes, which is not
recorded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradtrace.torch import private
from gradtrace.trace.record import PIPELINE

if TYPE_CHECKING:
    from gradtrace.torch.recorder import Recorder


def sending(rec: Recorder, original: Any) -> Any:
    """Return DistributedDataParallel's method that overwrites buffers with those of rank 0, with a
    note of that: it restores their version counters.
    """

    def send(self: Any) -> None:
        original(self)
        if not rec.is_on():
            return
        with private.without_torch_function(), rec.lock:
            rec.overwritten("broadcast", list(self.modules_buffers))

    return send


def staged(rec: Recorder, original: Any) -> Any:
    """Return a method of a pipeline's stage that also notes that there is a pipeline, and that what
    the stage has received is in memory that was noted before.
    """

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if PIPELINE not in rec.left_out:
            rec.problem(PIPELINE)
        with private.without_torch_function(), rec.lock:
            rec.overwritten("receive", private.received(self))
        return original(self, *args, **kwargs)

    return method
