"""The contents of a tensor in a trace: whole, or as a Summary where keeping every element would
cost too much.
"""

from __future__ import annotations

import weakref
from math import isfinite

from gradtrace.annotations import Any, Callable, NamedTuple, TypeVar
from gradtrace.engine.data.dtypes import count
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.errors import NotKeptError
from gradtrace.trace.array_summary import Summary, name_of, norm_of, summarize
from gradtrace.trace.keeper import SMALL, Keeper, Kept, Version

INFINITY = float("inf")
T = TypeVar("T")


# by id() of a large array: a weak reference to it, and the facts that were asked for
_FACTS: dict[int, tuple[Any, dict[Any, Any]]] = {}


def remembered(fact: Callable[..., T]) -> Callable[..., T]:
    """Return a function of a Value that computes a fact of a large array once: a picture asks for
    it in each layout that it tries.
    """

    def call(value: Value, *args: Any) -> T:
        array = value.elements
        if array is None or getattr(array, "nbytes", 0) <= SMALL:
            return fact(value, *args)
        key = id(array)
        reference, facts = _FACTS.get(key, (None, {}))
        if reference is None or reference() is not array:
            facts = {}
            _FACTS[key] = weakref.ref(array, lambda _: _FACTS.pop(key, None)), facts
        if (fact, args) not in facts:
            facts[fact, args] = fact(value, *args)
        return facts[fact, args]

    call.__name__, call.__doc__ = fact.__name__, fact.__doc__
    return call


class Value(NamedTuple):
    """A tensor's contents: `elements` is a float, bool or int when `shape` is (), else a read-only
    ndarray.

    `dtype` is the bare name ("float64", "int64", "bool"). A 0-d tensor never holds an ndarray here.
    `elements` is None if only a summary (`kept`) is there. Read `data` where every element is
    needed, and the other properties otherwise.
    """

    shape: tuple[int, ...]
    dtype: str
    elements: Any
    kept: Summary | None = None

    @property
    def is_whole(self) -> bool:
        """Whether every element was kept."""
        return self.elements is not None

    @property
    def data(self) -> Any:
        """Every element. NotKeptError if only a summary was kept."""
        if self.is_meta:
            raise NotKeptError.of_meta()
        if self.elements is None:
            raise NotKeptError(
                f"the elements of a tensor of shape {self.shape} were not kept, only a summary of "
                "them",
                "raise the limit with --max-record or GRADTRACE_MAX_RECORD",
            )
        return self.elements

    @property
    def summary(self) -> Summary:
        """The statistics of the elements, also of a single number."""
        return self.kept or (summarize(self.elements) if self.shape else summary_of_number(self))

    @property
    def numel(self) -> int:
        return count(self.shape)

    @property
    def is_float(self) -> bool:
        return self.dtype.startswith(("float", "bfloat"))

    @property
    def is_meta(self) -> bool:
        """Whether the tensor is on the device "meta", so that it has no elements."""
        return self.kept is not None and self.kept.device == "meta"

    @property
    def is_measured(self) -> bool:
        """Whether anything is known of the elements; in a run recorded only for its structure they
        have just shape and dtype.
        """
        kept = self.kept
        return (
            kept is None or bool(kept.histogram or kept.nan or kept.inf) or kept.minimum is not None
        )

    @property
    @remembered
    def norm(self) -> float:
        """The Euclidean length of the elements; NaN or infinity if any element is."""
        if self.kept is not None:
            if self.kept.nan:
                return float("nan")
            return INFINITY if self.kept.inf else self.kept.norm
        return norm_of(self.elements)

    @property
    @remembered
    def all_finite(self) -> bool:
        data = self.elements
        if self.kept is not None:
            return not self.kept.nan and not self.kept.inf
        if not self.shape:
            return bool(data == data and abs(data) != INFINITY)
        # a sum is finite only if every element is
        if data.dtype.kind != "f" or isfinite(np.add.reduce(data, None)):
            return True
        return bool((abs(data) < INFINITY).all())

    @property
    def has_nan(self) -> bool:
        if self.kept is not None:
            return bool(self.kept.nan)
        return bool(
            self.elements != self.elements
            if not self.shape
            else (self.elements != self.elements).any()
        )

    @property
    def all_zero(self) -> bool:
        """Whether every element is 0; False if there are no elements."""
        if self.kept is not None:
            return bool(self.numel) and self.kept.zeros == self.numel
        if not self.shape:
            return bool(self.elements == 0)
        return bool(self.elements.size) and bool((self.elements == 0).all())

    @property
    def zeros(self) -> int:
        """The number of elements that are 0."""
        if self.kept is not None:
            return self.kept.zeros
        return int(self.elements == 0) if not self.shape else int((self.elements == 0).sum())

    def __eq__(self, other: object) -> bool:
        """Element by element, NaN equal to NaN (an ndarray's own == would not give one answer)."""
        if not isinstance(other, Value) or self.shape != other.shape or self.dtype != other.dtype:
            return False
        a = self.elements
        b = other.elements
        if a is b:
            return self.kept == other.kept
        if a is None or b is None:
            return self.summary == other.summary
        if not self.shape:
            return bool(a == b or (a != a and b != b))
        return bool(((a == b) | ((a != a) & (b != b))).all())

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))


