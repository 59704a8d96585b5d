"""`autograd.Function`: custom operators with their own forward and backward.

https://pytorch.org/docs/stable/autograd.html#function. The node that backward runs is the `ctx` itself, as in
PyTorch: its class is named after the user's (`MyReLUBackward`).
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, Callable, NoReturn
from gradtrace.engine.checks import modified
from gradtrace.engine.dtypes import spec_for
from gradtrace.engine.hooks import as_tensor, like
from gradtrace.engine.inplace import repoint
from gradtrace.engine.lazy import np
from gradtrace.engine.node import FREED, FREED_MESSAGE, SAVES_ITS_OWN, TUPLES, Node
from gradtrace.engine.op import records
from gradtrace.engine.saved import layout, source_node
from gradtrace.engine.state import State, state, using
from gradtrace.engine.tensor import Tensor

if TYPE_CHECKING:
    from gradtrace.engine.saved_hooks import Packed
    from gradtrace.engine.types import Gradient, NodeGradient

NO_BACKWARD = (
    "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward "
    "mode AD."
)
NO_SETUP = (
    "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override "
    "the setup_context staticmethod. For more details, please see "
    "https://pytorch.org/docs/main/notes/extending.func.html"
)
ONCE_MESSAGE = "trying to differentiate twice a function that was marked with @once_differentiable"
LEGACY_MESSAGE = (
    "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function "
    "with static forward method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
)


class FunctionCtx:
    """The context of forward and backward: saved tensors, flags, and the user's attributes."""

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Save tensors for backward, which checks their versions."""
        self._to_save = tensors

    def save_for_forward(self, *tensors: Tensor) -> None:
        """Save tensors for jvp."""
        self._for_forward = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Mark inputs that forward changed in place."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Mark outputs that have no gradient."""
        self._non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Set whether backward gets zeros (True, the default) or None for outputs without gradient."""
        self._materialize = value

    _to_save: tuple[Any, ...] = ()
    _for_forward: tuple[Any, ...] = ()
    _dirty: tuple[Tensor, ...] = ()
    _non_differentiable: tuple[Tensor, ...] = ()
    _materialize = True


class SavedTensorSlot:
    """One saved tensor: an input itself, or an output's data (holding the output would be a cycle)."""

    __slots__ = ("counter", "number", "packed", "raw", "tensor", "version")

    def __init__(self, tensor: Tensor | None, number: int | None) -> None:
        self.number = number
        self.tensor = tensor if number is None else None
        self.raw = None if tensor is None or number is None else tensor.own_array()
        self.counter = None if tensor is None or number is None else tensor.counter()
        self.version = 0 if tensor is None else tensor._version
        self.packed: Packed | None = None

    def pack(self, ctx: BackwardCFunction) -> None:
        """Replace the tensor by the result of the active pack hook."""
        from gradtrace.engine.saved_hooks import Packed

        if self.number is None and self.tensor is None:
            return
        tensor = self.tensor if self.number is None else ctx._unpack(self)
        assert tensor is not None
        self.packed = Packed(tensor, state.saved_hooks[-1], self.number is not None and self.number >= 0)
        self.tensor = self.raw = self.counter = None


ENGINE_NAMES = frozenset(Node.__slots__) | {
    "args",
    "dtype",
    "freed",
    "hooks",
    "is_accumulator",
    "layout",
    "derive",
    "next",
    "op",
    "outputs",
    "shape",
}
# The dtype of an output that is not a tensor: backward gets None for it.
NO_TENSOR = "no tensor"


