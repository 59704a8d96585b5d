"""`autograd.Function`: custom operators with their own forward and backward.

https://pytorch.org/docs/stable/autograd.html#function. The node that backward runs is the `ctx`
itself, as in PyTorch: its class is named after the user's (`MyReLUBackward`).
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, Callable, NoReturn
from gradtrace.engine.data.dtypes import spec_for
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.node import FREED, FREED_MESSAGE, TUPLES, Node
from gradtrace.engine.data.state import State, state, using
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.reverse.evaluate import SAVES_ITS_OWN
from gradtrace.engine.reverse.hooks import as_tensor
from gradtrace.engine.reverse.saved import modified, source_node
from gradtrace.lazy_names import words

if TYPE_CHECKING:
    from gradtrace.engine.calls.function_outputs import SavedTensorSlot
    from gradtrace.engine.data.gradient_types import Gradient, NodeGradient

NO_TENSOR = "no tensor"  # the dtype of an output that is not a tensor: backward gets None for it
NO_BACKWARD = (
    "You must implement either the backward or vjp method for your custom autograd.Function to "
    "use it with backward mode AD."
)
BOTH_MESSAGE = (
    "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only "
    "implement one of them."
)
NO_SETUP = (
    "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, "
    "...), it must override the setup_context staticmethod. For more details, please see "
    "https://pytorch.org/docs/main/notes/extending.func.html"
)
ONCE_MESSAGE = "trying to differentiate twice a function that was marked with @once_differentiable"
ONCE_ONLY_MESSAGE = (
    "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on "
    "the autograd.Function. Either access saved_tensors only once, or set "
    "clear_saved_tensors_on_access=False."
)
LEGACY_MESSAGE = (
    "Legacy autograd function with non-static forward method is deprecated. Please use new-style "
    "autograd function with static forward method. (Example: "
    "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
)


class FunctionCtx:
    """The context of forward and backward: saved tensors, flags, and the user's attributes."""

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Save tensors for backward, which checks their versions."""
        self._to_save = tensors

    def save_for_forward(self, *tensors: Tensor) -> None:
        """Accept the tensors that a `jvp` would read; derivatives forward are computed by
        `backward`.
        """
        if not all(isinstance(tensor, Tensor) or tensor is None for tensor in tensors):
            raise AssertionError(
                "save_for_forward expects all arguments to be tensors; you should save "
                "non-tensors as attributes on ctx."
            )

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Mark inputs that forward changed in place."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Mark outputs that have no gradient."""
        self._non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Set whether backward gets zeros (True, the default) or None for outputs without
        gradient.
        """
        self._materialize = value

    # Whether backward also gets zeros for outputs that `mark_non_differentiable` named. PyTorch has
    # no setter for it.
    _materialize_non_diff_grads = True

    _to_save: tuple[Any, ...] = ()
    _dirty: tuple[Tensor, ...] = ()
    _non_differentiable: tuple[Tensor, ...] = ()
    _materialize = True
    _options: dict[str, Any] = {}  # the keyword arguments of forward
    # whether forward only returns a view of its input, which the engine may make again itself
    _is_pure_view = False


ENGINE_NAMES = frozenset(
    (
        *(name for name in vars(Node) if not name.startswith("_")),
        *words("call dtype freed function hooks name next next_functions release"),
    )
)


def engine_value(node: Node, name: str) -> Any:
    """Return what the engine means by a name of a node, whatever the user's code has set under
    it.
    """
    attribute = getattr(type(node), name)
    return attribute.__get__(node) if hasattr(attribute, "__get__") else attribute


class BackwardCFunction(Node, FunctionCtx):
    """Base class of the nodes of custom functions; has a `__dict__`, so users can set attributes on
    ctx.
    """

    function: type[Function]
    needs_input_grad: tuple[bool, ...] = ()

    # `ctx.shape = ...` is common, but the engine also uses `shape`. While the user's code runs,
    # such names refer to the user's attributes, which are in the `__dict__`; otherwise to the
    # engine's, also where a method of the class would be hidden by them.

    def __getattribute__(self, name: str) -> Any:
        if name in ENGINE_NAMES:
            own = object.__getattribute__(self, "__dict__")
            if name in own:
                return own[name] if own.get("_user_code") else engine_value(self, name)
        return object.__getattribute__(self, name)

    def __setattr__(self, name: str, value: object) -> None:
        if name in ENGINE_NAMES and self.__dict__.get("_user_code"):
            self.__dict__[name] = value
        else:
            object.__setattr__(self, name, value)

    # Class attributes of other nodes are properties here, because an entry of `__dict__` does not
    # override a property.
    op = property(lambda self: None)
    layout = property(lambda self: TUPLES)
    is_accumulator = property(lambda self: False)

    @property
    def outputs(self) -> int:  # type: ignore[override]
        return self.__dict__.get("_outputs", 1)

    def call(self, function: Callable[..., Any], *args: object, **options: object) -> Any:
        """Call a user's function that has this ctx as an argument."""
        self.__dict__["_user_code"] = True
        try:
            return function(*args, **options)
        finally:
            self.__dict__["_user_code"] = False

    def name(self) -> str:
        return type(self).__name__

    # a default: at exit the module's names may be gone already
    def __del__(self, state: State = state) -> None:
        state.live_observers -= 1

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{type(self).__name__} object at {id(self):#x}>"

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        if engine_value(self, "freed"):
            raise RuntimeError(FREED_MESSAGE)
        saved = self.__dict__.get("_saved")
        if saved is None:  # still inside forward
            return self._to_save
        if not type(self).function.clear_saved_tensors_on_access:
            return tuple(self._unpack(s) for s in saved)
        if self.__dict__.get("_cleared"):
            raise RuntimeError(ONCE_ONLY_MESSAGE)
        self.__dict__.update(_cleared=True, _saved=[])
        return tuple(self._unpack(s) for s in saved)

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        import warnings

        warnings.warn(
            "'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2
        )
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[Any, ...]:
        """What the node keeps of each saved tensor, as `torch.autograd.SavedTensor`."""
        if engine_value(self, "freed"):
            raise RuntimeError(FREED_MESSAGE)
        from gradtrace.engine.calls.function_outputs import FunctionSavedTensor

        return tuple(FunctionSavedTensor(self, slot) for slot in self.__dict__.get("_saved") or ())

    def _unpack(self, saved: SavedTensorSlot) -> Tensor | None:
        if saved.packed is not None:
            return saved.packed.tensor(self)
        if saved.number is not None:
            if saved.counter is not None and saved.counter.n != saved.version:
                raise modified(saved.raw, self, saved.number, saved.counter.n, saved.version)
            assert saved.raw is not None
            t = Tensor._wrap(saved.raw)
            if saved.number >= 0:
                t._fn = self
                t._nr = saved.number
                t._req = True
            return t
        t_in = saved.tensor
        if t_in is not None and not t_in.is_inference() and t_in._version != saved.version:
            raise modified(t_in._data, t_in.grad_fn, t_in._nr, t_in._version, saved.version)
        return t_in

    def release(self) -> None:
        if self.__dict__.get("_saved"):
            self.saved_a = FREED
            self.__dict__["_saved"] = None

    def derive(self, gradient: NodeGradient) -> tuple[Any, ...]:
        slots = gradient if isinstance(gradient, dict) else {0: gradient}
        traced = state.grad_enabled or state.planning
        gradients = [self._incoming(slots.get(i), i) for i in range(len(self.shape))]
        backward = self.function.backward
        if self.function.vjp is not Function.vjp:
            if backward is not Function.backward:
                raise RuntimeError(BOTH_MESSAGE)
            backward = self.function.vjp
        answer = self.call(backward, self, *gradients)
        answers = answer if isinstance(answer, tuple) else (answer,)
        return self._checked(answers, traced)

    def _incoming(self, g: Gradient | None, i: int) -> Tensor | None:
        if g is not None:
            return as_tensor(g)
        dtype = self.dtype[i]
        if not self._materialize or dtype is NO_TENSOR:
            return None
        if not self._materialize_non_diff_grads and not self.__dict__["_differentiable"][i]:
            return None
        return Tensor._wrap(0.0 if dtype is None else np.zeros(self.shape[i], dtype))

    def _checked(self, answers: tuple[Any, ...], traced: bool) -> tuple[Any, ...]:
        n = len(self.needs_input_grad)
        extra = answers[n:]
        if len(answers) < n or any(a is not None for a in extra):
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected {n}, "
                f"got {len(answers)})"
            )
        for a in answers:
            if a is not None and not isinstance(a, Tensor):
                raise RuntimeError(f"expected Variable or None (got {type(a).__name__})")
        chosen = [
            a
            for a, is_tensor in zip(answers, self.__dict__["_is_tensor"], strict=False)
            if is_tensor
        ]
        return tuple(a if a is None or traced else a._data for a in chosen)


