"""The Tensor: raw data, its grad_fn, and the attributes of PyTorch's tensors.

`_data` is a Python float (a 0-d float64 that is not shared), a Python bool (0-d bool) or an
ndarray. A float cannot be shared, so operations that need shared storage (views, detach, data,
in-place operations, numpy()) first move it into a 0-d array by `shared()`. The rarely used fields
(grad, hooks, base of a view, version) are in `_x`, a TensorExtras that is created on demand, which
keeps the creation of a tensor cheap. `ops` adds arithmetic and the other operators.
"""

from __future__ import annotations

import _weakref as weakref  # weakref takes a millisecond to import

from gradtrace.annotations import TYPE_CHECKING, Any, Callable, Iterator, TypeVar
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.attributes import Attributes, check_assigned_grad
from gradtrace.engine.data.describe import Described, no_arguments
from gradtrace.engine.data.dtypes import TensorSpec
from gradtrace.engine.data.higher import higher
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.node import (
    HookTable,
    Node,
    RemovableHandle,
    accumulator,
    add_hook,
    named,
)
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor_fields import Counter, TensorExtras, View

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from gradtrace.engine.data.gradient_types import Inputs

    # a stub: see tools/stubs.py
    from gradtrace.engine.data.tensor_methods import TensorMethods as Methods
    from gradtrace.engine.data.types import Array, Number, NumpyScalar, Raw
else:
    Methods = Attributes

NON_LEAF_GRAD_WARNING = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
    "attribute won't be populated during autograd.backward(). If you indeed want the .grad field "
    "to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you "
    "access the non-leaf Tensor by mistake, make sure you access the leaf Tensor instead. See "
    "github.com/pytorch/pytorch/pull/30531 for more information."
)
NOT_WRITABLE = "attribute '{}' of 'torch._C.TensorBase' objects is not writable"
NOT_LEAF_FLAG_MESSAGE = "you can only change requires_grad flags of leaf variables."
INSIDE_TRANSFORM = (
    "You are attempting to call Tensor.requires_grad_() (or perhaps using "
    "torch.autograd.functional.* APIs) inside of a function being transformed by a functorch "
    "transform. This is unsupported, please attempt to use the functorch transforms (e.g. grad, "
    "vjp, jacrev, jacfwd, hessian) or call requires_grad_() outside of a function being "
    "transformed instead."
)
DETACH_HINT = (
    " If you want to use a computed variable in a subgraph that doesn't require differentiation "
    "use var_no_grad = var.detach()."
)


class Later:
    """A descriptor for a method of an operator family that is not loaded yet; the first use loads
    the family.

    A `__getattr__` could do the same, but it would make every attribute access slower.
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type) -> Any:
        return higher["method"](self.name).__get__(instance, owner)


Function = TypeVar("Function", bound=Callable[..., Any])


class BuiltinMethod:
    """A method without whose parentheses a program prints what PyTorch does: <built-in method
    retain_grad of Tensor object at 0x...>.

    Looking it up takes longer than a function, so this is for methods outside of hot loops.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __get__(self, tensor: Any, owner: type) -> Callable[..., Any]:
        return self.function if tensor is None else BoundMethod(self.function, tensor)


class BoundMethod:
    """A BuiltinMethod of one tensor."""

    __slots__ = ("__func__", "__self__")

    def __init__(self, function: Callable[..., Any], tensor: Any) -> None:
        self.__func__ = function
        self.__self__ = tensor

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__func__(self.__self__, *args, **kwargs)

    @property
    def __name__(self) -> str:
        return self.__func__.__name__

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        return self.__func__.__doc__

    def __repr__(self) -> str:
        kind = type(self.__self__).__name__
        return f"<built-in method {self.__name__} of {kind} object at {id(self.__self__):#x}>"


def printed_as_builtin(function: Function) -> Function:
    """Return a method that prints as one of PyTorch's, which are in C."""
    return BuiltinMethod(function)  # type: ignore[return-value]


