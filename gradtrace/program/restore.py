"""Restore the process-wide state that a program may change."""

from __future__ import annotations

import sys
import warnings

from gradtrace.annotations import Any
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.state import state


class restored:
    """Context manager that restores grad mode, default dtype, print options, warning filters and
    random numbers.

    Of gradtrace's generator only seeding is undone: an unseeded one is not rewound. Those of Python
    and numpy, which have no other seed, are: the next run of the program draws the same numbers.
    Exceptions of a program's generator while Python deallocates it are ignored, as in Python, but
    also not reported on stderr.
    """

    def __enter__(self) -> None:
        self.modes = state.modes()
        self.dtype = dtypes.get_default_dtype()
        self.options = print_options()
        self.generator = random_state()
        self.others = other_random_states()
        self.graphs = graphs([None])
        self.validates = validates_arguments(True)
        self.hook = sys.unraisablehook
        sys.unraisablehook = self.report_interrupt
        self.warnings = warnings.catch_warnings()
        self.warnings.__enter__()

    def __exit__(self, *ending: Any) -> None:
        sys.unraisablehook = self.hook
        self.warnings.__exit__(*ending)
        state.set(**self.modes)
        dtypes.set_default_dtype(self.dtype)
        put_print_options(self.options)
        put_random_state(self.generator)
        put_other_random_states(self.others)
        graphs(self.graphs)
        validates_arguments(self.validates)

    def report_interrupt(self, ignored: Any) -> None:
        """Report Ctrl-C alone of the exceptions that Python ignores, to the hook before."""
        if ignored.exc_type is KeyboardInterrupt:
            self.hook(ignored)


def validates_arguments(value: bool) -> bool:
    """Set whether distributions check their arguments by default, and return the old setting."""
    module = sys.modules.get("gradtrace.distributions.distribution")
    if module is None:
        return True
    before: bool = module.Distribution._validate_args
    module.Distribution._validate_args = value
    return before


def graphs(stack: list[Any]) -> list[Any]:
    """Replace the stack of static graphs (None stands for a new graph), close all sessions, return
    the old stack.
    """
    module = sys.modules.get("gradtrace.static.graph")
    if module is None:
        return [None]
    before = list(module.stack)
    module.sessions.clear()
    module.stack[:] = [module.Graph() if graph is None else graph for graph in stack]
    return before


def print_options() -> dict[str, Any] | None:
    """Return the print options; None (default options) if the module that prints tensors is not
    imported.
    """
    text = sys.modules.get("gradtrace.engine.data.text")
    return None if text is None else text.get_printoptions()


def put_print_options(options: dict[str, Any] | None) -> None:
    text = sys.modules.get("gradtrace.engine.data.text")
    if text is not None:
        text.set_printoptions(**(options or {"profile": "default"}))


def random_state() -> tuple[Any, Any] | None:
    """Return the seed and stream of the default generator; None if the generator's module is not
    imported.
    """
    random = sys.modules.get("gradtrace.ops.random.generator")
    if random is None:
        return None
    return random.default_generator._seed, random.default_generator._source


def put_random_state(before: tuple[Any, Any] | None) -> None:
    random = sys.modules.get("gradtrace.ops.random.generator")
    if random is None:
        return
    generator = random.default_generator
    if before is None:
        generator.seed()
    elif generator._seed != before[0] or (
        before[1] is not None and generator._source is not before[1]
    ):
        generator._seed, generator._source = before


def other_random_states() -> list[tuple[Any, Any]]:
    """Return the states of the random numbers of Python and numpy, each with the function that
    restores it.
    """
    states: list[tuple[Any, Any]] = []
    if "random" in sys.modules:
        states.append((sys.modules["random"].setstate, sys.modules["random"].getstate()))
    if "numpy.random" in sys.modules:
        states.append(
            (sys.modules["numpy.random"].set_state, sys.modules["numpy.random"].get_state())
        )
    return states


def put_other_random_states(states: list[tuple[Any, Any]]) -> None:
    for put, state_before in states:
        put(state_before)
