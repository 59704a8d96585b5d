"""TensorBoard in programs: `torch.utils.tensorboard.SummaryWriter` and `tensorboard.notebook`.

A writer writes only inside the folder of --allow-write. `add_graph` runs the model once, as PyTorch does, and writes
its operations within the boxes of its modules (https://pytorch.org/docs/stable/tensorboard.html).
"""

from __future__ import annotations

import os
import time

from gradtrace.annotations import Any
from gradtrace.lang import permission, wall
from gradtrace.lang.arrays import Array, to_numpy
from gradtrace.lang.hosted import Hosting
from gradtrace.lang.values import Frozen
from gradtrace.sandbox import channel
from gradtrace.views.cells import visible
from gradtrace.views.event_files import EventFile, Messages, new_name

STARTED = (
    "a program starts no TensorBoard; look at it with: tensorboard {}\n"
    "or, without it, at a page of the graph: gradtrace graph FILE -o graph.html\n"
)
LONGEST_INFORMATION = 1 << 20  # bytes read of the file that a TensorBoard leaves


def modules(name: str, hosting: Hosting) -> dict[str, Any]:
    """Return the names that a program can import from a TensorBoard module, for one run."""
    if name == "tensorboard.notebook":
        book = Notebook(hosting)
        return {"list": book.list, "start": book.start, "display": book.start}
    return {"SummaryWriter": Maker(hosting)}


class Maker(Frozen):
    """`SummaryWriter` as a program calls it; it returns a Writer for the run."""

    __slots__ = ("_hosting",)
    __name__ = __qualname__ = "SummaryWriter"

    def __init__(self, hosting: Hosting) -> None:
        self._hosting = hosting

    def __call__(
        self,
        log_dir: str | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
        *,
        logdir: str | None = None,
    ) -> Writer:
        folder = log_dir or logdir or f"runs/{time.strftime('%b%d_%H-%M-%S')}_gradtrace{comment}"
        return Writer(folder, filename_suffix, self._hosting)