class TensorType(type):
    """The metaclass of Tensor, with the repr of PyTorch's class.

    `Tensor(...)` is PyTorch's legacy constructor. It is defined here, because a class without
    `__init__` is faster to instantiate: see `blank`.
    """

    def __call__(cls, *args: object, **kwargs: object) -> Any:
        if cls.__init__ is not object.__init__:  # type: ignore[misc]
            return super().__call__(*args, **kwargs)
        return cls._wrap(higher["legacy_tensor"](*args, **kwargs)._data)

    if TYPE_CHECKING:

        def __getattr__(cls, name: str) -> Any: ...

    def __repr__(cls) -> str:
        if not cls.__module__.startswith("gradtrace."):
            return super().__repr__()
        home = "torch.nn.parameter" if cls.__module__.startswith("gradtrace.nn.") else "torch"
        return f"<class '{home}.{cls.__qualname__}'>"


class Tensor(Methods, metaclass=TensorType):
    """A multi-dimensional array that records its history
    (https://pytorch.org/docs/stable/tensors.html).
    """

    __slots__ = ("__dict__", "__weakref__", "_data", "_fast_spec", "_fn", "_nr", "_req", "_x")

    _data: Any
    _fn: Node | None
    _nr: int
    _req: bool
    _fast_spec: TensorSpec | None
    _x: TensorExtras | None

    @classmethod
    def _wrap(cls, raw: Raw | NumpyScalar) -> Tensor:
        """Return a new tensor without history for raw data (numpy scalars are normalised)."""
        t = cls.__new__(cls)
        t._data = raw if type(raw) in (float, bool) or type(raw) is np.ndarray else normalise(raw)
        t._fn = None
        t._nr = 0
        t._req = False
        t._fast_spec = None
        t._x = None
        if state.inference:
            extra = t.extra()
            extra.inference = extra.needs_slow_path = True
        return t

    # ---- storage

    def extra(self) -> TensorExtras:
        """Return the rarely used fields, created on first use."""
        if self._x is None:
            self._x = TensorExtras()
        return self._x

    def shared(self) -> Array:
        """Return the data as an ndarray on this tensor's storage: writing to it changes the
        tensor.
        """
        state.planner.read(self)
        return self.own_array()

    def own_array(self) -> Array:
        """Return the same as `shared()`, without telling `state.planner`: for use inside the
        engine.
        """
        raw: Array = self._data  # A float or bool is replaced below.
        kind: type = type(raw)
        if kind is float or kind is bool:
            raw = self._data = np.array(raw)
            self.disable_fast_path()
            if self._fn is not None and self._fn.out is not None and self._fn.outputs == 1:
                self._fn.out = raw
        return raw

    def disable_fast_path(self) -> None:
        """Make operators use the slow path for this tensor, and set `extras.fast_result` of the
        node at its edge.
        """
        if self._fast_spec is None:
            return
        self._fast_spec = None
        fn: Node | None = self._fn
        if fn is None and self._x is not None and self._x.accumulator is not None:
            fn = self._x.accumulator()
        if fn is not None:
            fn.ensure_extras().fast_result = (self.extra(), self._data, weakref.ref(self))

    @property
    def array(self) -> Array:
        """The data as an ndarray on this tensor's storage."""
        return self.shared()

    def counter(self) -> Counter:
        """Return the version counter of the storage, created on first use and shared with a node
        that saved this.
        """
        extra = self.extra()
        if extra.counter is None:
            extra.counter = Counter()
            self.disable_fast_path()
            fn = self._fn
            if (
                fn is not None
                and fn.out is not None
                and (fn.outputs == 1 or fn.out[self._nr] is not None)
            ):
                extras = fn.ensure_extras()
                if extras.out_counter is None:
                    self.own_array()
                    extras.out_counter = extra.counter
                else:  # `with_version` has created it
                    extra.counter = extras.out_counter
        return extra.counter

    def alias(self, raw: Array | None = None) -> Tensor:
        """Return a tensor without history on the same storage, or on `raw`, with the same version
        counter.
        """
        t = Tensor._wrap(self.own_array() if raw is None else raw)
        extra = t.extra()
        extra.counter = self.counter()
        extra.inference = extra.needs_slow_path = self.is_inference()
        return t

    @property
    def _version(self) -> int:
        extra = self._x
        if extra is None:
            return 0
        if extra.inference:
            raise RuntimeError("Inference tensors do not track version counter.")
        return 0 if extra.counter is None else extra.counter.n

    # ---- graph

    @property
    def requires_grad(self) -> bool:
        if self._req:
            return True
        extra = self._x
        return extra is not None and extra.view is not None and extra.view.base._req

    @requires_grad.setter
    def requires_grad(self, flag: bool) -> None:
        if not self.is_leaf:
            raise RuntimeError(NOT_LEAF_FLAG_MESSAGE + ("" if flag else DETACH_HINT))
        if flag and not self.is_floating_point():
            raise RuntimeError(
                "only Tensors of floating point and complex dtype can require gradients"
            )
        self.set_requires_grad(flag)

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise RuntimeError("requires_grad must be a bool")

    @printed_as_builtin
    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set whether this leaf requires grad; RuntimeError for a computed tensor."""
        if state.levels:
            raise RuntimeError(INSIDE_TRANSFORM)
        return self.set_requires_grad(requires_grad)

    def set_requires_grad(self, requires_grad: bool) -> Tensor:
        """Set whether this leaf requires grad, for an assignment to `requires_grad`: allowed inside
        a transform too.
        """
        if not isinstance(requires_grad, (bool, int)):
            kind = type(requires_grad).__name__
            raise TypeError(
                f"requires_grad_(): argument 'requires_grad' (position 1) must be bool, not {kind}"
            )
        if requires_grad and self._fn is not None:
            return self
        if not requires_grad and not self.is_leaf:
            raise RuntimeError(NOT_LEAF_FLAG_MESSAGE + DETACH_HINT)
        if requires_grad and not self.is_floating_point():
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if requires_grad and self.is_inference() and not state.inference:
            raise RuntimeError(
                "Setting requires_grad=True on inference tensor outside InferenceMode is not "
                "allowed."
            )
        if requires_grad:
            state.watcher.begins(self)
        elif self._req:
            state.watcher.changes("frozen", self)
        self._req = bool(requires_grad)
        return self

    @property
    def is_leaf(self) -> bool:
        return self.grad_fn is None

    @property
    def grad_fn(self) -> Node | None:
        extra = self._x
        if extra is not None and extra.view is not None:
            refresh_view(self, extra.view)
        return named(self._fn)

    @property
    def output_nr(self) -> int:
        return self._nr

    @property
    def _base(self) -> Tensor | None:
        return None if self._x is None or self._x.view is None else self._x.view.base

    def _is_view(self) -> bool:
        return self._base is not None

    @property
    def grad(self) -> Tensor | None:
        extra = self._x
        value = None if extra is None else extra.grad
        if value is None and self._fn is not None and not self.retains_grad:
            import warnings

            warnings.warn(NON_LEAF_GRAD_WARNING, UserWarning, stacklevel=2)
        return value

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            check_assigned_grad(self, value)
        state.watcher.changes("cleared" if value is None else "assigned", self)
        self.extra().grad = value

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    @property
    def retains_grad(self) -> bool:
        return self._x is not None and self._x.retains

    @printed_as_builtin
    def retain_grad(self, *extra: object) -> None:
        """Make backward store the gradient of this computed tensor in `.grad`."""
        if extra:
            raise no_arguments("retain_grad", extra)
        if state.levels and self.requires_grad:
            raise RuntimeError(
                INSIDE_TRANSFORM.replace("requires_grad_()", "retain_grad()").replace(
                    " (or perhaps using torch.autograd.functional.* APIs)", ""
                )
            )
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        fn = self.grad_fn
        if fn is None:
            return
        self.extra().retains = True
        fn.ensure_hooks().retains[self._nr] = weakref.ref(self)

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Call `hook(grad)` when the gradient of this tensor is complete; a returned tensor
        replaces it.
        """
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        fn = self.grad_fn
        if fn is not None:
            table = fn.ensure_hooks().tensor_pre.setdefault(self._nr, HookTable())
            return add_hook(table, hook, "tensor", self)
        extra = self.extra()
        if extra.hooks is None:
            extra.hooks = HookTable()
        return add_hook(extra.hooks, hook, "tensor", self)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call `hook(self)` after backward has added to this leaf's `.grad`."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self.grad_fn is not None:
            raise RuntimeError(
                "post accumulate grad hooks cannot be registered on non-leaf tensors"
            )
        extra = self.extra()
        if extra.post_hooks is None:
            extra.post_hooks = HookTable()
        return add_hook(extra.post_hooks, hook, "accumulated", self)

    @property
    def data(self) -> Tensor:
        """A tensor on the same storage, outside the graph and with its own version counter."""
        out = Tensor._wrap(self.shared())
        if self.is_inference():
            extra = out.extra()
            extra.inference = extra.needs_slow_path = True
        state.watcher.escapes("data", self, out)
        return out

    @data.deleter
    def data(self) -> None:
        raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if self.requires_grad and not value.is_floating_point():
            raise RuntimeError(
                "data set to a tensor that requires gradients must be floating point or complex "
                "dtype"
            )
        state.watcher.changes("data", self)
        state.keeper.before_write(self)
        self._data = value.shared()
        self.disable_fast_path()
        extra = self._x
        if extra is not None and extra.accumulator is not None:
            node = extra.accumulator()
            if node is not None:
                node.expect(self)

    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Inputs | None = None,
    ) -> None:
        """Add the gradient of this tensor to the leaves it depends on (torch.Tensor.backward)."""
        higher["backward"](self, gradient, retain_graph, create_graph, inputs=inputs)

    # ---- Python values

    def item(self, *extra: object) -> Number:
        """Return the only element as a Python number; RuntimeError unless there is exactly one."""
        if extra:
            raise no_arguments("item", extra)
        state.planner.read(self)
        raw = self._data
        state.watcher.escapes("item", self, None)
        number: Number
        if type(raw) in (float, bool):
            number = raw
            return number
        if raw.size != 1:
            raise RuntimeError(f"a Tensor with {raw.size} elements cannot be converted to Scalar")
        number = raw.item()
        return number

    @printed_as_builtin
    def tolist(self, *extra: object) -> Any:
        """Return the data as nested lists of Python numbers; a number for a 0-d tensor."""
        if extra:
            raise no_arguments("tolist", extra)
        state.planner.read(self)
        raw = self._data
        state.watcher.escapes("tolist", self, None)
        return raw if type(raw) in (float, bool) else raw.tolist()

    def __bool__(self) -> bool:
        n = self.numel()
        if n == 1:
            return bool(self.item())
        if n == 0:
            raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")

    def __float__(self) -> float:
        return float(self._single())

    def __int__(self) -> int:
        return int(self._single())

    def _single(self) -> Number:
        if self.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.item()

    def __index__(self) -> int:
        if self.dtype.category == dtypes.FLOAT or self.numel() != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return int(self._data.shape[0])

    def __iter__(self) -> Iterator[Tensor]:
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __contains__(self, element: Any) -> bool:
        return bool((self == element).any().item())

    def __hash__(self) -> int:
        return id(self)

    __array_priority__ = 1000  # numpy's scalars and arrays leave operators with tensors to Tensor

    def __array_wrap__(
        self, array: Array, context: object = None, return_scalar: bool = False
    ) -> Tensor:
        """Return the result of a numpy function of this tensor as a tensor; bools become uint8, as
        in PyTorch.
        """
        array = array.astype(np.uint8) if array.dtype == np.bool_ else np.asarray(array)
        dtypes.from_np(array.dtype)
        return Tensor._wrap(array)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        if state.grad_enabled and self.requires_grad:
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() "
                "instead."
            )
        return self.shared() if dtype is None else self.shared().astype(dtype)

    @printed_as_builtin
    def numpy(self, *, force: bool = False) -> Array:
        """Return an ndarray on this tensor's storage; RuntimeError for a tensor that requires grad
        (unless `force`).
        """
        state.watcher.escapes("numpy", self, None)
        return self.shared() if force else self.__array__()

    def __repr__(self) -> str:
        from gradtrace.engine.data.text import tensor_text

        try:
            fn = self.grad_fn
            fn_text = None if fn is None else grad_fn_text(fn)
        except RuntimeError:  # a view made under no_grad whose data were changed
            fn_text = "Invalid"
        return tensor_text(
            self._data,
            dtype_name=self.dtype.name,
            default_dtype_name=dtypes.get_default_dtype().name,
            requires_grad=fn_text is None and self.requires_grad,
            grad_fn_name=fn_text,
        )

    def __format__(self, spec: str) -> str:
        if self.ndim == 0:
            return format(self.item(), spec)
        return object.__format__(self, spec)

    # Python looks these up on the class, so they are defined here and call the functions of `ops`.

    def __getitem__(self, key: object) -> Tensor:
        return higher["getitem"](self, key)

    def __setitem__(self, key: object, value: object) -> None:
        higher["setitem"](self, key, value)

    def __matmul__(self, other: Tensor) -> Tensor:
        if not isinstance(other, Tensor):
            return NotImplemented
        return self.matmul(other)

    def __rmatmul__(self, other: Tensor) -> Tensor:
        if not isinstance(other, Tensor):
            return NotImplemented
        return other.matmul(self)

    def __copy__(self) -> Tensor:
        return self.alias().requires_grad_(self._req) if self.is_leaf else self.alias()

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
                "protocol at the moment.  If you were attempting to deepcopy a module, this may "
                "be because of a torch.nn.utils.weight_norm usage, see "
                "https://github.com/pytorch/pytorch/pull/103001"
            )
        raw = self._data
        if type(raw) not in (float, bool):
            raw = raw.copy("C" if 0 in raw.strides else "K")
        copy = type(self)._wrap(raw)
        copy._req = self._req
        memo[id(self)] = copy
        if self._x is not None and self._x.grad is not None:
            copy.extra().grad = self._x.grad.__deepcopy__(memo)
        if self.__dict__:
            from copy import deepcopy

            copy.__dict__.update(deepcopy(self.__dict__, memo))
        return copy


