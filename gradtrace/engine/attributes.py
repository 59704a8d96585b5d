"""Attributes of Tensor that few programs use: `grad_dtype`, and those that PyTorch kept from its old Variable class."""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.engine import dtypes
from gradtrace.engine.describe import Described
from gradtrace.engine.node import HookTable

if TYPE_CHECKING:
    from collections import OrderedDict

    from gradtrace.engine.extra import TensorExtras
    from gradtrace.engine.node import Node
    from gradtrace.engine.tensor import Tensor
    from gradtrace.engine.types import Array, Hook

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

    @property
    def grad_dtype(self) -> dtypes.dtype | None:
        """The dtype that this leaf's gradient must have (its own unless set), or None for any.

        RuntimeError for a tensor that is not a leaf. Setting it also raises if `.grad` has another dtype.
        """
        if self.grad_fn is not None:
            raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
        return self.dtype if self._x is None else self._x.dtype_of_grad(self.dtype)

    @grad_dtype.setter
    def grad_dtype(self, value: dtypes.dtype | None) -> None:
        if value is not None and not isinstance(value, dtypes.dtype):
            raise RuntimeError(f"grad_dtype must be a torch.dtype or None, but got {type(value).__name__}")
        if self.grad_fn is not None:
            raise RuntimeError("grad_dtype can only be set on leaf tensors.")
        extra = self.extra()
        have = None if extra.grad is None else extra.grad.dtype
        if value is not None and have is not None and have is not value:
            raise RuntimeError(
                f"Cannot set grad_dtype to '{value.scalar_type}' because there is already a gradient with dtype "
                f"'{have.c_name}'. Please clear the gradient (.grad = None) before changing grad_dtype, or ensure the "
                "new grad_dtype matches the existing gradient's dtype."
            )
        extra.grad_dtype = (value,)
        node = None if extra.accumulator is None else extra.accumulator()
        if node is not None:
            node.expect(self)

    def new(self, *args: Any) -> Any:
        """Return a new tensor of the given sizes, or with the given data, of this tensor's dtype (Tensor.new)."""
        from gradtrace.engine.tensor import factory

        return factory("legacy_tensor")(*args).to(self.dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuilt, (type(self), self.own_array(), self.requires_grad)

    @property
    def volatile(self) -> bool:
        import warnings

        warnings.warn("volatile was removed (Variable.volatile is always False)", UserWarning, stacklevel=2)
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
            found = None if fn.hooks is None else fn.hooks.tensor_pre.get(self._nr)
        else:
            found = None if self._x is None else self._x.hooks
        if found is None:
            return None
        from collections import OrderedDict

        return OrderedDict(found)

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


def rebuilt(kind: type[Tensor], array: Array, requires_grad: bool) -> Tensor:
    """Rebuild a tensor from a pickle, from its values and whether it requires grad. It has no history."""
    tensor = kind._wrap(array)
    tensor._req = requires_grad
    return tensor