def summary_of_number(value: Value) -> Summary:
    """Return the summary of a single number, without importing numpy."""
    x = value.elements
    nan = int(x != x)
    inf = int(abs(x) == INFINITY)
    if nan or inf:
        return Summary((), value.dtype, "cpu", None, None, None, 0.0, 0.0, 0, nan, inf, (0,))
    return Summary(
        (),
        value.dtype,
        "cpu",
        x,
        x,
        float(x),
        abs(float(x)),
        abs(float(x)),
        int(x == 0),
        0,
        0,
        (1,),
    )


def frozen(raw: Any) -> Value:
    """Return raw data, or a Tensor, as a Value with a copy of every element."""
    if isinstance(raw, Tensor):
        raw = raw._data
    kind = type(raw)
    if kind is float:
        return Value((), "float64", raw, None)
    if kind is bool or kind is int:
        return Value((), "bool" if kind is bool else "int64", raw, None)
    return taken(raw.copy() if raw.shape else raw)


def taken(array: Any) -> Value:
    """Return an array that will not change any more as a Value, without a copy."""
    if not array.shape:
        return Value((), name_of(array.dtype), array.item(), None)
    if not array.flags.forc:  # so that a file can keep its order, and sums give the same last digit
        array = array.copy()
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return Value(tuple(array.shape), name_of(array.dtype), array, None)


class Contents:
    """A maker of the Values of one trace from the contents that the run's keeper has; each array
    becomes one Value.

    If `final`, the program has ended, so its arrays are used without copying; else they are copied.
    """

    def __init__(self, keeper: Keeper | None, final: bool = False) -> None:
        self.keeper = keeper
        self.final = final
        self._known: dict[int, tuple[Kept, Value]] = {}

    def of(self, noted: Any) -> Value | None:
        """Return the Value of a note: of a Value, a Kept, raw data or None."""
        if noted is None or type(noted) is Value:
            return noted
        if not isinstance(noted, Kept):
            return frozen(noted) if type(noted) in (float, bool) else taken(noted)
        entry = self._known.get(id(noted))
        if entry is None:
            entry = self._known[id(noted)] = (noted, self._read(noted))
        return entry[1]

    def _read(self, kept: Kept) -> Value:
        if not self.final and self.keeper is not None:
            self.keeper.own(kept)
        return summarized(kept.summary) if kept.summary is not None else taken(kept.array)

    def of_version(self, version: Version) -> Value | None:
        """Return the Value that a tensor had in one of its versions."""
        if version.number is not None:
            return frozen(version.number)
        if version.shared:
            return self.of_tensor(version.tensor, version.array)
        return summarized(version.summary) if version.summary is not None else taken(version.array)

    def of_tensor(self, tensor: Tensor, raw: Any = None, whole: bool = False) -> Value | None:
        """Return the present Value of a tensor (None if unknown); with `whole`, every element is
        kept whatever the budget.
        """
        raw = tensor._data if raw is None else raw
        if self.keeper is None or type(raw) in (float, bool) or raw.nbytes <= SMALL:
            return frozen(raw)
        return self.of(self.keeper.note(raw, whole))


def summarized(summary: Summary) -> Value:
    """Return a Value that has only this summary."""
    return Value(summary.shape, summary.dtype, None, summary)
