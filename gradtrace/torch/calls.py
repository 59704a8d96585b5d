"""The treatment of each public function of PyTorch when it is called under a recorder.

`how` returns a function's treatment, and `HOW` caches it. Most functions are operators; the others make values leave
the graph (`.data`, `item()`), change flags, start backward, or are not recorded (`QUIET`).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from gradtrace.torch import private
from gradtrace.torch.events import Call, Entry, Known

if TYPE_CHECKING:
    from gradtrace.torch.recorder import Recorder

Tensor = torch.Tensor
PLAIN = (torch.Tensor, torch.nn.Parameter)


class How(NamedTuple):
    """The treatment of a function: `run(recorder, func, args, kwargs, name)` calls it and records the call."""

    run: Callable[[Recorder, Any, Any, dict[str, Any], str], Any]
    name: str


class Written(NamedTuple):
    """A write in place, with the fields of `trace.record.Change`."""

    how: str
    tensors: list[Known]
    of_grad: bool
    after: int
    after_steps: int
    call: Call | None
    grad_enabled: bool
    origin: int


def silent(rec: Recorder, func: Any, args: Any, kwargs: dict[str, Any], name: str) -> Any:
    return func(*args, **kwargs)


QUIET = How(silent, "")
HOW: dict[Any, How] = {}
NOTHING = frozenset(
    """
    size dim ndimension numel nelement stride is_floating_point is_complex __len__ __repr__ __format__ data_ptr
    __hash__ is_contiguous storage_offset untyped_storage storage _typed_storage element_size is_same_size
    register_post_accumulate_grad_hook is_set_to manual_seed __deepcopy__ __reduce_ex__ __setstate__ get_device
    _set_grad_enabled _RecordFunction __dir__ share_memory_ __contains__ module_load
    is_pinned result_type promote_types can_cast get_default_dtype set_default_dtype requires_grad has_names
    __bool__ __index__ equal allclose is_nonzero is_tensor _is_view __dlpack__ __dlpack_device__ typename seed
    initial_seed get_rng_state set_rng_state finfo iinfo broadcast_shapes sym_int is_storage stride dim_order
    __torch_function__ _make_subclass isinstance grad backward _add_batch_dim _remove_batch_dim
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
# what fills a tensor with new numbers: a leaf begins again, nothing of what it held is left
FILLS = frozenset(
    ["zero_", "fill_", "ones_", "uniform_", "normal_", "zeros_", "bernoulli_", "constant_", "trunc_normal_", "random_"]
    + ["exponential_"]
)


def how(func: Any) -> How:
    """Return how calls of a function are recorded; cached."""
    try:
        found = HOW[func] = _how(func)
    except TypeError:  # not hashable
        return How(operate, getattr(func, "__name__", "operator"))
    return found


def _how(func: Any) -> How:
    name = getattr(func, "__name__", None) or str(func)
    if name in ("__get__", "__set__", "__delete__"):
        return of_attribute(getattr(func.__self__, "__name__", ""), name)
    if func is Tensor.backward:
        return How(backward, name)
    if getattr(func, "__module__", "") == "torch.nn.init":
        return How(operate, "fill_")
    if name in NUMBERS:
        return How(number, NUMBERS[name])
    if name in SPECIAL:
        return How(SPECIAL[name], name)
    says_nothing = name.startswith(("is_", "has_", "_is_", "__get", "_unwrap", "_record_function"))
    says_nothing = says_nothing and name != "__getitem__"
    if name in NOTHING or says_nothing:
        return QUIET
    if (
        isinstance(func, FunctionType)
        and func.__module__ == "torch._tensor"
        and name.startswith("__")
        and name[2] != "r"
    ):
        return QUIET if name not in NAMES and name not in ("__pow__",) else How(operate, public(name))
    return How(reversed_ if name[:3] == "__r" and name not in ("__rshift__",) else operate, public(name))


