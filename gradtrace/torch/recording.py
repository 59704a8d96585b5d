"""`record()`: record a part of a PyTorch program, to explain, draw and save its run.

with gt.record() as r:
    loss = model(x)
    loss.backward()
print(r.why("model.0.weight"))
"""

from __future__ import annotations

import contextlib
import gc
import io
import os
import sys
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

import torch

from gradtrace.torch import contents, private
from gradtrace.torch.apply import settle
from gradtrace.torch.build import ENGINE, Ending, RecordingBuilder
from gradtrace.torch.comparing import RunComparison, compare
from gradtrace.torch.functions import FirstCall, checks
from gradtrace.torch.patches import Patches, active
from gradtrace.torch.recorder import Recorder
from gradtrace.torch.termination import Termination
from gradtrace.trace.record import TensorRecord, Trace

T = TypeVar("T")


def pause() -> contextlib.AbstractContextManager[Any]:
    """Return a context within which nothing is recorded: an evaluation, a log, a plot. What it
    computes is data for what follows; without a recording it does nothing.
    """
    recorder = active()
    return contextlib.nullcontext() if recorder is None else recorder.unrecorded()


class NoRecordingError(RuntimeError):
    """Raised if a recording is used before its block ended."""


class record:
    """Record what PyTorch does in a `with` block, and answer questions about it afterwards.

    `level` says how much of the values is kept: "structure" only shapes, dtypes and single numbers,
    "summary" small arrays whole and statistics of others, "compare" also what is needed to compare
    these with those of another record, "values" every element of arrays up to 24 MB in all (the
    environment variable GRADTRACE_MAX_RECORD has another number of bytes), "precision" as "summary"
    the error of each result against float64 (a step takes several times as long). The recording
    does not change losses, gradients, random numbers, buffers or the optimiser's state, and it does
    not keep tensors alive. `like` is an earlier record, or its file, that `diff()` compares with.
    ValueError for another level; OSError if the file cannot be read; RuntimeError if another
    recording is active.
    `trace().left_out` lists what could not be recorded.
    """

    def __init__(self, level: str = "", like: Any = None) -> None:
        level = level or ("summary" if like is None else "compare")
        if level not in contents.LEVELS:
            raise ValueError(f"level must be one of {', '.join(contents.LEVELS)}, not {level!r}")
        if isinstance(like, (str, os.PathLike)):
            with open(like, "rb"):  # a file that is missing fails before the step, not after it
                pass
        self.level = level
        self.like = like
        self._recorder: Recorder | None = None
        self._patches: Patches | None = None  # while the block runs
        self._termination = Termination()
        self._ending: Ending | None = None
        self._trace: Trace | None = None
        self._frame: Any = None
        self._main = ""
        self._env: dict[str, Any] | None = None  # of a script: its module's variables
        self._ids: dict[int, Any] = {}
        self._functions: dict[str, FirstCall] = {}  # not yet checked
        self._places: Any = None

    @classmethod
    def from_bytes(cls, content: bytes, level: str) -> record:
        """Return the record that a .gt file has; its questions are about names, not about
        tensors.
        """
        from gradtrace.trace.file import read

        recording = cls(level)
        recording._trace = read("the record", io.BytesIO(content)).trace("all")
        return recording

    def bind(self, tensors: list[Any], ids: list[int | None]) -> None:
        """Let questions be about these tensors, by their ids in the record; None for one that the
        record lacks.
        """
        pairs = zip(tensors, ids, strict=False)
        self._ids = {
            id(tensor): (weakref.ref(tensor), number)
            for tensor, number in pairs
            if number is not None
        }

    def __enter__(self) -> record:
        if active() is not None:
            # frees a recording whose end a signal has prevented; its variable's frame refers to it
            gc.collect()
        if active() is not None:
            raise RuntimeError("another recording is active; end it first: recordings do not nest")
        try:
            frame = program_frame(sys._getframe(1))
            self._trace = self._ending = None
            self._release()
            if self._env is None:
                self._frame = frame
                self._main = frame.f_code.co_filename
            self._recorder = Recorder(self.level)
            self._recorder.frame_id = id(self._frame)
            self._patches = Patches(self._recorder)
            self._patches.install()
            self._termination.__enter__()
            private.put_lowest(self._recorder)
            if self._recorder.precision is not None:
                self._recorder.precision.__enter__()
            return self
        except BaseException:
            self._leave()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        try:
            try:
                recorder = self._entered()
                private.remove_mode(recorder)
                settle(recorder)
            finally:
                self._leave()
            frame = self._frame
            self._frame = None
            env = self._env if self._env is not None else variables_of(frame)
            with private.without_torch_function(), private.without_torch_dispatch():
                self._note_end(recorder, env, error, tb)
            self._functions = recorder.functions
            self._places = recorder.places
            recorder.ended = True
        finally:
            self._leave()  # a signal may have interrupted it before

    def _entered(self) -> Recorder:
        if self._recorder is None or self._patches is None:
            raise RuntimeError("this recording was not entered: use it in a `with` block")
        return self._recorder

    def _note_end(
        self, recorder: Recorder, env: dict[str, Any], error: BaseException | None, tb: Any
    ) -> None:
        try:
            failure = None if error is None else failed(recorder, error, tb)
            self._ids = dict(recorder.identities)
            self._ending = Ending(recorder, env, failure)
        except Exception:  # a signal has interrupted a note; its exception is the program's
            if error is None:
                raise

    def _leave(self) -> None:
        """Restore PyTorch. Nothing happens if that is done; if a signal interrupts it, it can be
        repeated.
        """
        if self._patches is not None:
            if self._patches.rec.precision is not None:
                self._patches.rec.precision.leave()
            private.remove_mode(self._patches.rec)
            self._patches.remove()
            self._termination.__exit__()
            self._patches = None

    def __del__(self) -> None:
        # a signal came when __exit__ was called, before its first line
        if getattr(self, "_patches", None) is not None:
            self._leave()
        self._release()

    def _release(self) -> None:
        recorder = getattr(self, "_recorder", None)
        if recorder is not None:
            recorder.release()
            self._recorder = None

    # ---- the record

    def trace(self) -> Trace:
        """Return the record as a Trace, which every view and analysis of gradtrace reads."""
        if self._trace is None:
            if self._ending is None:
                raise NoRecordingError(
                    "nothing is recorded yet: ask after the block `with record() as r` has ended"
                )
            from gradtrace.trace.file import uncollected

            with private.without_torch_function(), private.without_torch_dispatch():
                builder = RecordingBuilder(self._ending, self._main, rank(), processes())
                self._trace = uncollected(builder.build)
            self._ids = {
                key: (identity.ref, identity.last.id) for key, identity in self._ids.items()
            }
            self._ending = None
            self._release()
        return self._trace

    def why(self, what: Any = None) -> str:
        """Explain why a gradient is None, zero, NaN or a number: of a tensor, of a name, or without
        argument of every name.

        The first call runs each autograd Function of the program again, on copies of small
        arguments, to compare its backward with finite differences.
        """
        return undisturbed(lambda: answers(self._checked(), self._name(what)))

    def precision(self, what: Any = None) -> str:
        """Return a text that names the operations that lose decimal digits of the results and
        gradients, or of one tensor's. ValueError if the recording has another level than
        "precision".
        """
        return undisturbed(lambda: lost_digits(self.trace(), self._name(what)))

    def stats(self) -> str:
        """Return a text with norms, zeros, NaN and conclusions from them, as `gradtrace stats`
        shows it.
        """
        return undisturbed(lambda: statistics(self.trace()))

    def steps(self) -> str:
        """Return a text with every step in order, forward and backward, as `gradtrace trace` shows
        it.
        """
        return undisturbed(lambda: in_order(self.trace()))

    def diff(self, like: Any = None, **tolerance: Any) -> RunComparison:
        """Compare with an earlier record, by default that of `record(like=...)`: A is the earlier
        one, B this one.

        The options are those of `compare`.
        """
        baseline = self.like if like is None else like
        if baseline is None:
            raise ValueError(
                "there is nothing to compare with: give record(like='old.gt'), or diff('old.gt')"
            )
        return undisturbed(lambda: compare(baseline, self, **tolerance))

    def draw(self, path: str | os.PathLike[str] | None = None, **options: Any) -> Any:
        """Return the picture (see `gradtrace.draw` for the options); with `path` it is also written
        to this file.
        """
        return undisturbed(lambda: picture(self.trace(), path, options))

    def show(self, **options: Any) -> Any:
        """Return the picture of the run, which a notebook displays."""
        return self.draw(None, **options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the record to a .gt file, which every command of gradtrace accepts."""
        undisturbed(lambda: save(self.trace(), path))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return self.show()._repr_mimebundle_(include, exclude)

    def _checked(self) -> Trace:
        """The trace, with the program's own Functions compared with finite differences."""
        trace = self.trace()
        functions = self._functions
        self._functions = {}
        if functions and rank() is None:
            with private.without_torch_function(), private.without_torch_dispatch():
                trace = self._trace = trace._replace(
                    checks=checks(functions, self._places.spans(self._main))
                )
        return trace

    def _name(self, target: Any) -> Any:
        """A name, or the id of a tensor in the trace."""
        if not isinstance(target, torch.Tensor):
            return target
        self.trace()
        pair = self._ids.get(id(target))
        if pair is None or pair[0]() is not target:
            raise ValueError("this tensor was not used in the recorded block")
        return pair[1]


def program_frame(frame: Any) -> Any:
    """Return the frame of the program that enters a recording, also through a
    contextlib.ExitStack.
    """
    caller = frame
    while caller is not None and caller.f_code.co_filename == contextlib.__file__:
        caller = caller.f_back
    return caller or frame


def variables_of(frame: Any) -> dict[str, Any]:
    """Return the variables that a frame's code can name."""
    from gradtrace.trace.frame_variables import local_variables

    return {**frame.f_globals, **local_variables(frame)}


def failed(recorder: Recorder, error: BaseException, tb: Any) -> tuple[str, str, int] | None:
    """Return the exception that ended the block: kind, message and place; None if there was
    none.
    """
    if isinstance(error, (SystemExit, GeneratorExit)) or getattr(error, "ends_quietly", False):
        return None
    from gradtrace.torch.places import is_hidden, is_installed

    place = own = 0
    while tb is not None:
        file = tb.tb_frame.f_code.co_filename
        if not is_hidden(file):
            place = recorder.places.number(tb.tb_frame.f_code, tb.tb_lasti)
            own = own if is_installed(file) else place
        tb = tb.tb_next
    if own not in (0, place):
        recorder.places.leads[place] = {own}
    return type(error).__name__, message_of(error), place


def message_of(error: BaseException) -> str:
    """Return the message of an exception of the program; "" if its __str__ raises."""
    try:
        return str(error)
    except Exception:
        return ""


def rank() -> int | None:
    """Return the rank of this process in distributed training; None if there is only one
    process.
    """
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return int(torch.distributed.get_rank()) if torch.distributed.get_world_size() > 1 else None
    return (
        int(os.environ["RANK"])
        if os.environ.get("WORLD_SIZE", "1") != "1" and "RANK" in os.environ
        else None
    )


def processes() -> int:
    """Return how many processes train together; 0 if that is not known."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_world_size()
    count = os.environ.get("WORLD_SIZE", "")
    return int(count) if count.isdigit() else 0


def undisturbed(work: Callable[[], T]) -> T:
    """Call `work` and return its result, with numpy's floating-point error settings restored
    afterwards.
    """
    try:
        import numpy
    except ImportError:
        return work()
    settings = numpy.geterr()
    try:
        return work()
    finally:
        numpy.seterr(**settings)


# ---- the answers


def answers(trace: Trace, target: Any) -> str:
    from gradtrace.analysis.causes.table import about, causes_in, is_left
    from gradtrace.analysis.facts import Facts
    from gradtrace.analysis.failures import explain_failure
    from gradtrace.analysis.healthy import short_answer
    from gradtrace.views import why as view
    from gradtrace.views.layout import LayoutOptions

    facts = Facts(trace)
    look = LayoutOptions()
    failure = explain_failure(trace)
    causes = causes_in(facts)
    if target is None:
        first = causes
        if failure is not None:
            first = [failure, *(cause for cause in first if cause.code != failure.code)]
        if not first and (said := short_answer(facts)):
            return with_notes(trace, view.healthy(said, look))
        pairs = (
            []
            if failure is not None
            else [(tensor, about(facts, tensor, causes)) for tensor in trace.named]
        )
        rest = [own for tensor, own in pairs if not causes or is_left(facts, tensor, own, causes)]
        return with_notes(trace, view.report(first, rest, look))
    record = tensor_of(trace, target)
    own = about(facts, record, causes)
    shown = [own] if failure is None else [failure, own]
    return with_notes(trace, view.text(shown, look))


def tensor_of(trace: Trace, target: Any) -> TensorRecord:
    """Return the tensor of an id or a name. UsageError, which offers names, if there is none."""
    from gradtrace.errors import UsageError
    from gradtrace.views import pick

    if isinstance(target, int):
        return trace.tensors[target]
    try:
        return pick.tensor(trace, str(target).removesuffix(".grad"), "NAME")
    except UsageError as error:  # in Python its hint would not be shown
        raise UsageError(f"{error.message}; {error.hint}") from None


def lost_digits(trace: Trace, target: Any) -> str:
    from gradtrace.analysis.precision import answer
    from gradtrace.views import precision as view
    from gradtrace.views.layout import LayoutOptions

    if trace.precision is None:
        raise ValueError(
            'the errors of results were not recorded; record them with record(level="precision")'
        )
    if target is not None:
        target = tensor_of(trace, target).id
    return with_notes(trace, view.report(trace, answer(trace, target), LayoutOptions()))


def with_notes(trace: Trace, text: str) -> str:
    """Return the answer, followed by notes on what the recording could not see."""
    return text.rstrip("\n") + "\n" + "".join(f"{note}\n" for note in trace.left_out)


def statistics(trace: Trace) -> str:
    from gradtrace.views.layout import LayoutOptions

    if trace.training:
        from gradtrace.analysis.training import training
        from gradtrace.views import training as loop

        return with_notes(trace, loop.text(training(trace), LayoutOptions()))
    from gradtrace.analysis.stats import stats
    from gradtrace.views import stats as view

    return with_notes(trace, view.text(stats(trace), LayoutOptions()))


def in_order(trace: Trace) -> str:
    from gradtrace.analysis.steps import steps
    from gradtrace.views import steps as view
    from gradtrace.views.layout import LayoutOptions

    return with_notes(trace, "".join(view.table(steps(trace), LayoutOptions())))


def picture(trace: Trace, path: str | os.PathLike[str] | None, options: dict[str, Any]) -> Any:
    from gradtrace.trace.failed import with_failure
    from gradtrace.trace.file import uncollected
    from gradtrace.trace.relevant import relevant
    from gradtrace.views.notebook import picture_of

    options.pop("names", None)  # a trace has its own
    drawing = uncollected(lambda: picture_of(with_failure(relevant(trace)), **options))
    if path is not None:
        uncollected(lambda: drawing.save(path))
    return drawing


def save(trace: Trace, path: str | os.PathLike[str]) -> None:
    """Write a .gt file; with several processes each its own: step.rank0.gt, or with the rank in
    place of {rank}.
    """
    from gradtrace import files
    from gradtrace.trace.file import uncollected

    files.write_output(name_for(path, trace.rank), uncollected(lambda: file_content(trace)))


def name_for(path: str | os.PathLike[str], rank: int | None) -> str:
    """Return the name of a process's own file: "step.rank0.gt" for "step.gt", or with the rank in
    place of {rank}.
    """
    name = os.fspath(path)
    if rank is None:
        return name
    if "{rank}" in name:
        return name.replace("{rank}", str(rank))
    stem, suffix = os.path.splitext(name)
    return f"{stem}.rank{rank}{suffix}"


def file_content(trace: Trace) -> bytes:
    """Return the bytes of a .gt file."""
    from gradtrace.trace.file import About, write

    about = About(
        trace.source_name, trace.source_text, "float32", None, bool(trace.passes), engine=ENGINE
    )
    content = io.BytesIO()
    write(about, {"all": trace}, content)
    return content.getvalue()
