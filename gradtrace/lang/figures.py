"""The matplotlib of programs: calls are accepted, and recorded as plain data if files may be written.

No code of matplotlib runs while a program runs. Every name of its modules is a `Drawn`, which can be called, indexed,
iterated and unpacked as scripts do. With --allow-write the command line passes a `Drawings`, which gets each call with
copies of its numbers, texts and lists; `views/figures.py` draws them after the program has ended. A call with another
kind of argument (a function, an object of the program) is not recorded.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Callable, Iterator
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.lang import permission
from gradtrace.lang.arrays import Array, ArrayOfOthers, checked_index, from_numpy, to_numpy
from gradtrace.lang.budget import Meter
from gradtrace.lang.costs import VIEWS
from gradtrace.lang.known_classes import class_at
from gradtrace.lang.numpy_numbers import KINDS
from gradtrace.lang.values import Frozen
from gradtrace.lang.words import Names, words

PYPLOT = "matplotlib.pyplot"
NOT_DRAWN = "figures are not drawn; --allow-write DIR writes those that the program saves or shows there"
# Calls that need no record: what they do is for a screen, or is done by the drawing process in its own way.
SKIPPED = words("draw draw_idle flush_events get_backend get_ipython ioff ion isinteractive pause switch_backend use")
READING = words("imread get_sample_data")
WRITING = words("imsave savefig")
# How many parts the result of a call has, if a program unpacks it.
PARTS: dict[str, int] = {
    **dict.fromkeys(words("get_size_inches get_xlim get_ylim get_zlim xlim ylim"), 2),
    **dict.fromkeys(words("get_legend_handles_labels get_xticks_labels xticks yticks pie subplot_mosaic"), 2),
    **dict.fromkeys(words("errorbar stem"), 3),
    **dict.fromkeys(words("axis hist2d"), 4),
}
DEEPEST = 50  # levels of lists in an argument
Step = tuple[str, Any]  # (".", name) or ("[", key)


class Drawings:
    """The plotting calls of a program as plain data, and the meter that counts what is written."""

    def __init__(self) -> None:
        self.calls: list[Names] = []
        self.meter: Meter | None = None


class NotPlain(Exception):
    """Raised for an argument that is not plain data."""


class Figures:
    """The plotting modules of one run."""

    def __init__(self, meter: Meter, tell_once: Callable[[str], None], drawings: Drawings | None) -> None:
        self.meter = meter
        self.tell_once = tell_once
        self.drawings = drawings
        if drawings is not None:
            drawings.meter = meter

    def find(self, module: str, name: str) -> Any:
        """Return the object for a public name of a plotting module."""
        if name.startswith("_") and name != "__version__":
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        return "3.10" if name == "__version__" else Drawn(self, module, ((".", name),))

    # ---- calls

    def call(self, drawn: Drawn, args: tuple[Any, ...], kwargs: Names) -> Any:
        name = drawn._name
        if name in READING:
            raise AttributeError(f"'{name}' is not available in gradtrace scripts: they cannot open files")
        if name in SKIPPED:
            return Drawn(self, None, ())
        if self.drawings is None:
            self.tell_once(NOT_DRAWN)
            return self.result(drawn, None, args, kwargs)
        return self.result(drawn, self.recorded(drawn, args, kwargs), args, kwargs)

    def recorded(self, drawn: Drawn, args: Any, kwargs: Names) -> int | None:
        """Record a call and return its number; None if it cannot be drawn."""
        if drawn._root is None:
            return None
        if drawn._name in WRITING and not self.may_write(args, kwargs):
            return None
        return self.noted(
            lambda: {
                "root": drawn._root,
                "path": [list(step) if step[0] == "." else [step[0], self.plain(step[1])] for step in drawn._path],
                "args": [self.plain(arg) for arg in args],
                "kwargs": {key: self.plain(value) for key, value in kwargs.items()},
            }
        )

    def noted(self, call: Callable[[], Names]) -> int | None:
        """Record what a function returns and return its number; None if an argument is not plain data."""
        assert self.drawings is not None
        try:
            self.drawings.calls.append(call())
        except NotPlain:
            return None
        return len(self.drawings.calls) - 1

    def may_write(self, args: Any, kwargs: Names) -> bool:
        """Whether `savefig` got a file name; raise WallError if the file lies outside the folder of --allow-write."""
        path = args[0] if args else kwargs.get("fname")
        if type(path) is not str:
            return False
        permission.writable(permission.inside(path, self.meter), self.meter)
        return True

    def plain(self, value: Any, depth: int = 0) -> Any:
        """Return a value as plain data (numbers, strings, lists, arrays, earlier results), or raise NotPlain."""
        kind = type(value)
        if kind in (bool, int, float, str, type(None)):
            return value
        self.meter.count_steps(1)
        if depth > DEEPEST:
            raise NotPlain
        if kind in KINDS:
            return value.item()
        if kind is Drawn:
            if value._root is None:
                raise NotPlain
            return {"drawn": value._root, "path": [[s, self.plain(key, depth + 1)] for s, key in value._path]}
        if kind is Grid:
            return [self.plain(item, depth + 1) for item in value]
        if kind is Array or isinstance(value, Tensor):
            return self.plain_array(np.asarray(to_numpy(value)))
        if kind in (list, tuple, range, zip, map, *VIEWS) or kind is class_at("collections:deque"):
            items = [self.plain(item, depth + 1) for item in value]
            return {"tuple": items} if kind is tuple else items
        if kind is dict:
            return {"dict": [[self.plain(key, depth + 1), self.plain(v, depth + 1)] for key, v in value.items()]}
        if kind is slice:
            return {"slice": [self.plain(part, depth + 1) for part in (value.start, value.stop, value.step)]}
        raise NotPlain

    def plain_array(self, array: Any) -> Any:
        if array.dtype.kind not in "biuf":
            raise NotPlain
        self.meter.count_steps(int(array.size))
        self.meter.reserve(64 * int(array.size))
        return {"array": array.tolist(), "dtype": str(array.dtype)}

    # ---- results

    def result(self, drawn: Drawn, number: int | None, args: Any, kwargs: Names) -> Any:
        """Return the result of a plotting call: as many Drawn objects as the real function returns."""
        name = drawn._name
        if name == "subplots":
            return self.subplots(drawn, number, args, kwargs)
        if name == "plot":
            return Drawn(self, number, (), line_count(args))
        if name == "hist" and args:
            return self.histogram(number, args, kwargs)
        length = PARTS.get(name)
        if length is None and args:
            length = length_of(args[0])
        return Drawn(self, number, (), length)

    def subplots(self, drawn: Drawn, number: int | None, args: Any, kwargs: Names) -> Any:
        rows, columns = ((*args, 1, 1)[:2]) if args else (1, 1)
        rows, columns = kwargs.get("nrows", rows), kwargs.get("ncols", columns if len(args) > 1 else 1)
        if type(rows) is not int or type(columns) is not int or min(rows, columns) < 1:
            raise ValueError(f"Number of rows must be a positive integer, not {rows!r}")
        self.meter.count_steps(rows * columns)
        self.meter.reserve(200 * rows * columns)
        of_figure = drawn._root != PYPLOT
        start: tuple[Step, ...] = () if of_figure else (("[", 1),)
        axes = self.grid(number, start, rows, columns, bool(kwargs.get("squeeze", True)))
        return axes if of_figure else (self.part(number, 0), axes)

    def grid(self, number: int | None, start: tuple[Step, ...], rows: int, columns: int, squeeze: bool) -> Any:
        if squeeze and rows == columns == 1:
            return Drawn(self, number, start)
        flat = squeeze and 1 in (rows, columns)
        array = np.empty((rows * columns,) if flat else (rows, columns), dtype=object)
        for index in np.ndindex(array.shape):
            key = index[0] if flat else index
            array[index] = Drawn(self, number, (*start, ("[", key)))
        return Grid(array)

    def histogram(self, number: int | None, args: Any, kwargs: Names) -> Any:
        """Return the counts and bin edges of a histogram, computed by numpy, and a Drawn for its bars."""
        bars = self.part(number, 2)
        try:
            values = np.asarray(to_numpy(args[0]), dtype=np.float64).ravel()
            bins = kwargs.get("bins", args[1] if len(args) > 1 else None)
            self.meter.count_flops(int(values.size))
            counts, edges = np.histogram(
                values,
                10 if bins is None else bins if type(bins) is int else to_numpy(bins),
                range=to_numpy(kwargs.get("range")),
                density=bool(kwargs.get("density", False)),
            )
        except (TypeError, ValueError):
            return (self.part(number, 0), self.part(number, 1), bars)
        return from_numpy(counts.astype(np.float64)), from_numpy(edges), bars

    def part(self, number: int | None, index: int) -> Drawn:
        """Return one part of the result of a call."""
        return Drawn(self, number, (("[", index),))

    def operation(self, name: str, left: Any, right: Any) -> Drawn:
        """Record an arithmetic operation between the result of a plotting call, such as a position, and a number."""
        if self.drawings is None or left._root is None:
            return Drawn(self, None, ())
        number = self.noted(lambda: {"operator": name, "args": [self.plain(left), self.plain(right)]})
        return Drawn(self, number, ())

    def assign(self, drawn: Drawn, key: Any, value: Any) -> None:
        """Record `rcParams[key] = value`."""
        if self.drawings is None or drawn._root is None:
            return
        path = (*drawn._path, (".", "__setitem__"))
        self.recorded(Drawn(self, drawn._root, path), (key, value), {})


def line_count(args: Any) -> int:
    """Return how many lines `plot` draws for its positional arguments."""
    count = i = 0
    while i < len(args):
        i += 1
        y = args[i - 1]
        if i < len(args) and type(args[i]) is not str:
            y = args[i]
            i += 1
        if i < len(args) and type(args[i]) is str:
            i += 1
        shape = tuple(y.shape) if type(y) is Array or isinstance(y, Tensor) else ()
        count += int(shape[1]) if len(shape) == 2 else 1
    return count


def length_of(value: Any) -> int | None:
    """Return the length of a list or an array; None for other values."""
    if type(value) in (list, tuple, range):
        return len(value)
    if type(value) is Array or isinstance(value, Tensor):
        return int(value.shape[0]) if len(value.shape) else None
    return None


class Drawn(Frozen):
    """A name of a plotting module or the result of a call, with the attributes and indices that lead to it."""

    __slots__ = ("_figures", "_length", "_path", "_root")
    __module__ = "matplotlib"

    def __init__(self, figures: Figures, root: Any, path: tuple[Step, ...], length: int | None = None) -> None:
        self._figures = figures
        self._root = root  # a module, the number of a call, or None: nothing is recorded
        self._path = path
        self._length = length

    @property
    def _name(self) -> str:
        step, name = self._path[-1] if self._path else ("", "")
        return name if step == "." else ""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"'{self._name or 'Artist'}' object has no attribute '{name}'")
        return Drawn(self._figures, self._root, (*self._path, (".", name)))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._figures.call(self, args, kwargs)

    def __getitem__(self, key: Any) -> Any:
        return Drawn(self._figures, self._root, (*self._path, ("[", key)))

    def __setitem__(self, key: Any, value: Any) -> None:
        self._figures.assign(self, key, value)

    def __len__(self) -> int:
        return self._length or 0

    def __iter__(self) -> Iterator[Any]:
        self._figures.meter.count_steps(self._length or 0)
        return iter([self[i] for i in range(self._length or 0)])

    def __bool__(self) -> bool:
        return True

    def __float__(self) -> float:
        return 0.0

    def __int__(self) -> int:
        return 0

    def __format__(self, spec: str) -> str:
        try:
            return format(0.0, spec)
        except ValueError:
            return "0"

    def __enter__(self) -> Drawn:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __repr__(self) -> str:
        return f"<matplotlib {self._name or 'object'}>"

    # what positions and sizes are compared with decides nothing that a program prints
    def __lt__(self, other: Any) -> bool:
        return False

    __le__ = __gt__ = __ge__ = __lt__


def drawn_operator(name: str) -> Callable[[Drawn, Any], Drawn]:
    return lambda self, other: self._figures.operation(name, self, other)


for _name in ("add", "sub", "mul", "truediv"):
    setattr(Drawn, f"__{_name}__", drawn_operator(_name))
    setattr(Drawn, f"__r{_name}__", drawn_operator("r" + _name))


class Grid(ArrayOfOthers):
    """The array of axes that `subplots` returns."""

    __slots__ = ()
    __module__ = "numpy"

    @property
    def flat(self) -> Grid:
        return self.ravel()

    @property
    def T(self) -> Grid:
        return Grid(self._array.T)

    def ravel(self) -> Grid:
        return Grid(self._array.ravel())

    flatten = ravel

    def reshape(self, *shape: Any) -> Grid:
        return Grid(self._array.reshape(*(checked_index(size) for size in shape)))

    def __repr__(self) -> str:
        return f"<array of {self.size} axes>"


Grid.__name__ = Grid.__qualname__ = "ndarray"