def of_attribute(what: str, kind: str) -> How:
    if kind == "__delete__":
        return How(grad_deleted, what) if what == "grad" else QUIET
    if kind == "__set__":
        return {"data": How(data_set, what), "grad": How(grad_set, what), "requires_grad": How(flag_set, what)}.get(
            what, QUIET
        )
    if what in ("data", "grad"):
        return How(data_taken if what == "data" else grad_taken, what)
    return How(operate, GETTERS[what]) if what in GETTERS else QUIET


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


# ---- operators


def reversed_(rec: Recorder, func: Any, args: Any, kwargs: dict[str, Any], name: str) -> Any:
    """Record a reversed operator (1 - x), with the operands in the order of the text."""
    return operate(rec, func, args, kwargs, name, lambda given: (given[1], given[0], *given[2:]))


def operate(rec: Recorder, func: Any, args: Any, kwargs: dict[str, Any], name: str, order: Any = None) -> Any:
    """Record an operator: its operands before the call, its results after it."""
    call = None
    with rec.lock:
        try:
            call = begin(rec, name, args if order is None else order(args), kwargs)
        except Exception as error:
            rec.problem(f"a call of {name} ({type(error).__name__})")
    out = func(*args, **kwargs) if kwargs else func(*args)
    if call is not None:
        with rec.lock:
            try:
                finish(rec, call, args, kwargs, out)
            except Exception as error:
                rec.problem(f"the results of {name} ({type(error).__name__})")
                if rec.calls and rec.calls[-1] is call and not call.outputs:
                    rec.calls.pop()
    return out


def begin(rec: Recorder, name: str, args: Any, kwargs: dict[str, Any]) -> Call:
    scope = rec.stack[-1] if rec.stack else None
    call = Call(name, rec.places.here(4), scope, torch.is_grad_enabled())
    operand, inputs = rec.operand, call.inputs
    call.args = tuple([operand(one, inputs) for one in args])
    if kwargs:
        call.kwargs = {key: operand(one, inputs) for key, one in kwargs.items()}
    return call


def finish(rec: Recorder, call: Call, args: Any, kwargs: dict[str, Any], out: Any) -> None:
    """Record an operator's results; a call that only returned its operand is not kept."""
    made = [out] if isinstance(out, Tensor) else tensors_in(out)
    if call.name == "copy_" and not made and args and isinstance(args[0], Tensor):
        made = [args[0]]  # x[0] = 1
    if not made:
        return
    if not call.inputs:
        for tensor in made:
            if tensor.requires_grad:
                rec.begun.append((rec.entry(tensor), len(rec.calls), call.origin))
        return
    if call.name.endswith(("_like",)) or call.name.startswith("new_"):
        return
    call.index = len(rec.calls)
    rec.calls.append(call)
    fills = call.name in FILLS
    for tensor in made:
        known = rec.known.get(id(tensor))
        if known is None or known.ref() is not tensor:
            result(rec, call, tensor)
        elif known.version != private.version_of(tensor):
            rewritten(rec, call, tensor, known, fills)
    if not call.outputs:
        rec.calls.pop()
        return
    if call.name == "__getitem__":
        call.name = name_of_index(call, args)


def result(rec: Recorder, call: Call, tensor: Any) -> None:
    storage = private.storage_of(tensor)
    shares = storage is not None and storage in [entry.tensor.storage for entry in call.inputs.values()]
    known = rec.meet_tensor(tensor, storage, shares)
    entry = rec.new_entry(tensor, known, call, 0)
    call.outputs.append(entry)
    if entry.requires_grad and not entry.is_leaf:
        rec.attach(entry, tensor, call)


def rewritten(rec: Recorder, call: Call, tensor: Any, known: Known, fills: bool) -> None:
    """Record a new version of a tensor that the call has written to."""
    before = known.last
    history = not private.is_leaf(tensor)
    owner = owner_of(rec, tensor, known.storage)
    if fills and not history and before.call is None and owner is None:
        known.version = private.version_of(tensor)
        before.value = rec.note(tensor, known)
        return
    if owner is None:
        rec.written_to(call.name, known.storage, known, call)
    else:
        rec.written_to(call.name, None, owner, call, of_grad=True)
        rec.grads.pop(owner, None)
    before.last = False
    before.grad = rec.grads[known][1] if known in rec.grads else None
    entry = rec.new_entry(tensor, known, call, before.version + 1)
    call.outputs.append(entry)
    if history:
        rec.attach(entry, tensor, call)


