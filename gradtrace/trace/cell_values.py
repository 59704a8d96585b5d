"""Keep values and operands of operations while a notebook's cell runs, for drawings of tensors
afterwards.

Backward frees what a graph saved, and a graph never has more than its derivatives need. In IPython
each cell runs with a recorder that adds to a new node what its call was given and what came out:
copies, which live as long as the node.
"""

from __future__ import annotations

import sys
from types import TracebackType

from gradtrace.annotations import Any, Mapping
from gradtrace.engine import Tensor
from gradtrace.engine.data.node import Node
from gradtrace.engine.data.state import state
from gradtrace.trace.history import node_of

LARGEST = 1 << 20  # bytes of an array
MOST = 100_000  # operations of one cell
# the variables of the note that `verify` runs: no frame of Python has them
of_note: list[Mapping[str, Any]] = []


class CellRecorder:
    """The recorder of one cell."""

    def __init__(self) -> None:
        self.left = MOST

    def __call__(self, name: str, args: tuple[Any, ...], out: Any, origin: int) -> None:
        self.left -= 1
        if self.left < 0:
            state.set(recorder=None)
            return
        outs = out if type(out) is tuple else (out,)
        node = node_of(outs[0]) if outs and type(outs[0]) is Tensor else None
        if node is None or any(out is arg for arg in args for out in outs):
            return
        raws = tuple(copied(output._data) for output in outs)
        node.ensure_extras().noted = tuple(map(operand, args)), raws


def operand(value: Any) -> Any:
    """Return an argument as it is kept. A tensor with a history is not: an edge of the node leads
    to it.
    """
    if type(value) in (tuple, list):
        return tuple(map(operand, value))
    if type(value) is not Tensor:
        return value
    is_large = type(value._data) not in (float, bool) and value._data.nbytes > LARGEST
    return None if value.requires_grad or is_large else value


def copied(raw: Any) -> Any:
    """Return raw data that later writes do not change; None for a large array."""
    if type(raw) in (float, bool):
        return raw
    return raw.copy() if raw.nbytes <= LARGEST else None


def noted(node: Node) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
    """Return the arguments and raw results of a node's call, if they were kept."""
    return None if node.extras is None else node.extras.noted


def keep_in_cells() -> None:
    """Keep what the cells of a running IPython compute, from the one that imports gradtrace on."""
    get_ipython = getattr(sys.modules["IPython"], "get_ipython", None)
    shell = None if get_ipython is None else get_ipython()
    if shell is None or not hasattr(shell, "events"):
        return
    shell.events.register("pre_run_cell", begin)
    shell.events.register("post_run_cell", end)
    if not shell.custom_exceptions:
        shell.set_custom_exc((Exception,), show_error)
    begin()


def show_error(
    shell: Any, kind: type, error: Exception, frames: Any, tb_offset: int | None = None
) -> None:
    """Show an error of a cell as IPython does, with the program's frames alone."""
    kept = []
    while frames is not None:
        module = str(frames.tb_frame.f_globals.get("__name__"))
        if module.partition(".")[0] != "gradtrace":
            kept.append(frames)
        frames = frames.tb_next
    for part in reversed(kept):
        frames = TracebackType(frames, part.tb_frame, part.tb_lasti, part.tb_lineno)
    shell.showtraceback((kind, error, frames), tb_offset=tb_offset)


def begin(*about: Any) -> None:
    if state.recorder is None:
        state.set(recorder=CellRecorder())


def end(*about: Any) -> None:
    if type(state.recorder) is CellRecorder:
        state.set(recorder=None)