class Writer(Frozen):
    """A writer of event files into a folder. Every method returns None; after `close` the next one begins a new
    file.
    """

    __slots__ = ("_files", "_folder", "_hosting", "_messages", "_suffix")

    def __init__(self, folder: str, suffix: str, hosting: Hosting) -> None:
        self._folder = folder
        self._suffix = suffix
        self._hosting = hosting
        self._files: dict[str, EventFile] = {}
        permission.writable(folder, hosting.meter)  # refused before tensorboardX is asked for
        with wall.lowered():
            self._messages = Messages()
        self._file(folder)

    def _file(self, folder: str) -> EventFile:
        if folder not in self._files:
            sink = permission.create(os.path.join(folder, new_name(self._suffix)), self._hosting.meter)
            self._files[folder] = EventFile(sink, self._messages)
        return self._files[folder]

    # ---- what PyTorch's has

    @property
    def log_dir(self) -> str:
        return self._folder

    def get_logdir(self) -> str:
        return self._folder

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Write a number for a step."""
        self._file(self._folder).add(self._messages.scalar(tag, number(scalar_value)), step_of(global_step), walltime)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: dict[str, Any], global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Write several curves of one plot: a folder for each, as PyTorch writes them."""
        for tag, value in tag_scalar_dict.items():
            folder = f"{self._folder}/{main_tag.replace('/', '_')}_{tag}"
            self._file(folder).add(self._messages.scalar(main_tag, number(value)), step_of(global_step), walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Write the distribution of a tensor's numbers. ValueError for an empty one."""
        import numpy as np

        array = np.asarray(unwrap(values), np.float64)
        edges = default_bins() if bins == "tensorflow" else to_numpy(bins)
        self._hosting.meter.count_flops(array.size)
        made = self._messages.histogram(tag, array, edges, max_bins)
        self._file(self._folder).add(made, step_of(global_step), walltime)

    def add_text(self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None) -> None:
        self._file(self._folder).add(self._messages.text(tag, text_string), step_of(global_step), walltime)

    def add_graph(
        self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True
    ) -> None:
        """Run `model` on `input_to_model` (a tensor, or a tuple of its arguments) and write its graph."""
        from gradtrace.views import model_graph, tensorboard

        trace = model_graph.traced(model, input_to_model, self._hosting)
        with wall.lowered():
            graph = tensorboard.graph_def(trace)
        self._file(self._folder).add_graph(graph)
        if verbose:
            self._hosting.print(f"{visible(trace.source_name)}: {len(trace.operations)} operations\n")

    def flush(self) -> None:
        """Do nothing, since everything is written at once."""

    def close(self) -> None:
        for file in self._files.values():
            file.close()
        self._files.clear()

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("add_"):
            raise AttributeError(
                f"'SummaryWriter' object has no attribute '{name}'; there are add_graph, "
                "add_histogram, add_scalar, add_scalars, add_text"
            )
        raise AttributeError(f"'SummaryWriter' object has no attribute '{name}'")

    def __repr__(self) -> str:
        return f"<torch.utils.tensorboard.writer.SummaryWriter object at {id(self):#x}>"


Writer.__name__ = Writer.__qualname__ = "SummaryWriter"
Writer.__module__ = "torch.utils.tensorboard.writer"


def unwrap(value: Any) -> Any:
    """Return the NumPy array of a program's tensor or array; any other value unchanged."""
    if isinstance(value, Array):
        return to_numpy(value)
    return value.detach().numpy() if hasattr(value, "requires_grad") else value


def number(value: Any) -> float:
    """Return a scalar, or a tensor's only element, as a number. RuntimeError or TypeError as from float() for anything
    else.
    """
    found = to_numpy(value) if isinstance(value, Array) else value
    return float(found.item() if hasattr(found, "item") else found)


def step_of(value: Any) -> int | None:
    return None if value is None else int(number(value))


def default_bins() -> list[float]:
    """Return the bin edges of TensorFlow's histograms: from 1e-12 to 1e20 in steps of 10 %, and the same below zero."""
    edges, edge = [], 1e-12
    while edge < 1e20:
        edges.append(edge)
        edge *= 1.1
    return [*(-edge for edge in reversed(edges)), 0.0, *edges]


class Notebook:
    """`tensorboard.notebook`: finds running TensorBoards by the files that they leave (tensorboard/manager.py)."""

    def __init__(self, hosting: Hosting) -> None:
        self.hosting = hosting

    def list(self) -> None:
        """Print the TensorBoards that run on this machine."""
        with wall.lowered():
            found = channel.ask("tensorboards")["running"] if channel.is_open() else running()
        if not found:
            self.hosting.print("No known TensorBoard instances running.\n")
            return
        lines = [
            f"  - port {one['port']}: logdir {visible(one['logdir'])} "
            f"(started {ago(one['start_time'])} ago; pid {one['pid']})\n"
            for one in found
        ]
        self.hosting.print("Known TensorBoard instances:\n" + "".join(lines))

    def start(self, args_string: str = "", *_: Any, **__: Any) -> None:
        """Print on stderr how to view the files, since a program cannot start TensorBoard."""
        self.hosting.tell(STARTED.format(args_string))


def running() -> list[dict[str, Any]]:
    """Return the information files of running TensorBoards; unreadable ones are skipped."""
    import json
    import tempfile

    folder = os.path.join(tempfile.gettempdir(), ".tensorboard-info")
    found = []
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        path = os.path.join(folder, name)
        try:
            if not os.path.isfile(path):  # anybody may put a pipe there, which would never answer
                continue
            with open(path, encoding="utf-8") as file:
                one = json.loads(file.read(LONGEST_INFORMATION))
            whole = all(type(one[key]) is int and abs(one[key]) < 1 << 53 for key in ("port", "pid", "start_time"))
            if whole and isinstance(one["logdir"], str):
                found.append(one)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue
    return found


def ago(start: int) -> str:
    seconds = max(0, int(time.time()) - start)
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