def owner_of(rec: Recorder, tensor: Any, storage: int | None) -> Known | None:
    """Return the leaf whose gradient is this tensor, or shares its elements."""
    known = rec.owners.get(storage) if storage is not None else None
    leaf = None if known is None else known.ref()
    if leaf is None or leaf.grad is None or private.storage_of(leaf.grad) != storage:
        return None
    return known


def tensors_in(value: Any) -> list[Any]:
    """Return the tensors in a result, also in nested tuples and lists."""
    if isinstance(value, Tensor):
        return [value]
    if not isinstance(value, (tuple, list)):
        return []
    return [tensor for one in value for tensor in tensors_in(one)]


def name_of_index(call: Call, args: Any) -> str:
    """Return the operator behind x[...]: "select", "slice", "index"."""
    by_fn = {
        "SelectBackward0": "select",
        "SliceBackward0": "slice",
        "IndexBackward0": "index",
        "UnsqueezeBackward0": "unsqueeze",
    }
    made = call.outputs[0].fn_name
    if made in by_fn:
        return by_fn[made]
    index = args[1]
    last = index[-1] if isinstance(index, tuple) and index else index
    if isinstance(last, (bool, Tensor, list)):
        return "index"
    return "select" if isinstance(last, int) else "slice"


# ---- what is saved


def saved_of(rec: Recorder, node: Any, kind: private.NodeKind) -> list[tuple[str, Any, str]]:
    """Return what a node keeps for backward: tensors as entries, anything else as text."""
    if private.dispatch_depth():
        with private.without_dispatch_modes():  # reading a result that was saved makes a tensor
            return saved_of(rec, node, kind)
    found: list[tuple[str, Any, str]] = []
    for name, raw_name, shown in kind.saved:
        raw = getattr(node, raw_name, None)
        if private.is_hooked(raw):
            continue
        try:
            value = getattr(node, name)
        except RuntimeError:  # changed in place since, or freed
            continue
        found += saved_value(rec, shown, value)
    if kind.custom:
        try:
            values = private.saved_tensors(node)
        except (RuntimeError, AttributeError):
            values = ()
        for i, value in enumerate(values):
            found += saved_value(rec, f"saved_tensors[{i}]", value)
    return found


def saved_value(rec: Recorder, name: str, value: Any) -> list[tuple[str, Any, str]]:
    if isinstance(value, Tensor):
        known = rec.known.get(id(value))
        if known is not None and known.ref() is value:
            return [(name, known.last, "")]
        storage = private.storage_of(value)
        for other in reversed(rec.storages.get(storage, ()) if storage is not None else ()):
            there = other.ref()
            if there is not None and there.shape == value.shape:
                return [(name, other.last, "")]
        return [(name, None if storage is None else storage, f"tensor {tuple(value.shape)}")]
    if isinstance(value, (bool, int, float, str)) and not isinstance(value, bool):
        return [(name, None, str(value)[:24])]
    return []


# ---- what leaves the graph, and flags


def escape(rec: Recorder, how: str, tensor: Any, out: Entry | None = None) -> None:
    rec.escapes.append((how, rec.entry(tensor), len(rec.calls), rec.places.here(4), out))


def number(rec: Recorder, func: Any, args: Any, kwargs: dict[str, Any], name: str) -> Any:
    tensor = args[0]
    known = rec.known.get(id(tensor)) if isinstance(tensor, Tensor) else None
    if isinstance(tensor, Tensor) and (tensor.requires_grad or known is not None):
        guarded(rec, lambda: escape(rec, name, tensor), name)
    return func(*args, **kwargs)


