"""Iterator built-ins: items of endless iterators are counted, and the nesting of lazy iterators is limited.

An iterator over an iterator, nested a hundred thousand levels deep, overflows the C stack when it is advanced or
deallocated. So `map`, `zip` and similar return Python's iterator for ordinary values, but for another lazy
iterator a `Lazy`, which knows its depth.
"""

from __future__ import annotations

from gradtrace.annotations import Any, AnyFunction, Callable, Iterator
from gradtrace.engine.data.tensor import Tensor
from gradtrace.lang.budget import Meter
from gradtrace.lang.generator_values import Generator
from gradtrace.lang.takers import CALLERS, CALLING
from gradtrace.lang.values import Frozen, ProgramFunction, attributes_of, named

LONGEST_RANGE = 1 << 24  # up to this length a range is Python's; items of longer ranges are counted
LONG = 1 << 16  # items of a source from which those of a lazy iterator are counted
DEEPEST = 200  # maximum depth of iterators over iterators
GENERATOR = type(_ for _ in ())  # of generator expressions
LAZY = {enumerate, filter, map, reversed, zip, GENERATOR, Generator}
MEASURED = {list, tuple, dict, str, set, frozenset, range}
EAGER = {list, tuple, dict, str, set, frozenset, range, Tensor, ProgramFunction, type(None)}


class Lazy(Frozen):
    """An iterator over another lazy iterator."""

    __slots__ = ("_depth", "_items")

    def __init__(self, items: Iterator[Any], depth: int) -> None:
        self._items = items
        self._depth = depth

    def __iter__(self) -> Lazy:
        return self

    def __next__(self) -> Any:
        return next(self._items)

    def __repr__(self) -> str:
        return repr(self._items)


def depth_of(value: Any) -> int:
    """Return the number of nested lazy iterators in a value; 0 for a container."""
    kind = type(value)
    if kind in EAGER:
        return 0
    return value._depth if kind is Lazy else int(kind in LAZY)


def limit_depth(iterator: Any, over: int) -> Any:
    """Return `iterator`, wrapped as a Lazy if its source has depth `over` > 0; raise RecursionError if too deep."""
    if over == 0:
        return iterator
    if over >= DEEPEST:
        raise RecursionError("iterators are nested too deeply")
    return Lazy(iterator, over + 1)


def depth_limited(make: AnyFunction, meter: Meter) -> AnyFunction:
    """Wrap map, zip and similar to limit their nesting depth, and to count their items where Python's code makes many.

    Python's loop over a `map` of one of its own functions, or over the pairs of two long lists, runs no code of the
    program, so no signal would interrupt it.
    """
    calls = make in (map, filter)

    def call(*args: Any, **kwargs: Any) -> Any:
        meter.count_items(len(args))
        made = make(*args, **kwargs)
        if is_long(args, calls):
            made = metered(make(charged_call(args[0], meter), *args[1:]) if calls else made, meter, len(args))
        return limit_depth(made, max(map(depth_of, args), default=0))

    return with_name(call, make.__name__)


def is_long(args: Any, calls: bool) -> bool:
    """Whether a lazy iterator calls a function of Python's, or has a long source."""
    if calls and args and type(args[0]) is not ProgramFunction:
        return True
    return sum(len(arg) for arg in args if type(arg) in MEASURED) > LONG


def charged_call(function: Any, meter: Meter) -> Any:
    """Return a class that charges for its arguments, as a call of the program does."""
    from gradtrace.lang.hash_cost import HASHING_TYPES, charged_arguments

    kind = type(function)
    if kind not in HASHING_TYPES:
        return function
    return lambda *args: function(*charged_arguments(function, kind, args, meter))


def metered(items: Any, meter: Meter, width: int = 1) -> Iterator[Any]:
    """Yield the items and count a step for each (or for 16 of its `width` parts).

    For possibly endless iterators that run no code of the program.
    """
    steps = 1 + (width >> 4)
    for item in items:
        meter.left -= steps
        if meter.left < 0:
            meter.grant()
        yield item


class Range(Frozen):
    """A long range whose items are counted; otherwise like Python's."""

    __slots__ = ("_meter", "_range")

    def __init__(self, values: range, meter: Meter) -> None:
        self._range = values
        self._meter = meter

    start, stop, step = attributes_of("_range", "start stop step")

    def __iter__(self) -> Iterator[int]:
        return metered(self._range, self._meter)

    def __reversed__(self) -> Iterator[int]:
        return metered(reversed(self._range), self._meter)

    def __len__(self) -> int:
        self._meter.reserve(8 * len(self._range))  # list() reads the length first and allocates
        return len(self._range)

    def __getitem__(self, key: Any) -> Any:
        result = self._range[key]
        return Range(result, self._meter) if isinstance(result, range) else result

    def __contains__(self, value: Any) -> bool:
        whole = int(value) if type(value) is float and value.is_integer() else value
        return type(whole) in (int, bool) and whole in self._range

    def __eq__(self, other: Any) -> bool:
        return self._range == (other._range if isinstance(other, Range) else other)

    def __hash__(self) -> int:
        return hash(self._range)

    def __repr__(self) -> str:
        return repr(self._range)


def make_range(meter: Meter) -> AnyFunction:
    def make(*args: Any) -> Any:
        values = range(*args)
        long = bool(values) and abs(values[-1] - values[0]) // abs(values.step) >= LONGEST_RANGE
        return Range(values, meter) if long else values

    return with_name(make, "range")


def make_iter(meter: Meter) -> AnyFunction:
    def make(*args: Any) -> Any:
        calls = len(args) == 2 and type(args[0]) is not ProgramFunction
        if calls or (len(args) == 1 and is_long(args, False)):
            return metered(iter(*args), meter)
        return iter(*args)

    return with_name(make, "iter")


def charged(function: AnyFunction, charge: Callable[[Any, Any], None], name: str = "") -> AnyFunction:
    """Return a function of Python's as a program has it: `charge` gets the tuple and dict of its arguments first."""

    def call(*args: Any, **how: Any) -> Any:
        charge(args, how)
        return function(*args, **how)

    return with_name(call, name or function.__name__)


def with_name(function: AnyFunction, name: str) -> AnyFunction:
    """Set a function's name to `name`, usually that of the built-in that it replaces, and return the function."""
    if name in CALLERS:
        vars(function)[CALLING] = True
    return named(function, name)
