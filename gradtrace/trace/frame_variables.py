"""The modules and leaves that the variables of a program's functions hold.

What `def main()` trains is in no variable any more when the run has ended. So each backward pass
asks the functions that are under way then.
"""

from __future__ import annotations

import sys
import weakref

from gradtrace.annotations import Any, Callable, Iterator, NamedTuple
from gradtrace.trace.holders import CONTAINERS, OPAQUE, held_by, is_holder

OPTIMIZED = 1  # of a code object: a function's, whose variables are no dict
READING = frozenset(("locals", "vars"))  # functions that return the dict of a frame's variables


def local_variables(frame: Any) -> dict[str, Any]:
    """Return the variables of a frame.

    Before Python 3.13 a function's frame keeps the dict of its f_locals, and with it every tensor
    in it. Names that are in no variable of the function, as exec() makes them, are in it alone.
    """
    held = frame.f_locals
    variables = dict(held)
    code = frame.f_code
    if code.co_flags & OPTIMIZED and type(held) is dict:
        for name in (*code.co_varnames, *code.co_cellvars, *code.co_freevars):
            held.pop(name, None)
    return variables


def reads_own_variables(code: Any) -> bool:
    """Whether a function may hold the dict of its variables, which must not be cleared then."""
    return bool(code.co_flags & OPTIMIZED and READING.intersection(code.co_names))


class FunctionVariables(NamedTuple):
    """The modules and leaves that a function's variables hold, by the program's path to them."""

    function: str
    variables: dict[str, Any]


class FrameVariables:
    """What the functions of a program held when they were last asked; it keeps nothing alive."""

    def __init__(self, is_named: Callable[[Any], bool]) -> None:
        self.is_named = is_named  # whether a value is a module or a leaf
        # by id() of a function's code: a reference to what each of its variables held
        self.marks: dict[int, dict[str, Callable[[], Any]]] = {}

    def forget(self) -> None:
        """Look at everything again: a module may have got others."""
        self.marks.clear()

    def changes(
        self, frame: Any, is_own: Callable[[str], bool], until: int = 0
    ) -> Iterator[FunctionVariables]:
        """Yield what each function under way holds that it did not hold before, outermost first:
        those that are called in the frame whose id() is `until`. `is_own` tells the program's
        files.
        """
        frames = []
        while frame is not None and id(frame) != until:
            code = frame.f_code
            is_read = code.co_flags & OPTIMIZED and is_own(code.co_filename)
            if is_read and not reads_own_variables(code):
                frames.append(frame)
            frame = frame.f_back
        for frame in reversed(frames):
            code = frame.f_code
            marks = self.marks.setdefault(id(code), {})
            named: dict[str, Any] = {}
            holders: list[tuple[str, Any]] = []
            for name, value in local_variables(frame).items():
                if id(type(value)) in OPAQUE:
                    continue
                is_module_or_leaf = self.is_named(value)
                if not (is_module_or_leaf or is_holder(value)) or is_marked(marks, name, value):
                    continue
                marks[name] = mark_of(value)
                if is_module_or_leaf:
                    named[name] = value
                else:
                    holders.append((name, value))
            if named or holders:
                named.update((path, value) for path, value, _ in held_by(holders, self.is_named))
                function = getattr(code, "co_qualname", code.co_name)
                yield FunctionVariables(function.replace(".<locals>", ""), named)


def is_marked(marks: dict[str, Callable[[], Any]], name: str, value: Any) -> bool:
    """Whether a variable holds what it held before; of a list, whether it has been looked at."""
    mark = marks.get(name)
    return mark is not None and (isinstance(value, CONTAINERS) or mark() is value)


def mark_of(value: Any) -> Callable[[], Any]:
    """Return a weak reference; an object that has none is always another one."""
    try:
        return weakref.ref(value)
    except TypeError:
        return type(None)


def is_module(value: Any) -> bool:
    """Whether a value is an nn.Module. Without one, nn need not have been imported."""
    loaded = sys.modules.get("gradtrace.nn.modules.module")
    return loaded is not None and issubclass(type(value), loaded.Module)
