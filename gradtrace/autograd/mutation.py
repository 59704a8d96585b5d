"""`allow_mutation_on_saved_tensors`: tensors that are saved for backward may be changed in place.

A saved tensor is copied when something is about to write to its storage, which every in-place operation announces to
`state.keeper`; until then, and if nothing does, only a reference is kept.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

from gradtrace.annotations import Any
from gradtrace.autograd.graph import saved_tensors_hooks
from gradtrace.engine.state import state, using
from gradtrace.engine.tensor import Tensor

OUTSIDE_MESSAGE = (
    "Trying to backward outside of the 'allow_mutation_on_saved_tensors' contextin which the graph was originally "
    "recorded."
)


class Handle:
    """What a graph keeps of a saved tensor."""

    __slots__ = ("__weakref__",)


class Writes:
    """Stands in `state.keeper` for the outer one, and announces writes to a context for mutation first."""

    def __init__(self, context: allow_mutation_on_saved_tensors, outer: Any) -> None:
        self.context, self.outer = context, outer

    def __getattr__(self, name: str) -> Any:
        return ignore if self.outer is None else getattr(self.outer, name)

    def before_write(self, tensor: Tensor) -> None:
        self.context.copy_saved(tensor)
        if self.outer is not None:
            self.outer.before_write(tensor)


def ignore(*args: object) -> None:
    """What a keeper that is not there does."""


class allow_mutation_on_saved_tensors:
    """Context in which a tensor saved for backward may be changed in place; backward sees what was saved.

    Both directions must run inside. `original` has the saved tensors that nothing has written to, `cloned` the copies
    of the others, both by the handle that the graph keeps. RuntimeError for such a context inside of another.
    """

    def __init__(self) -> None:
        self.cloned: WeakKeyDictionary[Handle, Tensor] = WeakKeyDictionary()
        self.original: WeakKeyDictionary[Handle, Tensor] = WeakKeyDictionary()
        self.tid_to_weakhandle: WeakValueDictionary[tuple[int, int], Handle] = WeakValueDictionary()
        self._by_storage: dict[int, WeakSet[Handle]] = {}  # by the identity of the version counter of a storage
        self._hooks = saved_tensors_hooks(self._pack, self._unpack)
        self._is_entered = False

    def _pack(self, tensor: Tensor) -> Handle:
        kept = tensor.detach()  # not the tensor: its history may hold the node that keeps the handle
        tid = (id(tensor.counter()), tensor._version)
        handle = self.tid_to_weakhandle.get(tid)
        saved = None if handle is None else self.original.get(handle)
        if handle is not None and saved is not None and saved.is_set_to(kept):
            return handle
        handle = Handle()
        self.tid_to_weakhandle[tid] = handle
        self.original[handle] = kept
        self._by_storage.setdefault(id(tensor.counter()), WeakSet()).add(handle)
        return handle

    def _unpack(self, handle: Handle) -> Tensor:
        if not self._is_entered:
            raise AssertionError(OUTSIDE_MESSAGE)
        return self.cloned[handle] if handle in self.cloned else self.original[handle]

    def copy_saved(self, tensor: Tensor) -> None:
        """Copy the saved tensors on the storage of one that is about to change."""
        counter = None if tensor._x is None else tensor._x.counter
        for handle in list(self._by_storage.get(id(counter), ())):
            saved = self.original.get(handle)
            if saved is not None and saved._x is not None and saved._x.counter is counter:
                with using(grad_enabled=False, saved_hooks=()):
                    self.cloned[handle] = saved.clone()
                del self.original[handle]

    def __enter__(self) -> allow_mutation_on_saved_tensors:
        if any(isinstance(getattr(unpack, "__self__", None), type(self)) for _, unpack in state.saved_hooks):
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        self._hooks.__enter__()
        self._outer = state.keeper
        state.keeper = Writes(self, self._outer)  # type: ignore[assignment]  # it stands in for a keeper
        self._is_entered = True
        return self

    def __exit__(self, *exc: object) -> None:
        self._is_entered = False
        state.keeper = self._outer
        self._hooks.__exit__(*exc)
        self.cloned.clear()
        self.original.clear()