class FunctionMeta(type):
    """The metaclass that gives each Function class its node class, named after it."""

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        super().__init__(name, bases, namespace)
        fields = {"function": cls, "__module__": "torch.autograd.function"}
        cls._backward_cls = type(name + "Backward", (BackwardCFunction,), fields)


class Function(metaclass=FunctionMeta):
    """Base class of custom operators: static `forward(ctx, *args)` and `backward(ctx, *grads)`.

    Or define `forward(*args)` and `setup_context(ctx, inputs, output)`. Call it by
    `MyFunction.apply(*args)`.
    """

    _backward_cls: type[BackwardCFunction]
    clear_saved_tensors_on_access = False

    def __init__(self, *args: object, **kwargs: object) -> None:
        import warnings

        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all "
            "static, so you should invoke them on the class itself. Instantiating an autograd "
            "function will raise an error in a future version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        raise RuntimeError(LEGACY_MESSAGE)

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: tuple[Any, ...], output: Any) -> object:
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: FunctionCtx, *grad_outputs: Any) -> Any:
        raise NotImplementedError(NO_BACKWARD)

    @staticmethod
    def vjp(ctx: FunctionCtx, *grad_outputs: Any) -> Any:
        raise NotImplementedError(NO_BACKWARD)

    @classmethod
    def apply(cls, *args: Any, **options: Any) -> Any:
        """Run forward outside the graph and record one node for it."""
        if cls.setup_context is not Function.setup_context:
            args, options = bound_arguments(cls.forward, args, options)
            if options:
                raise TypeError(
                    f"forward() got an unexpected keyword argument '{next(iter(options))}'"
                )
        else:
            if options:
                args, options = by_position(cls.forward, args, options)
            if state.levels:
                raise RuntimeError(NO_SETUP)
        ctx = cls.context()
        flags = [isinstance(a, Tensor) for a in args]
        ctx.needs_input_grad = tuple(
            f and a.requires_grad for a, f in zip(args, flags, strict=True)
        )
        ctx.__dict__["_is_tensor"] = flags
        if options:
            ctx._options = options
        tracked = state.grad_enabled and any(ctx.needs_input_grad)
        if tracked:
            operands = [a for a in args if isinstance(a, Tensor)]
            edges = tuple(map(source_node, operands))
            numbers = tuple(a._nr for a in operands)
        with using(grad_enabled=False, recorder=state.recorder if state.planning else None):
            output = cls._run_forward(ctx, args)
        if tracked:
            ctx.edge_a = edges
            ctx.output_nrs = numbers if any(numbers) else None
        result = cls._finish(ctx, args, output, tracked)
        state.record(cls.__name__, args, result)
        return result

    @classmethod
    def context(cls) -> BackwardCFunction:
        """Return a new ctx, which is also the node."""
        ctx: BackwardCFunction = cls._backward_cls()
        ctx.fill((), (), SAVES_ITS_OWN, spec_for([], []))
        state.live_observers += 1  # its backward is the user's code
        return ctx

    @classmethod
    def _run_forward(cls, ctx: BackwardCFunction, args: tuple[Any, ...]) -> object:
        if cls.setup_context is Function.setup_context:
            return ctx.call(cls.forward, ctx, *args, **ctx._options)
        output = cls.forward(*args)
        ctx.call(cls.setup_context, ctx, args, output)
        return output

    @classmethod
    def _finish(
        cls,
        ctx: BackwardCFunction,
        args: tuple[Any, ...],
        output: Any,
        tracked: bool,
    ) -> object:
        from gradtrace.engine.calls.function_outputs import (
            SavedTensorSlot,
            connected,
            position,
            refuse_saved_alias,
        )

        single = not isinstance(output, (tuple, list))
        values = [output] if single else list(output)
        outputs = connected(ctx, args, values, tracked)
        if cls.setup_context is not Function.setup_context:
            refuse_saved_alias(ctx, values, outputs)
        # The ctx must not keep an output if a pack hook raises: the output refers to the ctx.
        to_save = ctx.__dict__.pop("_to_save", ())
        for number, value in enumerate(to_save):
            if (
                value is not None
                and not isinstance(value, Tensor)
                and not getattr(type(value), "is_sparse", False)
            ):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {number} is of type "
                    f"{type(value).__name__}"
                )
        saved = [SavedTensorSlot(t, position(t, ctx, outputs)) for t in to_save]
        if state.saved_hooks:
            for entry in saved:
                entry.pack(ctx, state.saved_hooks[-1])
        ctx.__dict__["_saved"] = saved
        return outputs[0] if single else tuple(outputs)