class BackwardCFunction(Node, FunctionCtx):
    """Base of the nodes of custom functions; has a `__dict__`, so users can set attributes on ctx."""

    function: type[Function]
    needs_input_grad: tuple[bool, ...] = ()

    # `ctx.shape = ...` is common, but the engine also uses `shape`. While the user's code runs, such names refer to the
    # user's attributes, which are in the `__dict__`.

    def __getattribute__(self, name: str) -> Any:
        if name in ENGINE_NAMES:
            own = object.__getattribute__(self, "__dict__")
            if own.get("_user_code") and name in own:
                return own[name]
        return object.__getattribute__(self, name)

    def __setattr__(self, name: str, value: object) -> None:
        if name in ENGINE_NAMES and self.__dict__.get("_user_code"):
            self.__dict__[name] = value
        else:
            object.__setattr__(self, name, value)

    # Class attributes of other nodes are properties here, because an entry of `__dict__` does not override a property.
    op = property(lambda self: None)
    layout = property(lambda self: TUPLES)
    is_accumulator = property(lambda self: False)

    @property
    def outputs(self) -> int:  # type: ignore[override]
        outputs: int = self.__dict__.get("_outputs", 1)
        return outputs

    def call(self, function: Callable[..., Any], *args: object) -> Any:
        """Call a function of the user that uses this ctx."""
        self.__dict__["_user_code"] = True
        try:
            return function(*args)
        finally:
            self.__dict__["_user_code"] = False

    def name(self) -> str:
        return type(self).__name__

    def __del__(self, state: State = state) -> None:  # a default: at exit the module's names may be gone already
        state.live_observers -= 1

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{type(self).__name__} object at {id(self):#x}>"

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        if self.freed:
            raise RuntimeError(FREED_MESSAGE)
        if self.__dict__.get("_in_jvp"):
            return self._for_forward
        saved = self.__dict__.get("_saved")
        if saved is None:  # still inside forward
            return self._to_save
        return tuple(self._unpack(s) for s in saved)

    def _unpack(self, saved: SavedTensorSlot) -> Tensor | None:
        if saved.packed is not None:
            return saved.packed.tensor(self)
        if saved.number is not None:
            if saved.counter is not None and saved.counter.n != saved.version:
                raise modified(saved.raw, self, saved.number, saved.counter.n, saved.version)
            assert saved.raw is not None
            t = Tensor._wrap(saved.raw)
            if saved.number >= 0:
                t._fn, t._nr, t._req = self, saved.number, True
            return t
        t_in = saved.tensor
        if t_in is not None and t_in._version != saved.version:
            raise modified(t_in._data, t_in.grad_fn, t_in._nr, t_in._version, saved.version)
        return t_in

    def release(self) -> None:
        if self.__dict__.get("_saved"):
            self.saved_a = FREED
            self.__dict__["_saved"] = None

    def derive(self, gradient: NodeGradient) -> tuple[Any, ...]:
        slots = gradient if isinstance(gradient, dict) else {0: gradient} if gradient is not None else {}
        traced = state.grad_enabled
        given = [self._incoming(slots.get(i), i) for i in range(len(self.shape))]
        backward = self.function.backward
        if backward is Function.backward and self.function.vjp is not Function.vjp:
            backward = self.function.vjp
        answer = self.call(backward, self, *given)
        answers = answer if isinstance(answer, tuple) else (answer,)
        return self._checked(answers, traced)

    def _incoming(self, g: Gradient | None, i: int) -> Tensor | None:
        if g is not None:
            return as_tensor(g)
        dtype = self.dtype[i]
        if not self._materialize or dtype is NO_TENSOR:
            return None
        return Tensor._wrap(0.0 if dtype is None else np.zeros(self.shape[i], dtype))

    def _checked(self, answers: tuple[Any, ...], traced: bool) -> tuple[Any, ...]:
        n = len(self.needs_input_grad)
        extra = answers[n:]
        if len(answers) < n or any(a is not None for a in extra):
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected {n}, got {len(answers)})"
            )
        for a in answers:
            if a is not None and not isinstance(a, Tensor):
                raise RuntimeError(f"expected Variable or None (got {type(a).__name__})")
        chosen = [a for a, is_tensor in zip(answers, self.__dict__["_is_tensor"], strict=False) if is_tensor]
        return tuple(a if a is None or traced else like(None, a) for a in chosen)


class FunctionMeta(type):
    """The metaclass that gives each Function class its node class, named after it."""

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        super().__init__(name, bases, namespace)
        fields = {"function": cls, "__module__": "torch.autograd.function"}
        cls._backward_cls = type(name + "Backward", (BackwardCFunction,), fields)


