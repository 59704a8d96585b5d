"""The treatment of each public function of PyTorch when it is called under a recorder.

`how` returns a function's treatment, and `HOW` caches it. Most functions are operators; the others
make values leave the graph (`.data`, `item()`), change flags, start backward, or are not recorded
(`QUIET`).
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from gradtrace.torch import escapes, hooks, private
from gradtrace.torch.operators import operate, reversed_

if TYPE_CHECKING:
    from gradtrace.torch.recorder import Recorder

Tensor = torch.Tensor


class How(NamedTuple):
    """The treatment of a function: `run(recorder, func, args, kwargs, name)` calls it and records
    the call.
    """

    run: Callable[[Recorder, Any, Any, dict[str, Any], str], Any]
    name: str


def silent(rec: Recorder, func: Any, args: Any, kwargs: dict[str, Any], name: str) -> Any:
    return func(*args, **kwargs)


def overload(rec: Recorder, func: Any, args: Any, kwargs: dict[str, Any], name: str) -> Any:
    """Record a call of one overload of an operator, unless a TorchDispatchMode of the program hands
    it on. It does so during a pass, where the recorder is not off; the engine detaches what a node
    has saved.
    """
    if private.is_below_autograd() or (rec.watching and func is private.DETACH):
        return func(*args, **kwargs)
    return operate(rec, func, args, kwargs, name)


QUIET = How(silent, "")
HOW: dict[Any, How] = {}
NOTHING = frozenset(
    """
    size dim ndimension numel nelement stride is_floating_point is_complex __len__ __repr__ __format__ data_ptr
    __hash__ is_contiguous storage_offset untyped_storage storage _typed_storage element_size is_same_size
    is_set_to manual_seed __deepcopy__ __reduce_ex__ __setstate__ get_device
    _set_grad_enabled _RecordFunction __dir__ share_memory_ __contains__ module_load
    is_pinned result_type promote_types can_cast get_default_dtype set_default_dtype requires_grad has_names
    __bool__ __index__ equal allclose is_nonzero is_tensor _is_view __dlpack__ __dlpack_device__ typename seed
    initial_seed get_rng_state set_rng_state finfo iinfo broadcast_shapes sym_int is_storage stride dim_order
    __torch_function__ _make_subclass isinstance grad backward _add_batch_dim _remove_batch_dim irecv
    """.split()  # noqa: SIM905
)
NUMBERS = {
    "item": "item",
    "tolist": "tolist",
    "numpy": "numpy",
    "__array__": "numpy",
    "__float__": "item",
    "__int__": "item",
    "__complex__": "item",
}
GETTERS = {"T": "t", "mT": "mT", "H": "H", "mH": "mH", "real": "real", "imag": "imag"}
NAMES = {
    "__setitem__": "copy_",
    "rsub": "sub",
    "cross_entropy_loss": "cross_entropy",
    "nll_loss_nd": "nll_loss",
    "__and__": "bitwise_and",
    "__or__": "bitwise_or",
    "__xor__": "bitwise_xor",
    "__invert__": "bitwise_not",
    "__truediv__": "div",
    "__floordiv__": "floor_divide",
    "__mod__": "remainder",
    "true_divide": "div",
    "multiply": "mul",
    "subtract": "sub",
    "divide": "div",
    "negative": "neg",
    "absolute": "abs",
}


def how(func: Any) -> How:
    """Return how calls of a function are recorded; cached."""
    try:
        handling = HOW[func] = _how(func)
    except TypeError:  # not hashable
        return How(operate, getattr(func, "__name__", "operator"))
    return handling


def _how(func: Any) -> How:
    name = getattr(func, "__name__", None) or str(func)
    if name in ("__get__", "__set__", "__delete__"):
        return of_attribute(getattr(func.__self__, "__name__", ""), name)
    if func is Tensor.backward:
        return How(hooks.backward, name)
    if getattr(func, "__module__", "") == "torch.nn.init":
        return How(operate, "fill_")
    if name in NUMBERS:
        return How(escapes.number, NUMBERS[name])
    if name in SPECIAL:
        return How(SPECIAL[name], name)
    says_nothing = name.startswith(("is_", "has_", "_is_", "__get", "_unwrap", "_record_function"))
    says_nothing = says_nothing and name != "__getitem__"
    if name in NOTHING or says_nothing:
        return QUIET
    if isinstance(func, private.OpOverload):
        return How(overload, public(name))
    if (
        isinstance(func, FunctionType)
        and func.__module__ == "torch._tensor"
        and name.startswith("__")
        and name[2] != "r"
    ):
        return (
            QUIET if name not in NAMES and name not in ("__pow__",) else How(operate, public(name))
        )
    return How(
        reversed_ if name[:3] == "__r" and name not in ("__rshift__",) else operate, public(name)
    )


def of_attribute(name: str, kind: str) -> How:
    if kind == "__delete__":
        return How(escapes.grad_deleted, name) if name == "grad" else QUIET
    if kind == "__set__":
        return {
            "data": How(escapes.data_set, name),
            "grad": How(escapes.grad_set, name),
            "requires_grad": How(escapes.flag_set, name),
        }.get(name, QUIET)
    if name in ("data", "grad"):
        return How(escapes.data_taken if name == "data" else escapes.grad_taken, name)
    return How(operate, GETTERS[name]) if name in GETTERS else QUIET


def public(name: str) -> str:
    """Return an operator's public name: "add" for "__radd__", "add_" for "__iadd__"."""
    if name in NAMES:
        return NAMES[name]
    name = name.partition(".")[0]
    if name[:3] == "__r" and name not in ("__rshift__",):
        name = "__" + name[3:]
        return NAMES.get(name, name.strip("_"))
    if name[:3] == "__i" and name != "__invert__":
        return NAMES.get("__" + name[3:], name[3:].strip("_")) + "_"
    if name.startswith("__") and name != "__getitem__":
        return name.strip("_")
    return name.lstrip("_") if name != "__getitem__" else name


SPECIAL = {
    "tensor": escapes.copied,
    "retain_grad": hooks.retain_grad,
    "requires_grad_": escapes.requires_grad_,
    "detach_": escapes.detach_,
    "_amp_foreach_non_finite_check_and_unscale_": escapes.unscaled,
    "register_hook": hooks.register_hook,
    "register_post_accumulate_grad_hook": hooks.register_hook,
}
