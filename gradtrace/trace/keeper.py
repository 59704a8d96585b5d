"""Keep the old contents of tensors that a recorded run overwrites.

    keeper = Keeper(records)
    with using(keeper=keeper, recorder=...): ...
    keeper.scan(); keeper.version_read(tensor, call)

An array is copied only when something is about to write to it (copy on write). The engine and the
optimisers announce each write by `state.keeper.before_write(tensor)`, so a run that changes nothing
in place copies nothing. Numbers and small arrays are kept whole, larger arrays whole within a
budget of bytes, and beyond it as a Summary.

A tensor has a new version after each write. Before each write, the keeper goes through the calls
recorded since the last one, and notes which call made each version and which call read it first.
"""

from __future__ import annotations

import sys

from gradtrace.annotations import TYPE_CHECKING, Any, Iterable
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.state import WriteWatcher, state
from gradtrace.engine.data.tensor import Tensor
from gradtrace.trace.array_summary import Summary, norm_of, relative_size, sketched, summarize
from gradtrace.trace.frame_variables import FrameVariables, FunctionVariables, is_module

if TYPE_CHECKING:
    from gradtrace.engine.data.types import Array

SMALL = 4096  # bytes of an array that is always kept whole
KEPT = 128_000_000  # bytes of larger arrays kept whole in one run


def is_named(value: Any) -> bool:
    """Whether a value is a module, or a leaf that requires grad."""
    if issubclass(type(value), Tensor):
        return bool(value.is_leaf and value.requires_grad)
    return is_module(value)


class Kept:
    """The contents of an array at one moment: the array until something writes to it, then a copy
    or a Summary.
    """

    __slots__ = ("array", "shared", "summary")

    def __init__(self, array: Array) -> None:
        self.array: Array | None = array
        self.shared = True  # whether the array is the program's own
        self.summary: Summary | None = None


class Version(Kept):
    """One version of a tensor, with its grad_fn and, once it was overwritten, its gradient and
    `requires_grad`.
    """

    __slots__ = ("fn", "grad", "number", "requires_grad", "tensor", "update")

    def __init__(self, tensor: Tensor) -> None:
        super().__init__(tensor._data)
        self.tensor = tensor
        self.fn = tensor._fn
        self.number: float | bool | None = None
        if type(tensor._data) in (float, bool):
            self.number = tensor._data
            self.array = None
        self.requires_grad: bool | None = None  # known once it was overwritten
        self.grad: Any = None
        self.update: float | None = None  # see Keeper.update_of

    @property
    def is_current(self) -> bool:
        """Whether the tensor still holds this version."""
        raw = self.tensor._data
        if self.number is None:
            return self.shared and raw is self.array
        return bool(
            raw is self.number or (type(raw) not in (float, bool) and same(raw, self.number))
        )


class Mark:
    """The numbers of calls and backward passes so far, at the start of a pass or after an
    optimiser's update.

    `roots` are the ends at which a pass begins, as (node, output number).
    """

    __slots__ = ("calls", "origin", "passes", "roots", "scope", "stores")

    def __init__(
        self, calls: int, passes: int, stores: bool = False, roots: list[Any] | None = None
    ) -> None:
        self.calls = calls
        self.passes = passes
        self.stores = stores
        self.roots = roots
        self.origin = state.place()
        self.scope = state.scope


