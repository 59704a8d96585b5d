"""Calls of torch.utils.swap_tensors, which exchange what two tensors are and refuse tensors with
weak references.

Module.to() does so too, after torch.__future__.set_swap_module_params_on_conversion(True).
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from gradtrace.torch import private

if TYPE_CHECKING:
    from gradtrace.torch.recorder import Recorder
    from gradtrace.torch.references import Known


def swapping(rec: Recorder, original: Any) -> Any:
    """Return a swap_tensors that drops the recorder's weak references during the call.

    After it, what is known of each tensor belongs to the other one.
    """

    def swap_tensors(t1: Any, t2: Any) -> None:
        with rec.lock:
            first = dropped(rec, t1)
            second = dropped(rec, t2)
            held = [
                holder
                for holder in rec.optimisers.values()
                if {id(t1), id(t2)} & {id(ref()) for ref in holder.refs}
            ]
            for holder in held:
                holder.refs = []
            try:
                original(t1, t2)
            except BaseException:
                first, second = second, first
                raise
            finally:
                attach(rec, second, t1)
                attach(rec, first, t2)
                with private.without_torch_function():
                    for holder in held:
                        if (optimizer := holder.ref()) is not None:
                            holder.read(optimizer)

    return swap_tensors


def dropped(rec: Recorder, tensor: Any) -> Known | None:
    """Remove the recorder's weak reference to a tensor, and return what is known of the tensor."""
    identity = rec.find(tensor)
    if identity is not None:
        del rec.identities[id(tensor)], identity.ref
    return identity


def attach(rec: Recorder, identity: Known | None, tensor: Any) -> None:
    """Note that an identity belongs to this tensor."""
    if identity is not None:
        identity.ref = weakref.ref(tensor)
        rec.identities[id(tensor)] = identity