def refuse_assignment(name: str, inherited: property) -> property:
    """Return a read-only property whose error is PyTorch's."""

    def refuse(self: Tensor, value: object) -> None:
        raise AttributeError(NOT_WRITABLE.format(name))

    return property(inherited.fget, refuse, doc=inherited.__doc__)


for _base in (Described, Tensor):
    for _name, _value in list(vars(_base).items()):
        if isinstance(_value, property) and _value.fset is None:
            setattr(_base, _name, refuse_assignment(_name, _value))


# Makes a Tensor with every field unset, like `object.__new__` but faster.
blank: Callable[[], Tensor] = type.__call__.__get__(Tensor)


def normalise(raw: Any) -> Raw:
    """Return a kernel's result as raw data: a Python float or bool for np.float64 and np.bool_,
    else an array.
    """
    if isinstance(raw, np.float64):
        return float(raw)
    if isinstance(raw, np.bool_):
        return bool(raw)
    return np.asarray(raw)


def grad_fn_text(fn: Node) -> str:
    """Return the name of a grad_fn as a tensor's text shows it: `grad_fn=<NAME>`."""
    name = fn.name()
    return name.rpartition("::")[2] if "::" in name else name


def refresh_view(tensor: Tensor, view: View) -> None:
    """Update the grad_fn of a view if its base was changed in place."""
    if view.base._req and tensor._version != view.version:
        higher["refresh_view"](tensor, view)


def gradient_edge(tensor: Tensor) -> Node | None:
    """Return the node that receives this tensor's gradient: its grad_fn, or the accumulator of a
    leaf.
    """
    fn = tensor.grad_fn
    if fn is not None:
        return fn
    # A view made under no_grad of a tensor that requires grad has requires_grad=True, but gets no
    # gradient.
    return accumulator(tensor) if tensor._req else None
