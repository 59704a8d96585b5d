"""Modules that only some commands provide, such as TensorBoard's, which are implemented in the views.

    lang.run(program, host=desk)        desk("torch.utils.tensorboard", Hosting(...)) -> {"SummaryWriter": ...}

NAMES lists them. A run without a host raises an error for them.
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
    """The parts of a run that a host gets: program, spans, meter and two functions that write to stdout and stderr."""

    program: Any
    spans: list[Any]
    meter: Meter
    print: Callable[[str], Any]
    tell: Callable[[str], Any]


Host = Callable[[str, Hosting], dict[str, Any]]


def module_names(module: str, host: Host | None, hosting: Hosting) -> dict[str, Any]:
    """Return the names of a hosted module; raise UnknownNameError if the run has no host."""
    if host is None:
        raise UnknownNameError(
            f"'{module}' is not available in this command",
            "gradtrace run FILE --allow-write DIR runs it; or graph FILE --tensorboard LOGDIR",
        )
    return host(module, hosting)
