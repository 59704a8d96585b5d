"""The modules `tqdm` and `IPython` of programs: progress bars that print nothing, and `display`, which prints."""

from __future__ import annotations

from gradtrace.annotations import Any, AnyFunction, Iterator
from gradtrace.lang.budget import Meter
from gradtrace.lang.builtins import Streams
from gradtrace.lang.iteration import make_range
from gradtrace.lang.values import Frozen
from gradtrace.lang.words import Names, words

TQDM = words("tqdm tqdm.auto tqdm.autonotebook tqdm.notebook tqdm.std")
DISPLAY = {
    "IPython": words("get_ipython"),
    "IPython.display": words("HTML Image Markdown SVG clear_output display set_matplotlib_formats"),
    "IPython.core": frozenset[str](),
    "IPython.core.display": words("HTML Image Markdown display"),
}
NAMES = {**dict.fromkeys(TQDM, words("tqdm trange")), **DISPLAY}


class Bar(Frozen):
    """A progress bar over an iterable; it shows nothing."""

    __slots__ = ("_items", "desc", "leave", "n", "total")
    __module__ = "tqdm.std"

    def __init__(self, items: Any, total: Any, desc: Any, initial: int) -> None:
        self._items = items
        self.n = initial
        self.total = len(items) if total is None and hasattr(type(items), "__len__") else total
        self.desc = desc or ""
        self.leave = True

    def __iter__(self) -> Iterator[Any]:
        if self._items is None:
            raise TypeError("'NoneType' object is not iterable")
        for item in self._items:
            yield item
            self.n += 1

    def __len__(self) -> int:
        return len(self._items) if self._items is not None else self.total

    def __bool__(self) -> bool:
        if self.total is None and self._items is None:
            raise TypeError("bool() undefined when iterable == total == None")
        return self.total is None or self.total > 0

    def update(self, n: Any = 1) -> None:
        self.n += n

    def set_description(self, desc: Any = None, refresh: bool = True) -> None:
        self.desc = f"{desc}: " if desc else ""

    set_description_str = set_description

    def set_postfix(self, ordered_dict: Any = None, refresh: bool = True, **values: Any) -> None:
        """Do nothing."""

    def set_postfix_str(self, s: Any = "", refresh: bool = True) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""

    clear = refresh = unpause = display = close

    def reset(self, total: Any = None) -> None:
        self.n, self.total = 0, self.total if total is None else total

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __repr__(self) -> str:
        return f"<tqdm {self.n}/{self.total}>"


Bar.__name__ = Bar.__qualname__ = "tqdm"


class BarMaker(Frozen):
    """The `tqdm` or `trange` of programs; calling it makes a Bar."""

    __slots__ = ("_ranges", "_streams")

    def __init__(self, streams: Streams, ranges: AnyFunction | None) -> None:
        self._streams = streams
        self._ranges = ranges

    def __call__(
        self, iterable: Any = None, *more: Any, desc: Any = None, total: Any = None, initial: int = 0, **look: Any
    ) -> Bar:
        if self._ranges is not None:
            return Bar(self._ranges(iterable, *more), total, desc, initial)
        desc = more[0] if more else desc
        return Bar(iterable, more[1] if len(more) > 1 else total, desc, initial)

    def write(self, s: Any, file: Any = None, end: str = "\n", nolock: bool = False) -> None:
        """Print a line, as tqdm.write does between its bars."""
        (self._streams.stdout if file is None else file).write(f"{s}{end}")


def tqdm_names(streams: Streams, meter: Meter) -> Names:
    return {"tqdm": BarMaker(streams, None), "trange": BarMaker(streams, make_range(meter))}


def display_names(streams: Streams) -> Names:
    """Return the names of `IPython` and `IPython.display`, for one run."""

    def display(*objects: Any, **_: Any) -> None:
        """Print each object, as IPython does outside a notebook."""
        for one in objects:
            streams.stdout.write(f"{one!r}\n")

    def clear_output(wait: bool = False) -> None:
        """Write the escape sequence that IPython writes outside a notebook."""
        streams.stdout.write("\033[2K\r")

    shown = dict.fromkeys(("HTML", "Image", "Markdown", "SVG"), Rich)
    return {
        **shown,
        "display": display,
        "clear_output": clear_output,
        "set_matplotlib_formats": lambda *formats, **how: None,
        "get_ipython": lambda: None,
    }


class Rich(Frozen):
    """An object such as HTML or Image, which a notebook would display in a form other than text."""

    __slots__ = ("data",)
    __module__ = "IPython.core.display"

    def __init__(self, data: Any = None, *args: Any, **how: Any) -> None:
        self.data = data

    def __repr__(self) -> str:
        return "<IPython.core.display.HTML object>"


Rich.__name__ = Rich.__qualname__ = "HTML"