class Function(metaclass=FunctionMeta):
    """Base class of custom operators: static `forward(ctx, *args)` and `backward(ctx, *grads)`.

    Or `forward(*args)` with `setup_context(ctx, inputs, output)`. Use it by `MyFunction.apply(*args)`.
    """

    _backward_cls: type[BackwardCFunction]

    def __init__(self, *args: object, **kwargs: object) -> None:
        import warnings

        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should "
            "invoke them on the class itself. Instantiating an autograd function will raise an error in a future "
            "version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        raise RuntimeError(LEGACY_MESSAGE)

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: tuple[Any, ...], output: Any) -> object:
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: FunctionCtx, *grad_outputs: Any) -> Any:
        raise NotImplementedError(NO_BACKWARD)

    @staticmethod
    def vjp(ctx: FunctionCtx, *grad_outputs: Any) -> Any:
        raise NotImplementedError(NO_BACKWARD)

    @staticmethod
    def jvp(ctx: FunctionCtx, *tangents: Any) -> Any:
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Run forward outside the graph and record one node for it."""
        if state.levels:
            if cls.setup_context is Function.setup_context:
                raise RuntimeError(NO_SETUP)
            batched = NotImplemented if state.batching is None else state.batching.apply(cls, args)
            if batched is not NotImplemented:
                return batched
        ctx = cls.context()
        flags = [isinstance(a, Tensor) for a in args]
        ctx.needs_input_grad = tuple(f and a.requires_grad for a, f in zip(args, flags, strict=True))
        ctx.__dict__["_is_tensor"] = flags
        tracked = state.grad_enabled and any(ctx.needs_input_grad)
        edges = tuple(source_node(a) if tracked else None for a, f in zip(args, flags, strict=True) if f)
        numbers = tuple(a._nr for a, f in zip(args, flags, strict=True) if f)
        recorder, forward = state.recorder, state.forward
        with using(grad_enabled=False, recorder=recorder if state.planner is not None else None, forward=None):
            output = cls._run_forward(ctx, args)
        result = cls._finish(ctx, args, output, edges, numbers, tracked)
        if recorder is not None:
            recorder(cls.__name__, args, result, state.origin)
        if forward is not None:
            forward.push_function(cls, ctx, args, result)
        return result

    @classmethod
    def context(cls) -> BackwardCFunction:
        """Return a new ctx, which is also the node."""
        ctx: BackwardCFunction = cls._backward_cls()
        ctx.fill((), None, (), None, SAVES_ITS_OWN, spec_for([], []))
        state.live_observers += 1  # its backward is the user's code
        return ctx

    @classmethod
    def _run_forward(cls, ctx: BackwardCFunction, args: tuple[Any, ...]) -> object:
        if cls.setup_context is Function.setup_context:
            return ctx.call(cls.forward, ctx, *args)
        output = cls.forward(*args)
        ctx.call(cls.setup_context, ctx, args, output)
        return output

    @classmethod
    def _finish(
        cls,
        ctx: BackwardCFunction,
        args: tuple[Any, ...],
        output: Any,
        edges: tuple[Node | None, ...],
        numbers: tuple[int, ...],
        tracked: bool,
    ) -> object:
        single = not isinstance(output, (tuple, list))
        outputs = [output] if single else list(output)
        given = list(outputs)
        for i, o in enumerate(outputs):
            if isinstance(o, Tensor):
                outputs[i] = cls._own_output(ctx, args, o)
        if tracked:
            ctx.edge_a = edges
            ctx.output_nrs = numbers if any(numbers) else None
            cls._connect(ctx, given, outputs)
        saved = [SavedTensorSlot(t, position(t, given, outputs)) for t in ctx._to_save]
        if state.saved_hooks:
            for each in saved:
                each.pack(ctx)
        ctx.__dict__["_saved"] = saved
        ctx.__dict__.pop("_to_save", None)
        return outputs[0] if single else tuple(outputs)

    @classmethod
    def _own_output(cls, ctx: BackwardCFunction, args: tuple[Any, ...], o: Tensor) -> Tensor:
        """Return an output; an alias of it if it is an unchanged input or a view."""
        if any(o is d for d in ctx._dirty):
            o.counter().n += 1
            return o
        if any(o is a for a in args):
            return o.alias()
        if o._x is not None and o._x.view is not None:
            return o.alias()
        return o

    @classmethod
    def _connect(cls, ctx: BackwardCFunction, given: list[Any], outputs: list[Any]) -> None:
        shapes: list[Any] = []
        dtypes_: list[Any] = []
        for number, (g, o) in enumerate(zip(given, outputs, strict=True)):
            if not isinstance(o, Tensor):
                shapes.append(())
                dtypes_.append(NO_TENSOR)
                continue
            shape, dtype = layout(o._data)
            shapes.append(shape)
            dtypes_.append(dtype)
            if any(g is n for n in ctx._non_differentiable) or not o.is_floating_point():
                continue
            if any(o is d_ for d_ in ctx._dirty):
                if o._req and o._fn is None:
                    raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
                repoint(o, ctx)
            o._fn, o._nr, o._req, o._fast_spec = ctx, number, True, None
        ctx.spec = spec_for(shapes, dtypes_)
        # `derive` gets a dict of gradients by output number unless this is 1.
        ctx.__dict__["_outputs"] = len(shapes) if len(shapes) != 1 else 0


def position(saved: object, given: list[Any], outputs: list[Any]) -> int | None:
    """Return the output number of a saved tensor; -1 for an output without gradient, None for anything else."""
    for i, (g, o) in enumerate(zip(given, outputs, strict=True)):
        if saved is not None and (saved is g or saved is o):
            return i if isinstance(o, Tensor) and o._fn is not None and o._nr == i else -1
    return None


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a backward that cannot be differentiated: doing so raises RuntimeError."""

    def run(ctx: FunctionCtx, *grads: object) -> object:
        before = state.grad_enabled
        with using(grad_enabled=False):
            answer = backward(ctx, *grads)
        if not before or not any(isinstance(g, Tensor) and g.requires_grad for g in grads):
            return answer
        answers = answer if isinstance(answer, tuple) else (answer,)
        marked = tuple(records["once"](a) if isinstance(a, Tensor) else a for a in map(requiring, answers))
        return marked if isinstance(answer, tuple) else marked[0]

    run.__name__ = getattr(backward, "__name__", "backward")
    return run


def requiring(a: object) -> object:
    """Return a copy that requires grad, so that differentiating it raises."""
    return a.alias().requires_grad_() if isinstance(a, Tensor) and a.is_floating_point() else a


def refuse_twice(*_: object) -> NoReturn:
    raise RuntimeError(ONCE_MESSAGE)
