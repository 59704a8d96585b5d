"""Modules that only some commands provide, such as TensorBoard's: their implementation belongs to the views.

    lang.run(program, host=desk)        desk("torch.utils.tensorboard", Hosting(...)) -> {"SummaryWriter": ...}

NAMES lists them. A run without a host refuses them, with advice.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Callable, NamedTuple
from gradtrace.errors import UnknownNameError
from gradtrace.lang.budget import Meter
from gradtrace.lang.words import words

NAMES: dict[str, frozenset[str]] = {
    "tensorboard": frozenset(),
    "tensorboard.notebook": words("display list start"),
    "tensorboardX": words("SummaryWriter"),
    "torch.utils": frozenset(),
    "torch.utils.tensorboard": words("SummaryWriter"),
}


class Hosting(NamedTuple):
    """The parts of a run that a host gets: its program and spans, its budget, its output; `tell` writes to stderr."""

    program: Any
    spans: list[Any]
    meter: Meter
    print: Callable[[str], Any]
    tell: Callable[[str], Any]


Host = Callable[[str, Hosting], dict[str, Any]]


def module_names(module: str, host: Host | None, hosting: Hosting) -> dict[str, Any]:
    """The names of a hosted module. UnknownNameError if the run has no host."""
    if host is None:
        raise UnknownNameError(
            f"'{module}' is not offered by this command",
            "gradtrace run FILE --allow-write DIR runs it; or graph FILE --tensorboard LOGDIR",
        )
    return host(module, hosting)
