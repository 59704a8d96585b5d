"""Stand-ins for packages that are not installed: matplotlib, tqdm and torchviz.

Plotting calls are accepted and do nothing, which is said once. A progress bar only iterates.
torchviz draws gradtrace's picture of autograd's graph.
"""

from __future__ import annotations

from types import ModuleType

from gradtrace.annotations import Any, Callable, Iterator
from gradtrace.engine.data.higher import higher
from gradtrace.engine.data.lazy import np

NOT_DRAWN = "matplotlib is not installed: plotting calls do nothing; pip install 'gradtrace[plot]'"
PLOTTING = ("matplotlib", "mpl_toolkits", "seaborn")
PROGRESS = ("tqdm",)
TORCHVIZ = "torchviz"
OWN_PICTURE = "torchviz is not installed: make_dot gives gradtrace's picture of autograd's graph"
# How many parts the result of a call has, for programs that unpack it.
PARTS = {
    **dict.fromkeys(("get_legend_handles_labels", "get_size_inches", "pie", "subplot_mosaic"), 2),
    **dict.fromkeys(("get_xlim", "get_ylim", "xlim", "ylim", "xticks", "yticks"), 2),
    **dict.fromkeys(("errorbar", "stem", "hist"), 3),
    **dict.fromkeys(("axis", "hist2d"), 4),
}


class Substitute(ModuleType):
    """A module in place of one that is not installed."""


class PlottingModule(Substitute):
    """A module of matplotlib, of which every attribute is a Plotted."""

    def __init__(self, name: str, tell: Callable[[str], None]) -> None:
        super().__init__(name)
        self.__dict__["_tell"] = tell

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        self._tell(NOT_DRAWN)
        return Plotted(name)


class Plotted:
    """A function or object of matplotlib: it can be called, indexed, iterated and unpacked, and
    draws nothing.
    """

    def __init__(self, name: str, length: int = 0) -> None:
        self._name = name
        self._length = length

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"'{self._name}' object has no attribute '{name}'")
        return Plotted(name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._name == "subplots":
            return Plotted("figure"), make_axes(*args, **kwargs)
        if self._name == "plot":
            return [Plotted("line")]
        return Plotted(self._name, PARTS.get(self._name, 0))

    def __getitem__(self, key: Any) -> Plotted:
        return Plotted(self._name)

    def __setitem__(self, key: Any, value: Any) -> None:
        """Do nothing."""

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Plotted]:
        return iter([Plotted(self._name) for _ in range(self._length)])

    def __bool__(self) -> bool:
        return True

    def __enter__(self) -> Plotted:
        return self

    def __exit__(self, *exc: object) -> None:
        """Do nothing."""

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return ()

    def __repr__(self) -> str:
        return f"<{self._name} of matplotlib, which is not installed>"


def make_axes(nrows: int = 1, ncols: int = 1, squeeze: bool = True, **how: Any) -> Any:
    """Return what `subplots` returns for the axes: one object, or an array of them."""
    axes = np.empty((nrows, ncols), dtype=object)
    for index in np.ndindex(nrows, ncols):
        axes[index] = Plotted("axes")
    if not squeeze:
        return axes
    return axes.squeeze() if axes.size > 1 else axes[0, 0]


class ProgressBar:
    """A progress bar over an iterable, which prints nothing."""

    def __init__(
        self,
        iterable: Any = None,
        desc: Any = None,
        total: Any = None,
        initial: int = 0,
        **look: Any,
    ):
        self.iterable = iterable
        self.n: float = initial
        self.total = len(iterable) if total is None and hasattr(iterable, "__len__") else total
        self.desc = desc or ""

    def __iter__(self) -> Iterator[Any]:
        for item in self.iterable:
            yield item
            self.n += 1

    def __len__(self) -> int:
        return self.total if self.iterable is None else len(self.iterable)

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *exc: object) -> None:
        """Do nothing."""

    def update(self, n: float = 1) -> None:
        """Advance the bar."""
        self.n += n

    def do_nothing(self, *args: Any, **kwargs: Any) -> None:
        """Accept what changes the look of a bar."""

    set_description = set_description_str = set_postfix = set_postfix_str = close = do_nothing
    clear = refresh = reset = unpause = display = do_nothing

    @staticmethod
    def write(s: Any, file: Any = None, end: str = "\n", nolock: bool = False) -> None:
        """Print a line."""
        print(s, file=file, end=end)


ProgressBar.__name__ = ProgressBar.__qualname__ = "tqdm"


def has_substitute(name: str) -> bool:
    """Whether a module has a stand-in."""
    package = name.partition(".")[0]
    return package in (*PLOTTING, *PROGRESS) or (package == TORCHVIZ and "graph_of" in higher)


def make_module(name: str, tell: Callable[[str], None]) -> Substitute:
    """Return the stand-in for a module; `tell` prints a line for the user."""
    if name.partition(".")[0] in PLOTTING:
        return PlottingModule(name, tell)
    module = Substitute(name)
    if name.startswith(TORCHVIZ):

        def make_dot(var: Any, params: Any = None, *args: Any, **look: Any) -> Any:
            tensors = var if isinstance(var, (tuple, list)) else (var,)
            graph = higher["graph_of"](list(tensors), dict(params or {}))
            tell(OWN_PICTURE)
            return graph

        module.__dict__["make_dot"] = make_dot
        return module
    module.__dict__.update(
        tqdm=ProgressBar, trange=lambda *args, **look: ProgressBar(range(*args), **look)
    )
    return module