def copied(rec: Recorder, func: Any, args: Any, kwargs: dict[str, Any], name: str) -> Any:
    """Record torch.tensor of a list of tensors: each tensor leaves the graph as a number."""
    given = tensors_in(args[0]) if args and isinstance(args[0], (list, tuple)) else []
    if not given:
        return operate(rec, func, args, kwargs, name)

    def note() -> None:
        for one in given:
            escape(rec, "item", one)

    guarded(rec, note, name)
    out = func(*args, **kwargs)
    if out.requires_grad:
        guarded(rec, lambda: rec.begun.append((rec.entry(out), len(rec.calls), rec.places.here(4))), name)
    return out


def guarded(rec: Recorder, work: Callable[[], None], what: str) -> None:
    """Do work that only the record needs; an error in it is counted and does not reach the program."""
    with rec.lock:
        try:
            work()
        except Exception as error:
            rec.problem(f"{what} ({type(error).__name__})")


def data_taken(rec: Recorder, func: Any, args: Any, kwargs: dict[str, Any], name: str) -> Any:
    out = func(*args, **kwargs)
    if torch.nn.parameter.is_lazy(args[0]):
        return out

    def note() -> None:
        made = rec.meet_tensor(out, private.storage_of(out), True)
        entry = rec.new_entry(out, made, None, 0)
        rec.escapes.append(("data", rec.entry(args[0]), len(rec.calls), rec.places.here(4), entry))

    guarded(rec, note, ".data")
    return out


def parameter_made(rec: Recorder, original: Any) -> Any:
    """Return a Parameter.__new__ that records nn.Parameter(x), which no mode sees, as a leaf with the numbers of x."""

    def __new__(cls: Any, data: Any = None, *args: Any, **kwargs: Any) -> Any:
        made = original(cls, data, *args, **kwargs)
        known = rec.known.get(id(data)) if isinstance(data, Tensor) and private.mode_depth() else None
        if known is not None and known.ref() is data and not rec.quiet:

            def note() -> None:
                source, leaf = rec.entry(data), rec.meet_tensor(made, private.storage_of(made), True)
                entry = rec.new_entry(made, leaf, None, 0)
                rec.escapes.append(("parameter", source, len(rec.calls), rec.places.here(4), entry))

            with private.without_torch_function():
                guarded(rec, note, "nn.Parameter()")
        return made

    return __new__


def data_set(rec: Recorder, func: Any, args: Any, kwargs: dict[str, Any], name: str) -> Any:
    def before() -> None:
        rec.entry(args[0])

    def after() -> None:
        known = rec.entry(args[0]).tensor
        rec.written_to("data", known.storage, known, None)
        storage = private.storage_of(args[0])
        if storage is None or storage != known.storage:  # x.data += 1 gives it its own storage again
            known.version = -1  # the numbers are others now
        known.storage = storage

    if torch.nn.parameter.is_lazy(args[0]):
        return func(*args, **kwargs)
    guarded(rec, before, ".data =")
    out = func(*args, **kwargs)
    guarded(rec, after, ".data =")
    return out


def grad_taken(rec: Recorder, func: Any, args: Any, kwargs: dict[str, Any], name: str) -> Any:
    """Record a read of tensor.grad, so that a later in-place write to it counts as a write to this tensor's
    gradient.
    """
    out = func(*args, **kwargs)
    known = None if out is None else rec.known.get(id(args[0]))
    if known is not None and known.ref() is args[0]:
        rec.owners[private.storage_of(out)] = known
    return out


def grad_set(rec: Recorder, func: Any, args: Any, kwargs: dict[str, Any], name: str) -> Any:
    tensor, value = args[0], args[1]
    had = tensor.grad is not None if tensor.is_leaf else False

    def note() -> None:
        known = rec.entry(tensor).tensor
        if value is not None or had:
            rec.written_to("cleared" if value is None else "assigned", None, known, None, of_grad=True)
        rec.grads.pop(known, None)

    out = func(*args, **kwargs)
    guarded(rec, note, ".grad =")
    return out


def grad_deleted(rec: Recorder, func: Any, args: Any, kwargs: dict[str, Any], name: str) -> Any:
    """Record `del tensor.grad`."""
    return grad_set(rec, lambda tensor, _: func(tensor), (args[0], None), {}, name)


def flag_set(rec: Recorder, func: Any, args: Any, kwargs: dict[str, Any], name: str) -> Any:
    tensor, wanted = args[0], bool(args[1])
    return flagged(rec, func, args, kwargs, tensor, wanted)