class InplaceFunction(Function):
    """The old base class for operators that change their input: a Function; `inplace` is stored and
    has no effect.
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


def bound_arguments(
    forward: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of forward, defaults included, by position (the `inputs` of
    setup_context) and by name.
    """
    import inspect

    bound = inspect.signature(forward).bind(*args, **options)
    bound.apply_defaults()
    return bound.args, bound.kwargs


def by_position(
    forward: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of forward after ctx by position, and those that can only be passed by
    keyword.
    """
    import inspect

    bound = inspect.signature(forward).bind(None, *args, **options)
    return bound.args[1:], bound.kwargs


# ---- backward of first order only


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a backward that cannot be differentiated, so that differentiating it raises
    RuntimeError.
    """

    def run(ctx: FunctionCtx, *grads: object) -> object:
        before = state.grad_enabled
        with using(grad_enabled=False):
            answer = backward(ctx, *grads)
        if not before or not any(isinstance(g, Tensor) and g.requires_grad for g in grads):
            return answer
        answers = answer if isinstance(answer, tuple) else (answer,)
        marked = delayed_error(ONCE_MESSAGE, tuple(map(requiring, answers)))
        return marked if isinstance(answer, tuple) else marked[0]

    run.__name__ = getattr(backward, "__name__", "backward")
    return run


def requiring(a: object) -> object:
    """Return a floating-point tensor's alias that requires grad, and any other value unchanged."""
    return (
        a.alias().set_requires_grad(True) if isinstance(a, Tensor) and a.is_floating_point() else a
    )


class Error(Function):
    """The identity function of several tensors, whose backward raises RuntimeError."""

    @staticmethod
    def forward(ctx: Any, message: str, *tensors: Tensor) -> Any:
        ctx.message = message
        return tuple(t.view_as(t) for t in tensors)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> NoReturn:
        raise RuntimeError(ctx.message)


Error._backward_cls.__name__ = Error._backward_cls.__qualname__ = "Error"


def delayed_error(message: str, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the tensors (None stays None) connected to one node whose backward raises
    RuntimeError(message).
    """
    tensors = [Tensor._wrap(0.0) if value is None else value for value in values]
    with using(grad_enabled=True):
        outputs = Error.apply(message, *tensors)
    return tuple(None if value is None else f for value, f in zip(values, outputs, strict=True))
