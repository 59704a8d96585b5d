"""TensorBoard's event files: `SummaryWriter`, with PyTorch's names.

`add_graph` runs the model once, as PyTorch does, and writes its operations within the boxes of its
modules (https://pytorch.org/docs/stable/tensorboard.html).
"""

from __future__ import annotations

import io
import os
import time
import warnings

from gradtrace.annotations import Any
from gradtrace.lazy_names import words
from gradtrace.views.event_files import EventFile, Messages, new_name

__all__ = ["SummaryWriter"]

LEFT_OUT = words("""
    add_audio add_custom_scalars add_embedding add_figure add_hparams add_image add_image_with_boxes add_images add_mesh
    add_pr_curve add_tensor add_video
""")

NOT_WRITTEN = "SummaryWriter writes no files here; --allow-write DIR names the folder for them"


class SummaryWriter:
    """A writer of event files into a folder. Every method returns None; after `close` the next one
    begins a new file. RenderError if tensorboardX, which makes the messages, is not installed.
    """

    def __init__(
        self,
        log_dir: str | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        self._folder = str(log_dir or f"runs/{time.strftime('%b%d_%H-%M-%S')}_gradtrace{comment}")
        self._suffix = filename_suffix
        self._files: dict[str, EventFile] = {}
        self._messages = Messages()
        self._file(self._folder)

    def _file(self, folder: str) -> EventFile:
        if folder not in self._files:
            try:
                os.makedirs(folder, exist_ok=True)
                name = os.path.join(folder, new_name(self._suffix))
                # `close` closes it. Without a buffer nothing is lost at a limit.
                sink: Any = open(name, "wb", buffering=0)  # noqa: SIM115
            except PermissionError:
                warnings.warn(NOT_WRITTEN, stacklevel=3)
                sink = io.BytesIO()
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
        self._file(self._folder).add(
            self._messages.scalar(tag, number(scalar_value)), step_of(global_step), walltime
        )

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: dict[str, Any],
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Write several curves of one plot: a folder for each, as PyTorch writes them."""
        for tag, value in tag_scalar_dict.items():
            folder = f"{self._folder}/{main_tag.replace('/', '_')}_{tag}"
            self._file(folder).add(
                self._messages.scalar(main_tag, number(value)), step_of(global_step), walltime
            )

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
        edges = default_bins() if bins == "tensorflow" else bins
        histogram = self._messages.histogram(tag, array, edges, max_bins)
        self._file(self._folder).add(histogram, step_of(global_step), walltime)

    def add_text(
        self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None
    ) -> None:
        self._file(self._folder).add(
            self._messages.text(tag, text_string), step_of(global_step), walltime
        )

    def add_graph(
        self,
        model: Any,
        input_to_model: Any = None,
        verbose: bool = False,
        use_strict_trace: bool = True,
    ) -> None:
        """Run `model` on `input_to_model` (a tensor, or a tuple of its arguments) and write its
        graph.
        """
        from gradtrace.views import model_graph, tensorboard

        trace = model_graph.traced(model, input_to_model)
        self._file(self._folder).add_graph(tensorboard.graph_def(trace))
        if verbose:
            print(f"{len(trace.operations)} operations")

    def flush(self) -> None:
        """Do nothing, since everything is written at once."""

    def close(self) -> None:
        for file in self._files.values():
            file.close()
        self._files.clear()

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        if name not in LEFT_OUT:
            raise AttributeError(f"'SummaryWriter' object has no attribute '{name}'")

        def write_nothing(*args: Any, **options: Any) -> None:
            warnings.warn(f"SummaryWriter.{name} writes nothing here", stacklevel=2)

        return write_nothing

    def __repr__(self) -> str:
        return f"<torch.utils.tensorboard.writer.SummaryWriter object at {id(self):#x}>"


SummaryWriter.__module__ = "torch.utils.tensorboard.writer"


def unwrap(value: Any) -> Any:
    """Return the numpy array of a tensor; any other value unchanged."""
    return value.detach().numpy() if hasattr(value, "requires_grad") else value


def number(value: Any) -> float:
    """Return a scalar, or a tensor's only element, as a number. RuntimeError or TypeError as from
    float() for anything else.
    """
    return float(value.item() if hasattr(value, "item") else value)


def step_of(value: Any) -> int | None:
    return None if value is None else int(number(value))


def default_bins() -> list[float]:
    """Return the bin edges of TensorFlow's histograms: from 1e-12 to 1e20 in steps of 10 %, and the
    same below zero.
    """
    edges = []
    edge = 1e-12
    while edge < 1e20:
        edges.append(edge)
        edge *= 1.1
    return [*(-edge for edge in reversed(edges)), 0.0, *edges]