class Keeper(WriteWatcher):
    """The versions of the tensors of a run, by tensor and recorded call; its backward passes and
    optimiser steps.
    """

    def __init__(self, records: list[Any], budget: int = KEPT) -> None:
        self.records = records
        self.room = budget
        self.hidden_room = budget // 4  # for what only backward passes hold
        self.passes: list[Mark] = []
        self.updates: list[Mark] = []
        self.updating: set[int] = set()  # the optimisers of the last update, by id()
        # by gradient: the tensor that it was the gradient of
        self.gradients: dict[int, Tensor] = {}
        # by tensor and call: a version that this call read first
        self._read: dict[tuple[int, int], Version] = {}
        self._made: dict[tuple[int, int], Version] = {}
        self._current: dict[int, Version] = {}
        self._storages: dict[int, list[Kept]] = {}  # by storage: what still shares it
        self._noted: dict[int, Kept] = {}  # by array: what `note` returned for it
        self._paid: set[int] = set()  # the storages whose bytes are taken from the budget
        # of the latest arrays beyond the budget
        self._summaries: list[tuple[Array, Any, Summary]] = []
        # by leaf: what it held before, where that was too large to keep
        self._replaced: dict[int, Array] = {}
        self._scanned = 0
        self._frame_variables = FrameVariables(is_named)
        self.functions: list[FunctionVariables] = []  # what their variables held

    @property
    def wrote(self) -> bool:
        """Whether anything was overwritten, so that versions are known."""
        return self._scanned > 0 or bool(self._read)

    # ---- what the run announces

    def before_write(self, tensor: Tensor) -> None:
        """Copy the kept arrays that share a tensor's storage, because the tensor is about to be
        changed.
        """
        self.scan()
        now = self._current.get(id(tensor))
        if now is None or not now.is_current:
            now = self._add(tensor, self._read, len(self.records))
        self._end(now)
        now.update = self.update_of(tensor)
        self._replaced.pop(id(tensor), None)
        self._release(tensor._data)
        self._current.pop(id(tensor), None)

    def _end(self, now: Version) -> None:
        """Note whether a tensor requires grad, and its gradient, because this version of it is
        about to end.
        """
        tensor = now.tensor
        now.requires_grad = tensor._req
        grad = None if tensor._x is None else tensor._x.grad
        if grad is not None:
            now.grad = self.noted(grad._data)
            if id(grad) in self._current:  # a recorded call has used it, so it stays alive
                self.gradients[id(grad)] = tensor

    def before_array_write(self, array: Any) -> None:
        """Copy the kept arrays that share an array's storage, because the array is about to be
        changed.
        """
        self.scan()
        self._release(array)

    def _release(self, array: Any) -> None:
        key = id(storage_of(array))
        for kept in list(self._storages.get(key, ())):
            if type(kept) is Version and kept.requires_grad is None and kept.is_current:
                self._end(kept)  # written to through another tensor: w.data
        notes = self._storages.pop(key, None)
        if notes is not None:
            self._detach([kept for kept in notes if kept.shared])

    def passed(self, roots: list[Any], stores: bool) -> None:
        """Note that a backward pass begins at `roots`, each a (node, output number, gradient)."""
        self.passes.append(
            Mark(len(self.records), len(self.passes), stores, [root[:2] for root in roots])
        )
        is_own = self.program_files.__contains__
        self.functions += self._frame_variables.changes(sys._getframe(1), is_own)

    def optimises(self) -> None:
        self._frame_variables.forget()

    def stepped(self, optimiser: Any) -> None:
        """Note that an optimiser has updated its parameters; of several that do so in a row at one
        place, the first.
        """
        mark = Mark(len(self.records), len(self.passes))
        key = id(optimiser)
        before = [(update.calls, update.passes, update.origin) for update in self.updates[-1:]]
        if before == [(mark.calls, mark.passes, mark.origin)] and key not in self.updating:
            self.updating.add(key)
            return
        self.updates.append(mark)
        self.updating = {key}

    # ---- arrays

    def note(self, raw: Array, always: bool = False) -> Kept:
        """Return a Kept for a large array's present contents; `always` keeps it whole even beyond
        the budget.
        """
        noted = self._noted.get(id(raw))
        if noted is not None and noted.array is raw:
            return noted
        kept = Kept(raw)
        self.pay(kept, always)
        self._register(kept)
        return kept

    def pay(self, kept: Kept, always: bool = False, hidden: bool = False) -> None:
        """Take an array's bytes from the budget; if it is spent, replace the array by a summary.

        Arrays that exist only inside backward passes (`hidden`) have a separate budget, so that
        watching backward passes does not change which tensors are kept whole.
        """
        raw = kept.array
        if raw is None or raw.nbytes <= SMALL:
            return
        root = storage_of(raw)
        if id(root) in self._paid:
            return
        if not self.reserve(root.nbytes, hidden) and not always:
            self._summarize(kept, raw, root)
            return
        self._paid.add(id(root))

    def expose(self, raw: Array, hidden: Iterable[Kept]) -> None:
        """Register the `hidden` arrays on the storage of `raw`: the program can now reach and
        overwrite it.
        """
        root = storage_of(raw)
        for kept in hidden:
            if kept.shared and storage_of(kept.array) is root:
                self.pay(kept)
                self._register(kept)

    def _register(self, kept: Kept) -> None:
        if kept.shared:
            self._noted[id(kept.array)] = kept
            self._share(kept)

    def noted(self, raw: Any) -> Any:
        """Return the present contents of raw data: a number, a copy of a small array, or a Kept for
        a large one.
        """
        if type(raw) is float or type(raw) is bool:
            return raw
        return raw.copy() if raw.nbytes <= SMALL else self.note(raw)

    def own(self, kept: Kept) -> None:
        """Copy (or summarize) kept contents now, so that later writes by the program do not change
        them.
        """
        if kept.shared:
            self._detach([kept])

    def _summarize(self, kept: Kept, raw: Array, root: Array) -> None:
        """Keep a summary; an array that was noted a moment ago (sent, then arrived, transposed) has
        one already.
        """
        kept.array = None
        kept.shared = False
        order = None if raw.flags.c_contiguous else (raw.shape, raw.strides)
        for array, known_order, summary in self._summaries:
            if array is root and raw.size == root.size:
                kept.summary = summary._replace(shape=tuple(raw.shape))
                if order != known_order:  # the statistics do not depend on it
                    kept.summary = sketched(kept.summary, raw)
                return
        kept.summary = summarize(raw)
        if raw.size == root.size:
            self._summaries = [*self._summaries[-7:], (root, order, kept.summary)]

    def _share(self, kept: Kept) -> None:
        self._storages.setdefault(id(storage_of(kept.array)), []).append(kept)

    def _detach(self, contents: list[Kept]) -> None:
        """Give everything on one storage its own contents. A storage of which most is needed is
        copied once.
        """
        if not contents:
            return
        root: Any = storage_of(contents[0].array)
        size = sum(kept.array.nbytes for kept in contents if kept.array is not None)
        paid = id(root) in self._paid
        self._paid.discard(id(root))
        once = None
        several = len(contents) > 1 and size >= root.nbytes > SMALL and root.flags.c_contiguous
        if several and (paid or self.reserve(root.nbytes)):
            once = (root, root.copy())
        for kept in contents:
            array: Any = kept.array
            self._noted.pop(id(array), None)
            if once is not None:
                kept.array = moved(array, *once)
            elif paid or array.nbytes <= SMALL or self.reserve(array.nbytes):
                kept.array = array.copy()
            else:
                kept.summary = summarize(array)
                kept.array = None
                if isinstance(kept, Version) and kept.tensor._req and kept.fn is None:
                    self._replaced[id(kept.tensor)] = array.copy()
            kept.shared = False

    def reserve(self, size: int, hidden: bool = False) -> bool:
        """Take bytes from the budget (with `hidden` the separate one, see `pay`); return False if
        too few are left.
        """
        if size > (self.hidden_room if hidden else self.room):
            return False
        if hidden:
            self.hidden_room -= size
        else:
            self.room -= size
        return True

    # ---- versions

    def scan(self) -> None:
        """Note the versions that each call since the last scan read and made."""
        records = self.records
        if self._scanned >= len(records):
            return
        for index in range(self._scanned, len(records)):
            name, args, out, _ = records[index]
            changed = out if name[-1:] == "_" else None
            for tensor in tensors_in(args):
                if tensor is not changed:
                    self._reads(tensor, index)
            for tensor in tensors_in(out):
                self._add(tensor, self._made, index)
                base = tensor._base if changed is not None else None
                if base is not None:
                    self._add(base, self._made, index)
        self._scanned = len(records)

    def _reads(self, tensor: Tensor, index: int) -> None:
        version = self._current.get(id(tensor))
        if version is not None and version.is_current:
            return
        base = tensor._base
        if base is not None:
            self._reads(base, index)
        self._add(tensor, self._read, index)

    def _add(self, tensor: Tensor, where: dict[tuple[int, int], Version], index: int) -> Version:
        version = where[id(tensor), index] = self._current[id(tensor)] = Version(tensor)
        if version.array is not None:
            self._share(version)
        return version

    def update_of(self, tensor: Tensor) -> float | None:
        """Return norm(last change) / norm(previous value) of a leaf whose previous value was too
        large to keep.
        """
        before = self._replaced.get(id(tensor))
        if before is None or before.shape != getattr(tensor._data, "shape", None):
            return None
        return relative_size(norm_of(tensor._data - before), norm_of(before))

    def version_read(self, tensor: Tensor, call: int) -> Version | None:
        """Return the version of a tensor that a call was the first to read; None if an earlier call
        read it.
        """
        return self._read.get((id(tensor), call))

    def version_made(self, tensor: Tensor, call: int) -> Version | None:
        """Return the version of a tensor that a call made, or None."""
        return self._made.get((id(tensor), call))


def same(raw: Any, number: float | bool) -> bool:
    """Return whether a 0-d array holds this number (nan equals nan)."""
    value = raw.item() if raw.ndim == 0 else None
    return bool(value == number or (value is not None and value != value and number != number))


def moved(array: Array, root: Array, copy: Array) -> Array:
    """Return the view of `copy` that corresponds to `array`, a view of `root`; `copy` is a copy of
    `root`.
    """
    offset = array.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    return np.ndarray(array.shape, array.dtype, copy, offset, array.strides)


def storage_of(array: Any) -> Any:
    """Return the array that owns the memory of a view; None for a number."""
    if type(array) is float or type(array) is bool:
        return None
    base = getattr(array, "base", None)
    while base is not None and type(base) is type(array):
        array = base
        base = base.base
    return array


def tensors_in(value: Any) -> list[Tensor]:
    """Return the tensors in an argument or a result, also those inside tuples and lists."""
    if isinstance(value, Tensor):
        return [value]
    if type(value) is not tuple and type(value) is not list:
        return []
    tensors: list[Tensor] = []
    for item in value:
        if isinstance(item, Tensor):
            tensors.append(item)
        elif type(item) is tuple or type(item) is list:
            tensors += tensors_in(item)
    return tensors
