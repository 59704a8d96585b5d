"""`allow_mutation_on_saved_tensors`: tensors that are saved for backward may be changed in place.

A saved tensor is copied only when something is about to write to its storage, which every in-place
operation announces to `state.keeper`. Until then only a reference is kept.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

from gradtrace.annotations import Any
from gradtrace.autograd.graph import saved_tensors_hooks
from gradtrace.engine.data.state import state, using
from gradtrace.engine.data.tensor import Tensor

OUTSIDE_MESSAGE = (
    "Trying to backward outside of the 'allow_mutation_on_saved_tensors' contextin which the "
    "graph was originally recorded."
)


class Handle:
    """The object that a graph stores in place of a saved tensor."""

    __slots__ = ("__weakref__",)


class CopyingKeeper:
    """A replacement for `state.keeper`: before each write it has `context` copy the saved tensors
    concerned, then it calls the keeper that it replaces.
    """

    def __init__(self, context: allow_mutation_on_saved_tensors) -> None:
        self.context = context
        self.outer = state.keeper

    def __getattr__(self, name: str) -> Any:
        return getattr(self.outer, name)

    def before_write(self, tensor: Tensor) -> None:
        self.context.copy_saved(tensor)
        self.outer.before_write(tensor)


class allow_mutation_on_saved_tensors:
    """Context manager: tensors saved for backward may be changed in place; backward uses the values
    that were saved.

    Forward and backward must both run inside. `original` has the unchanged saved tensors, `cloned`
    the copies of changed ones; the keys are the handles that the graph stores. RuntimeError if two
    such contexts are nested.
    """

    def __init__(self) -> None:
        self.cloned: WeakKeyDictionary[Handle, Tensor] = WeakKeyDictionary()
        self.original: WeakKeyDictionary[Handle, Tensor] = WeakKeyDictionary()
        self.tid_to_weakhandle: WeakValueDictionary[tuple[int, int], Handle] = WeakValueDictionary()
        # The handles of a storage, by the identity of its version counter.
        self._by_storage: dict[int, WeakSet[Handle]] = {}
        self._hooks = saved_tensors_hooks(self._pack, self._unpack)
        self._is_entered = False

    def _pack(self, tensor: Tensor) -> Handle:
        # Keep a tensor without history: the history may hold the node that stores the handle.
        detached = tensor.detach()
        tid = (id(tensor.counter()), tensor._version)
        handle = self.tid_to_weakhandle.get(tid)
        saved = None if handle is None else self.original.get(handle)
        if handle is not None and saved is not None and saved.is_set_to(detached):
            return handle
        handle = Handle()
        self.tid_to_weakhandle[tid] = handle
        self.original[handle] = detached
        self._by_storage.setdefault(id(tensor.counter()), WeakSet()).add(handle)
        return handle

    def _unpack(self, handle: Handle) -> Tensor:
        if not self._is_entered:
            raise AssertionError(OUTSIDE_MESSAGE)
        return self.cloned[handle] if handle in self.cloned else self.original[handle]

    def copy_saved(self, tensor: Tensor) -> None:
        """Copy the saved tensors that share the storage of `tensor`, which is about to be
        changed.
        """
        counter = None if tensor._x is None else tensor._x.counter
        for handle in list(self._by_storage.get(id(counter), ())):
            saved = self.original.get(handle)
            if saved is not None and saved._x is not None and saved._x.counter is counter:
                with using(grad_enabled=False, saved_hooks=()):
                    self.cloned[handle] = saved.clone()
                del self.original[handle]

    def __enter__(self) -> allow_mutation_on_saved_tensors:
        if any(
            isinstance(getattr(unpack, "__self__", None), type(self))
            for _, unpack in state.saved_hooks
        ):
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        self._hooks.__enter__()
        self._keeper = using(keeper=CopyingKeeper(self))
        self._keeper.__enter__()
        self._is_entered = True
        return self

    def __exit__(self, *exc: object) -> None:
        self._is_entered = False
        self._keeper.__exit__(*exc)
        del self._keeper
        self._hooks.__exit__(*exc)
        self.cloned.clear()
        self.original.clear()
