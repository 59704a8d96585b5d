"""Checks that raise PyTorch's messages: for a value assigned to `.grad`, results of hooks, and saved tensors."""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.engine.node import Node, bare_name, tensor_type_name
from gradtrace.engine.state import state
from gradtrace.engine.tensor import Tensor

if TYPE_CHECKING:
    from gradtrace.engine.dtypes import dtype
    from gradtrace.engine.extra import TensorExtras
    from gradtrace.engine.types import Hook

ENABLE_HINT = (
    "enable anomaly detection to find the operation that failed to compute its gradient, with "
    "torch.autograd.set_detect_anomaly(True, check_nan=False)."
)
FOUND_HINT = (
    "the backtrace further above shows the operation that failed to compute its gradient. The variable in question was "
    "changed in there or anywhere later. Good luck!"
)
DETACHED_MESSAGE = (
    "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is not supported, please "
    "use out-of-place `.detach()` instead"
)

SAVED_INFERENCE_MESSAGE = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
    "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in "
    "autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
)


def check_assigned_grad(tensor: Tensor, value: object) -> None:
    """Raise TypeError or RuntimeError if `value` cannot be the gradient of `tensor`."""
    if not isinstance(value, Tensor):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
    if value is tensor:
        raise RuntimeError("can't assign Variable as its own grad")
    if value.shape != tensor.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size "
            f"'{list(tensor.shape)}'. Please ensure that the gradient and the tensor are the same size"
        )
    wanted = tensor.dtype if tensor._x is None else tensor._x.dtype_of_grad(tensor.dtype)
    if wanted is not None and value.dtype is not wanted:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{value.dtype.c_name}' to a tensor with grad_dtype "
            f"'{wanted.scalar_type}'. The gradient must match the tensor's grad_dtype (defaults to the tensor's "
            "dtype). You can set the tensor's grad_dtype attribute with a specific dtype, or None to allow any dtype. "
            "Set grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may break downstream "
            "systems that assume they match."
        )


# ---- what hooks return


def check_hook_result(hook: Hook, before: Tensor, after: object) -> None:
    """Raise TypeError or RuntimeError if a hook's result is not a tensor of the same type and size."""
    if after is before:
        return
    if before is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if not isinstance(after, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(after).__name__}'")
    if after.dtype is not before.dtype:
        raise RuntimeError(
            f"hook '{hook_name(hook)}' has changed the type of value (was {type_name(before.dtype)} got "
            f"{type_name(after.dtype)})"
        )
    if after.shape != before.shape:
        raise RuntimeError(f"hook '{hook_name(hook)}' has changed the size of value")


def check_hook_results(hook: Hook, old: tuple[Any, ...], new: object) -> tuple[Any, ...]:
    """Return the result of a node's hook as a tuple; raise an error if it cannot replace the gradients `old`."""
    if not isinstance(new, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(new).__name__}'")
    if len(new) != len(old):
        raise RuntimeError(
            f"hook '{hook_name(hook)}' has returned an incorrect number of values (got {len(new)}, but expected "
            f"{len(old)})"
        )
    for before, after in zip(old, new, strict=True):
        if after is None:
            continue
        if before is None:
            raise RuntimeError("can't replace a None gradient with a non-None value")
        check_hook_result(hook, before, after)
    return new


def hook_name(hook: Hook) -> str:
    return getattr(hook, "__name__", "<unknown>")


def type_name(dtype: dtype) -> str:
    return f"torch.{dtype.scalar_type}Tensor"


# ---- saved tensors


def version_to_save(extra: TensorExtras) -> int:
    """Return the version number to store with a saved tensor; RuntimeError for an inference tensor."""
    if extra.inference:
        raise RuntimeError(SAVED_INFERENCE_MESSAGE)
    return 0 if extra.counter is None else extra.counter.n


def check_versions(node: Node) -> None:
    """Raise RuntimeError if a saved tensor was changed in place since it was saved: the gradient would be wrong."""
    extras = node.extras
    expected = None if extras is None else extras.versions
    for i, a in enumerate(flat(checked_arguments(node))):
        if isinstance(a, Tensor):
            check_version(node, a, 0 if expected is None else expected[i])
    if extras is None:
        return
    if extras.out_counter is not None and extras.out_counter.n != extras.out_version:
        outs = node.out if type(node.out) is tuple else (node.out,)
        number = next(i for i, raw in enumerate(outs) if raw is not None)
        raise modified(outs[number], node, number, extras.out_counter.n, extras.out_version)
    for t, version in extras.watched:
        if t._version != version:
            raise modified(t._data, None, 0, t._version, version)


def checked_arguments(node: Node) -> tuple[Any, ...]:
    """Return the saved operands. Plain arguments, such as running statistics, may change and are not checked."""
    return node.args if node.op is None else node.args[: node.op.arity]


def check_version(node: Node, saved: Tensor, expected: int) -> None:
    """Raise RuntimeError if a saved tensor no longer has the version `expected`, or was detached in place."""
    extra = saved._x
    version = 0
    if extra is not None and (extra.counter is not None or extra.inference):
        version = saved._version if extra.inference else extra.counter.n  # type: ignore[union-attr]
    if version != expected:
        raise first_modified(node, None if node.extras is None else node.extras.versions)
    if extra is not None and extra.detached >= node.seq:
        raise RuntimeError(DETACHED_MESSAGE)


def first_modified(node: Node, expected: tuple[int, ...] | None) -> RuntimeError:
    """Return the error for the first changed argument in the order of the argument names, as PyTorch checks them."""
    saved = [(i, a) for i, a in enumerate(flat(checked_arguments(node))) if isinstance(a, Tensor)]
    names = node.op.tensor_names if node.op is not None and not node.op.variadic else ()
    changed = []
    for i, a in saved:
        want = 0 if expected is None else expected[i]
        if a._version != want:
            changed.append((names[i] if i < len(names) else "", i, a, want))
    _, _, a, want = min(changed, key=lambda entry: entry[:2])
    return modified(a._data, a.grad_fn, a._nr, a._version, want)


def modified(raw: object, fn: Node | None, number: int, version: int, expected: int) -> RuntimeError:
    """Return PyTorch's error for a saved tensor that an in-place operation has changed."""
    kind = tensor_type_name(getattr(raw, "dtype", None))
    shape = list(getattr(raw, "shape", ()))
    origin = f", which is output {number} of {bare_name(fn)}," if fn is not None else ""
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{kind} {shape}]{origin} is at version {version}; expected version {expected} instead. Hint: "
        f"{FOUND_HINT if state.anomaly else ENABLE_HINT}"
    )


def flat(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments with a variadic operator's tuple of operands unpacked."""
    return (*args[0], *args[1:]) if args and type(args[0]) is tuple else args
