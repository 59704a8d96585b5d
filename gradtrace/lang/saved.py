"""The `torch.save` and `torch.load` of programs: saved data stays in memory for the run, under its file's name.

A program neither reads nor writes checkpoint files, but a script that saves its model and loads it again works as in
PyTorch. As there, loading objects other than tensors, numbers, strings and containers requires `weights_only=False`.
"""

from __future__ import annotations

import posixpath
from copy import deepcopy

from gradtrace.annotations import Any, Callable
from gradtrace.engine.data.describe import check_device, device
from gradtrace.engine.data.dtypes import dtype
from gradtrace.engine.data.tensor import Tensor
from gradtrace.lang import permission
from gradtrace.lang.budget import Meter
from gradtrace.lang.builtins import Stream
from gradtrace.lang.known_classes import class_at

KEPT = "torch.save keeps what it gets in memory, for torch.load in the same run: no file is written"
PLAIN = (bool, int, float, str, type(None), Tensor, dtype)
PATH = "gradtrace.lang.program_files:PathObject"
REFUSED_FILE = "Weights only load failed for"
REFUSED = (
    "Weights only load failed. In PyTorch 2.6, we changed the default value of the `weights_only` argument in "
    "`torch.load` from `False` to `True`."
)


class UnpicklingError(Exception):
    """The programs' version of pickle.UnpicklingError."""

    __module__ = "_pickle"


class Saved:
    """The data that the programs of one run stored with torch.save."""

    def __init__(self, meter: Meter, tell_once: Callable[[str], None]) -> None:
        self.meter = meter
        self.tell_once = tell_once
        self.objects: dict[str, Any] = {}

    def has(self, path: str) -> bool:
        return path_of(path) in self.objects

    def save(self, obj: Any, f: Any, **_: Any) -> None:
        """Store a copy of an object under a file name, in memory (torch.save)."""
        self.tell_once(KEPT)
        self.objects[path_of(f)] = deepcopy(obj)

    def load(self, f: Any, map_location: Any = None, *, weights_only: Any = None, **_: Any) -> Any:
        """Return a copy of an object that this run saved (torch.load)."""
        path = path_of(f)
        place = map_location.get("cpu") if isinstance(map_location, dict) else map_location
        if isinstance(place, (str, device)):
            check_device(place)
        if path not in self.objects and (self.meter.made or self.meter.budget.allow_read):
            return self.read(path)
        if path not in self.objects:
            raise FileNotFoundError(2, "No such file or directory", path)
        found = self.objects[path]
        if weights_only is not False and not self.is_plain(found):
            raise UnpicklingError(REFUSED)
        return deepcopy(found)

    def read(self, path: str) -> Any:
        """Return what a file that the program may read holds."""
        from gradtrace.lang import checkpoint_reader

        content = permission.read(path, self.meter)
        try:
            return checkpoint_reader.load(content, self.meter)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise UnpicklingError(f"{REFUSED_FILE} {path}: {error}") from None

    def remove(self, path: Any) -> None:
        """Remove an object that this run saved (os.remove); FileNotFoundError for any other file."""
        if self.objects.pop(path_of(path), self) is self:
            raise FileNotFoundError(2, "No such file or directory", path)

    def is_plain(self, value: Any) -> bool:
        """Whether a value consists of tensors, numbers, strings and containers only."""
        todo = [value]
        while todo:
            value = todo.pop()
            self.meter.count_steps(1)
            if isinstance(value, dict):
                todo += [*value, *value.values()]
            elif isinstance(value, (list, tuple, set)):
                todo += value
            elif not isinstance(value, PLAIN):
                return False
        return True


def path_of(f: Any) -> str:
    f = f.name if isinstance(f, Stream) else str(f) if type(f) is class_at(PATH) else f
    if type(f) is not str:
        raise AttributeError(f"'{type(f).__name__}' object has no attribute 'write'; give the name of a file")
    return posixpath.normpath(f)