def requires_grad_(rec: Recorder, func: Any, args: Any, kwargs: dict[str, Any], name: str) -> Any:
    wanted = args[1] if len(args) > 1 else kwargs.get("requires_grad", True)
    return flagged(rec, func, args, kwargs, args[0], bool(wanted))


def flagged(rec: Recorder, func: Any, args: Any, kwargs: dict[str, Any], tensor: Any, wanted: bool) -> Any:
    was = tensor.requires_grad
    out = func(*args, **kwargs)

    def note() -> None:
        entry = rec.entry(tensor)
        entry.requires_grad = wanted
        if wanted:
            rec.begun.append((entry, len(rec.calls), rec.places.here(4)))
        else:
            rec.written_to("frozen", None, entry.tensor, None)

    if was != wanted:
        guarded(rec, note, "requires_grad")
    return out


def detach_(rec: Recorder, func: Any, args: Any, kwargs: dict[str, Any], name: str) -> Any:
    tensor = args[0]
    if tensor.requires_grad:
        guarded(rec, lambda: escape(rec, "detach_", tensor), name)
    out = func(*args, **kwargs)

    def note() -> None:
        entry = rec.entry(tensor)
        entry.requires_grad, entry.is_leaf, entry.fn, entry.fn_name = False, True, None, ""

    guarded(rec, note, name)
    return out


def unscaled(rec: Recorder, func: Any, args: Any, kwargs: dict[str, Any], name: str) -> Any:
    """Record GradScaler.unscale_, which changes gradients without their version counter: notes on them are dropped."""
    out = func(*args, **kwargs)
    rec.grads.clear()
    return out


# ---- backward and hooks


def backward(rec: Recorder, func: Any, args: Any, kwargs: dict[str, Any], name: str) -> Any:
    """Call Tensor.backward; while the engine works the recorder is active, so that hooks and checkpoints are seen."""
    if type(args[0]) not in PLAIN:
        return func(*args, **kwargs)
    names = ("gradient", "retain_graph", "create_graph", "inputs")
    given: dict[str, Any] = {"gradient": None, "retain_graph": None, "create_graph": False, "inputs": None}
    given.update(zip(names, args[1:], strict=False))
    given.update(kwargs)
    inputs = given.pop("inputs")
    gradient, keep, create = given["gradient"], given["retain_graph"], given["create_graph"]
    rec.called_backward = True
    try:
        torch.autograd.backward(args[0], gradient, keep, create, inputs=inputs)
    finally:
        rec.called_backward = False


class HookWatcher:
    """A wrapper of a program's tensor hook that notes, while the recorder exists, how the hook changed the gradient."""

    def __init__(self, hook: Any, recorder: Recorder) -> None:
        self.hook = hook
        self.recorder = weakref.ref(recorder)
        self.__name__ = getattr(hook, "__name__", type(hook).__name__)

    def __call__(self, gradient: Any) -> Any:
        rec = self.recorder()
        if rec is None or not rec.watching:
            return self.hook(gradient)
        before = rec.note_gradient(gradient)
        result = self.hook(gradient)
        changed = result is not None
        rec.hook_runs.append(
            ("tensor", self.__name__, before, rec.note_gradient(result) if changed else before, changed)
        )
        return result


def register_hook(rec: Recorder, func: Any, args: Any, kwargs: dict[str, Any], name: str) -> Any:
    if type(args[0]) not in PLAIN or len(args) != 2 or kwargs:
        return func(*args, **kwargs)
    return func(args[0], HookWatcher(args[1], rec))


def retain_grad(rec: Recorder, func: Any, args: Any, kwargs: dict[str, Any], name: str) -> Any:
    rec.retaining = True
    return func(*args, **kwargs)


SPECIAL = {
    "tensor": copied,
    "retain_grad": retain_grad,
    "requires_grad_": requires_grad_,
    "detach_": detach_,
    "_amp_foreach_non_finite_check_and_unscale_": unscaled,
    "register_hook": register_hook,
}
