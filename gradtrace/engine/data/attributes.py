"""Attributes of Tensor that few programs use: `grad_dtype`, and those that PyTorch kept from its
old Variable class.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, Callable
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.describe import Described
from gradtrace.engine.data.higher import higher
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.node import HookTable

if TYPE_CHECKING:
    from collections import OrderedDict

    from gradtrace.engine.data.node import Node
    from gradtrace.engine.data.tensor_fields import TensorExtras
    from gradtrace.engine.data.types import Array, Hook

VOLATILE = "volatile was removed and now has no effect. Use `with torch.no_grad():` instead."


class Attributes(Described):
    """The rarely used properties of Tensor that depend on more than its data."""

    __slots__ = ()

    if TYPE_CHECKING:
        _nr: int
        grad_fn: Node | None

        requires_grad: bool

        def extra(self) -> TensorExtras: ...

        def own_array(self) -> Array: ...

        def shared(self) -> Array: ...

    @property
    def grad_dtype(self) -> dtypes.dtype | None:
        """The dtype that this leaf's gradient must have (its own unless set), or None for any.

        RuntimeError for a tensor that is not a leaf. Setting it also raises if `.grad` has another
        dtype.
        """
        if self.grad_fn is not None:
            raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
        return self.dtype if self._x is None else self._x.dtype_of_grad(self.dtype)

    @grad_dtype.setter
    def grad_dtype(self, value: dtypes.dtype | None) -> None:
        if value is not None and not isinstance(value, dtypes.dtype):
            raise RuntimeError(
                f"grad_dtype must be a torch.dtype or None, but got {type(value).__name__}"
            )
        if self.grad_fn is not None:
            raise RuntimeError("grad_dtype can only be set on leaf tensors.")
        extra = self.extra()
        have = None if extra.grad is None else extra.grad.dtype
        if value is not None and have is not None and have is not value:
            raise RuntimeError(
                f"Cannot set grad_dtype to '{value.scalar_type}' because there is already a "
                f"gradient with dtype '{have.c_name}'. Please clear the gradient (.grad = None) "
                "before changing grad_dtype, or ensure the new grad_dtype matches the existing "
                "gradient's dtype."
            )
        extra.grad_dtype = (value,)
        node = None if extra.accumulator is None else extra.accumulator()
        if node is not None:
            node.expect(self)

    def new(self, *args: Any) -> Any:
        """Return a new tensor of the given sizes, or with the given data, of this tensor's dtype
        (Tensor.new).
        """
        return higher["legacy_tensor"](*args).to(self.dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuilt, (type(self), self.own_array(), self.requires_grad), vars(self) or None

    def apply_(self, callable: Callable[[Any], Any]) -> Any:
        """Replace each element by what a function of Python returns for it (Tensor.apply_)."""
        return self._map_elements("apply_", callable)

    def map_(self, tensor: Any, callable: Callable[[Any, Any], Any]) -> Any:
        """Replace each element by a function of it and of another tensor's element
        (Tensor.map_).
        """
        return self._map_elements("map_", callable, tensor)

    def _map_elements(self, name: str, function: Callable[..., Any], *tensors: Any) -> Any:
        if self.requires_grad:
            raise RuntimeError(
                f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() "
                "instead."
            )
        array = self.shared()
        columns = [
            np.broadcast_to(values, array.shape).ravel().tolist()
            for values in (array, *(t.shared() for t in tensors))
        ]
        array[...] = np.array(
            [function(*row) for row in zip(*columns, strict=True)], array.dtype
        ).reshape(array.shape)
        return self

    def share_memory_(self) -> Any:
        """Return the tensor itself: a program is one process."""
        return self

    def is_shared(self) -> bool:
        """Return whether the memory is that of several processes: False."""
        return False

    def is_pinned(self, device: Any = None) -> bool:
        """Return whether the memory is pinned for copies to a GPU: False."""
        return False

    def pin_memory(self, device: Any = None) -> Any:
        """Raise PyTorch's error for a machine without a GPU."""
        raise RuntimeError("Cannot access accelerator device when none is available.")

    @property
    def volatile(self) -> bool:
        import warnings

        warnings.warn(
            "volatile was removed (Variable.volatile is always False)", UserWarning, stacklevel=2
        )
        return False

    @volatile.setter
    def volatile(self, value: object) -> None:
        import warnings

        warnings.warn(VOLATILE, UserWarning, stacklevel=2)

    @property
    def _grad_fn(self) -> Node | None:
        return self.grad_fn

    @_grad_fn.setter
    def _grad_fn(self, value: object) -> None:
        if value is not None:
            raise TypeError("_grad_fn can be only set to None")

    @_grad_fn.deleter
    def _grad_fn(self) -> None:
        raise RuntimeError("Deletion of _grad_fn not allowed. Detach tensor instead!")

    @property
    def _backward_hooks(self) -> OrderedDict[int, Hook] | None:
        """The hooks of this tensor by number, in order; None if it never had one."""
        fn = self.grad_fn
        if fn is not None:
            hooks = None if fn.hooks is None else fn.hooks.tensor_pre.get(self._nr)
        else:
            hooks = None if self._x is None else self._x.hooks
        if hooks is None:
            return None
        from collections import OrderedDict

        return OrderedDict(hooks)

    @_backward_hooks.setter
    def _backward_hooks(self, value: dict[Any, Hook] | None) -> None:
        hooks = HookTable()
        for key, hook in (value or {}).items():
            hooks[key] = hook
        fn = self.grad_fn
        if fn is not None:
            fn.ensure_hooks().tensor_pre[self._nr] = hooks
        else:
            self.extra().hooks = hooks

    @_backward_hooks.deleter
    def _backward_hooks(self) -> None:
        raise RuntimeError("Deletion of _backwards_hooks not allowed!")


def check_assigned_grad(tensor: Any, value: Any) -> None:
    """Raise TypeError or RuntimeError if `value` cannot be the gradient of `tensor`."""
    if not isinstance(value, Attributes):
        raise TypeError(
            "assigned grad expected to be a Tensor or None but got grad of type "
            f"{type(value).__name__}"
        )
    if value is tensor:
        raise RuntimeError("can't assign Variable as its own grad")
    if value.shape != tensor.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size "
            f"'{list(tensor.shape)}'. Please ensure that the gradient and the tensor are the same "
            "size"
        )
    wanted = tensor.dtype if tensor._x is None else tensor._x.dtype_of_grad(tensor.dtype)
    if wanted is not None and value.dtype is not wanted:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{value.dtype.c_name}' to a tensor with "
            f"grad_dtype '{wanted.scalar_type}'. The gradient must match the tensor's grad_dtype "
            "(defaults to the tensor's dtype). You can set the tensor's grad_dtype attribute with "
            "a specific dtype, or None to allow any dtype. Set grad_dtype with caution. Diverging "
            "the dtypes of a tensor and its gradient may break downstream systems that assume "
            "they match."
        )


def rebuilt(kind: type[Any], array: Array, requires_grad: bool) -> Any:
    """Rebuild a tensor from a pickle, from its values and whether it requires grad. It has no
    history.
    """
    tensor = kind._wrap(array)
    tensor._req = requires_grad
    return tensor
