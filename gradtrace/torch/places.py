"""The places of calls in the program's text: frames noted as (code, instruction), converted to
spans later.

A place is the innermost frame that does not belong to PyTorch, this package or the standard
library's `contextlib` and `functools`. A span names its file; "" is the main file, of the script or
of the `with record()`.
"""

from __future__ import annotations

import functools
import linecache
import os
import sys
from typing import Any

import torch

from gradtrace.program.places import Places, Positions
from gradtrace.trace.labels import Texts, tree_of
from gradtrace.trace.record import Span

OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HIDDEN = tuple(
    os.path.join(folder, "")
    for folder in (
        os.path.dirname(os.path.abspath(torch.__file__)),
        OURS,
        os.path.dirname(os.path.abspath(os.__file__)),
    )
)
PACKAGES = ("site-packages", "dist-packages")
# of functions, as functools in the standard library: `deprecated`
WRAPPERS = (os.sep + "typing_extensions.py",)


@functools.lru_cache(maxsize=4096)
def is_hidden(name: str) -> bool:
    """Whether the frames of a file do not belong to the program."""
    # the second: code that torch.fx wrote
    if name.startswith(("<frozen", "<eval_with_key>")) or name == "<string>":
        return True
    if name.endswith(WRAPPERS):
        return True
    if not name.startswith(HIDDEN):
        return False
    inside = name[len(HIDDEN[2]) :] if name.startswith(HIDDEN[2]) else ""
    return not inside.startswith(PACKAGES) or name.startswith(HIDDEN[:2])


@functools.lru_cache(maxsize=4096)
def is_installed(name: str) -> bool:
    """Whether a file belongs to an installed package: its folder is called site-packages, or it has
    what pip writes beside packages (`pip install --target`).
    """
    return not {*name.split(os.sep)}.isdisjoint(PACKAGES) or any(
        name.startswith(os.path.join(folder, "")) and has_packages(folder) for folder in sys.path
    )


@functools.lru_cache(maxsize=256)
def has_packages(folder: str) -> bool:
    """Whether pip has installed packages in a folder."""
    try:
        return any(name.endswith(".dist-info") for name in os.listdir(folder))
    except OSError:
        return False


class RecordedPlaces(Places):
    """The places of a recorded program and of the libraries that it calls."""

    def __init__(self) -> None:
        super().__init__()
        self._instructions: list[tuple[Any, int]] = [(None, 0)]
        self._hidden: dict[int, bool | None] = {}
        self._codes: list[Any] = []  # those that were seen, so that no other one gets their id()
        self._calls: list[int] = []  # the places of the calls of modules that are under way
        # by a place in a library: the program's own that led there
        self.leads: dict[int, set[int]] = {}

    def here(self, depth: int = 1) -> int:
        """Return the number of the program's innermost place on the call stack."""
        frame: Any = sys._getframe(depth)
        hidden = self._hidden
        while frame is not None:
            code = frame.f_code
            try:
                skip = hidden[id(code)]
            except KeyError:
                skip = hidden[id(code)] = is_hidden(code.co_filename)
                self._codes.append(code)
            if skip:
                frame = frame.f_back
            elif skip is False:
                return self.number(code, frame.f_lasti)
            elif self._calls:
                return self._calls[-1]
            else:
                frame = frame.f_back
        return 0

    def here_and_lead(self, depth: int = 1) -> int:
        """Return the number of the program's innermost place. For one in an installed package, such
        as a trainer, also note the place outside of packages that led there.
        """
        place = self.here(depth + 1)
        code, _ = self.instruction(place)
        if code is None or not is_installed(code.co_filename):
            return place
        frame: Any = sys._getframe(depth)
        while frame is not None and (
            is_hidden(name := frame.f_code.co_filename) or is_installed(name)
        ):
            frame = frame.f_back
        if frame is not None:
            self.leads.setdefault(place, set()).add(self.number(frame.f_code, frame.f_lasti))
        return place

    def add(self, code: Any, instruction: int) -> int:
        self._instructions.append((code, instruction))
        return len(self._instructions) - 1

    def instruction(self, number: int) -> tuple[Any, int]:
        """Return the code object that a place is in, or None, and the offset of its instruction
        there.
        """
        return self._instructions[number]

    def called_by(self, code: Any) -> None:
        """Name the function of which each call stands between `enter` and `leave`, so that `here`
        need not look behind it.
        """
        self._hidden[id(code)] = None

    def enter(self, place: int) -> None:
        self._calls.append(place)

    def leave(self) -> None:
        self._calls.pop()

    def spans(self, main: str) -> SpanTable:
        return SpanTable(self, main)


class SpanTable(Texts):
    """The program's text by the numbers of places."""

    def __init__(self, places: RecordedPlaces, main: str) -> None:
        super().__init__(short_name(main), text_of(main))
        self._places = places
        self.names: dict[str, str] = {main: ""}  # by path
        self._texts: dict[str, str] = {"": self.text}
        self._trees: dict[str, Any] = {}
        self._positions = Positions(self.tree_at)

    @property
    def files(self) -> tuple[tuple[str, str], ...]:
        """The other files that spans are in: name and text."""
        return tuple((name, text) for name, text in self._texts.items() if name)

    def file(self, path: str) -> str:
        """Return the name that spans use for a file."""
        name = self.names.get(path)
        if name is None:
            name = short_name(path)
            if name in self._texts:
                name = path
            self.names[path] = name
            self._texts[name] = text_of(path)
            self.add_file(name, self._texts[name])
        return name

    def tree(self, file: str) -> Any:
        return self.tree_at(next(path for path, name in self.names.items() if name == file))

    def tree_at(self, path: str) -> Any:
        """Return the syntax tree of the file with a path; None if it is not Python's."""
        if path not in self._trees:
            self._trees[path] = tree_of(text_of(path))
        return self._trees[path]

    def code(self, number: int) -> Any:
        """Return the code object that a place is in, or None."""
        return self._places.instruction(number)[0]

    def is_library(self, origin: int) -> bool:
        code = self.code(origin)
        return code is not None and is_installed(code.co_filename)

    def find_span(self, number: int) -> Span | None:
        code, instruction = self._places.instruction(number)
        position = None if code is None else self._positions.find(code, instruction)
        if position is None:
            return None
        line, end_line, column, end_column = position
        return Span(line, column, end_line, end_column, self.file(code.co_filename))


def text_of(path: str) -> str:
    """Return the text of a file or of a notebook's cell; "" if there is none."""
    lines = linecache.getlines(path)
    return "".join(lines).replace("\r\n", "\n")


def short_name(path: str) -> str:
    """Return a short file name: relative to the working folder or to a package's; of a notebook's
    cell "cell 3".
    """
    if path.startswith("<"):
        return path
    name = os.path.basename(path)
    if "ipykernel_" in path:
        return "cell " + name.removesuffix(".py")
    for folder in sys.path:
        inside = path.removeprefix(os.path.join(folder, "")) if folder else path
        if inside != path and is_installed(path):
            return inside
    below = path.removeprefix(os.path.join(os.getcwd(), ""))
    return below if below != path else name
