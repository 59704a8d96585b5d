"""The capsule of a step that a guard has repeated.

The parent opens the file before it forks. The child, which can open no file for writing, writes the
tensors when the state before the step is restored, and the document when the step was repeated; so
nothing is copied. The parent gives the file its name.
"""

from __future__ import annotations

import itertools
import os
import shutil
import zipfile
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from gradtrace.errors import UsageError
from gradtrace.torch import private
from gradtrace.torch.capsule import before, numbers, sums_of
from gradtrace.torch.capsule_file import Tensors, write_document, write_tensors
from gradtrace.torch.capsule_state import sources_of
from gradtrace.torch.passes import text_of
from gradtrace.views.cells import bytes_text

if TYPE_CHECKING:
    from gradtrace.torch.guard import StepGuard

PART = ".part"


class StepParts(NamedTuple):
    """What a capsule has of a step: its model and the name of that, its batch, how it calls the
    model, and the loader of its batches.
    """

    model: Any
    name: str
    batch: Any
    step: str
    call: dict[str, Any]
    loader: Any = None


class CapsuleFile:
    """A file that the parent has opened for its child. OSError if that is not possible."""

    def __init__(self, folder: Any, name: str) -> None:
        folder = os.fspath(folder)
        os.makedirs(folder, exist_ok=True)
        names = (
            f"{name}{'' if number == 1 else f'-{number}'}.gtc" for number in itertools.count(1)
        )
        paths = (os.path.join(folder, file_name) for file_name in names)
        self.path = next(
            path for path in paths if not os.path.exists(path) and not os.path.exists(path + PART)
        )
        self.free = shutil.disk_usage(folder).free
        self.stream = open(self.path + PART, "xb")  # noqa: SIM115  the child writes to it

    def keep(self) -> str:
        """Give the file its name, and say where it is. OSError if that is not possible."""
        self.stream.close()
        os.replace(self.path + PART, self.path)
        return (
            f"{self.path} has the state before this step ({bytes_text(os.path.getsize(self.path))})"
        )

    def drop(self) -> None:
        """Remove the file unless it has its name."""
        self.stream.close()
        with suppress(OSError):
            os.unlink(self.path + PART)


class CapsuleWriter:
    """Writes a capsule in the child. `reason` says why there is none."""

    def __init__(self, place: CapsuleFile, grads: dict[int, Any]) -> None:
        self.place = place
        self.grads = grads  # the gradients of the step itself, by the ids of the parameters
        self.reason = ""
        self.file: zipfile.ZipFile | None = None
        self.document: dict[str, Any] = {}
        self.model: Any = None

    def attempt(self, work: Callable[[], None]) -> None:
        """Call a function unless one before it has failed; the repetition goes on without a
        capsule.
        """
        self.reason = self.reason or failure(work)

    def begin(self, guard: StepGuard, args: Any, kwargs: Any) -> None:
        self.attempt(lambda: self.write_state(guard, args, kwargs))

    def write_state(self, guard: StepGuard, args: Any, kwargs: Any) -> None:
        tensors = Tensors(is_copying=False)
        self.document, parts = state_of(guard, tensors, args, kwargs, self.place)
        self.model = parts.model
        self.document["gradient_sums"] = sums_of(parts.model, self.grads)
        self.file = zipfile.ZipFile(self.place.stream, "w")
        write_tensors(self.file, tensors)

    def end(self, recorded: Any, result: Any, grads: Any) -> str:
        """Finish the file; return why that was not possible, "" if it was. `grads` are pairs of
        parameters and the gradients that are the capsule's in place of those of the step itself.
        """
        self.attempt(lambda: self.write_rest(recorded, result, grads))
        return self.reason

    def write_rest(self, recorded: Any, result: Any, grads: Any) -> None:
        assert self.file is not None and self.model is not None
        if grads:
            self.document["gradient_sums"] = sums_of(self.model, {id(p): grad for p, grad in grads})
        trace = recorded.trace()
        texts = {recorded._main or trace.source_name: trace.source_text, **dict(trace.files)}
        self.document.update(roots=roots_of(trace), results=numbers(result), sources=texts)
        write_document(self.file, self.document)
        self.file.close()
        self.place.stream.flush()


def state_of(
    guard: StepGuard, tensors: Tensors, args: Any, kwargs: Any, place: CapsuleFile
) -> tuple[Any, StepParts]:
    """Return the document about the state before a guarded step, whose tensors go to `tensors`, and
    the step's parts. UsageError if a capsule cannot have them, or the disk has no room for it.
    """
    parts = guard.parts(args, kwargs)
    reach = guard.reach(args, kwargs)
    document = before(tensors, parts.model, parts.batch, reach, parts.loader)
    if tensors.size > place.free:
        raise UsageError(
            f"it needs {bytes_text(tensors.size)}, and {bytes_text(place.free)} are free on its "
            "disk"
        )
    own = {
        "name": parts.name,
        "step": parts.step,
        "call": parts.call,
        "sources": sources_of(reach.file),
    }
    return {**document, **own}, parts


@private.modeless
def failure(work: Callable[[], None]) -> str:
    """Call a function; return why it has failed, "" if it has not."""
    try:
        work()
    except UsageError as error:
        return error.message
    except Exception as error:
        return text_of(error)
    return ""


def roots_of(trace: Any) -> list[str]:
    """Return the real numbers whose gradients a recorded step has computed, as texts with all their
    bits.
    """
    values = [trace.tensors[number].value for event in trace.passes for number in event.roots]
    roots = [
        v.elements for v in values if v is not None and v.elements is not None and v.shape == ()
    ]
    return [float(root).hex() for root in roots if not isinstance(root, complex)]
