"""`autograd.Function`: custom operators with their own forward and backward.

https://pytorch.org/docs/stable/autograd.html#function. The node that backward runs is the `ctx` itself, as in
PyTorch: its class is named after the user's (`MyReLUBackward`).
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, Callable, Iterable, NoReturn
from gradtrace.engine.checks import modified
from gradtrace.engine.dtypes import spec_for, spec_of
from gradtrace.engine.hooks import as_tensor
from gradtrace.engine.inplace import rebase_history, refuse_untrackable
from gradtrace.engine.lazy import np
from gradtrace.engine.node import FREED, FREED_MESSAGE, SAVES_ITS_OWN, TUPLES, Node
from gradtrace.engine.op import records
from gradtrace.engine.saved import source_node
from gradtrace.engine.state import State, state, using
from gradtrace.engine.tensor import Tensor
from gradtrace.engine.view_rules import CUSTOM, MULTI, mark_view

if TYPE_CHECKING:
    from gradtrace.engine.saved_hooks import Packed
    from gradtrace.engine.types import Gradient, NodeGradient

NO_BACKWARD = (
    "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward "
    "mode AD."
)
BOTH_MESSAGE = (
    "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of "
    "them."
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
        if not all(isinstance(tensor, Tensor) or tensor is None for tensor in tensors):
            raise AssertionError(
                "save_for_forward expects all arguments to be tensors; you should save non-tensors as attributes on "
                "ctx."
            )
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

    # Whether backward also gets zeros for outputs that `mark_non_differentiable` named. PyTorch has no setter for it.
    _materialize_non_diff_grads = True

    _to_save: tuple[Any, ...] = ()
    _for_forward: tuple[Any, ...] = ()
    _dirty: tuple[Tensor, ...] = ()
    _non_differentiable: tuple[Tensor, ...] = ()
    _materialize = True
    _options: dict[str, Any] = {}  # the keyword arguments of forward


class SavedTensorSlot:
    """One saved tensor: an input itself, or an output's data (holding the output would be a cycle)."""

    __slots__ = ("counter", "number", "packed", "raw", "tensor", "version")

    def __init__(self, tensor: Tensor | None, number: int | None) -> None:
        self.number = number
        self.tensor = tensor if number is None else None
        self.raw = None if tensor is None or number is None else tensor.own_array()
        self.counter = None if tensor is None or number is None else tensor.counter()
        self.version = 0 if tensor is None or tensor.is_inference() else tensor._version
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


DIRTY_MESSAGE = (
    "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified "
    "inplace must all be outputs of the Function."
)
DIRTY_VIEW_MESSAGE = (
    "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more "
    "than one Tensor. This is not supported by the current autograd engine. You should either make sure the input is "
    "not a view (using .clone() for example) or make your Function only return one Tensor (potentially splitting it "
    "into two Functions: one doing the inplace that returns a single Tensor and a second one that does the other "
    "operations). You can ask on the forum https://discuss.pytorch.org/ if you need help to do this change."
)

SAVED_ALIAS_MESSAGE = (
    "An input that has been returned as-is as output is being saved for backward. This is not supported if you "
    "override setup_context. You should return and save a view of the input instead, e.g. with x.view_as(x) or setup "
    "ctx inside the forward function itself."
)

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

    def call(self, function: Callable[..., Any], *args: object, **options: object) -> Any:
        """Call a function of the user that uses this ctx."""
        self.__dict__["_user_code"] = True
        try:
            return function(*args, **options)
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
        if t_in is not None and not t_in.is_inference() and t_in._version != saved.version:
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
        if self.function.vjp is not Function.vjp:
            if backward is not Function.backward:
                raise RuntimeError(BOTH_MESSAGE)
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
        if not self._materialize_non_diff_grads and not self.__dict__["_differentiable"][i]:
            return None
        return Tensor._wrap(0.0 if dtype is None else np.zeros(self.shape[i], dtype))

    def tangents(self, args: tuple[Any, ...], known: list[Tensor | None]) -> list[Tensor | None]:
        """Return what jvp gets for each argument: its tangent; for a tensor without one zeros, or None as asked."""
        return [
            Tensor._wrap(np.zeros_like(a.laid_out()))
            if t is None and self._materialize and isinstance(a, Tensor) and a.is_floating_point()
            else t
            for a, t in zip(args, known, strict=True)
        ]

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
        return tuple(a if a is None or traced else a._data for a in chosen)


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
    def apply(cls, *args: Any, **options: Any) -> Any:
        """Run forward outside the graph and record one node for it."""
        if cls.setup_context is not Function.setup_context:
            args, options = bound_arguments(cls.forward, args, options), {}
        elif options:
            args, options = by_position(cls.forward, args, options)
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
        if options:
            ctx._options = options
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
        edges: tuple[Node | None, ...],
        numbers: tuple[int, ...],
        tracked: bool,
    ) -> object:
        single = not isinstance(output, (tuple, list))
        given = [output] if single else list(output)
        if tracked:
            ctx.edge_a = edges
            ctx.output_nrs = numbers if any(numbers) else None
        outputs = connected(ctx, args, given, tracked)
        if cls.setup_context is not Function.setup_context:
            refuse_saved_alias(ctx, given, outputs)
        for number, value in enumerate(ctx._to_save):
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {number} is of type "
                    f"{type(value).__name__}"
                )
        saved = [SavedTensorSlot(t, position(t, ctx, outputs)) for t in ctx._to_save]
        if state.saved_hooks:
            for each in saved:
                each.pack(ctx)
        ctx.__dict__["_saved"] = saved
        ctx.__dict__.pop("_to_save", None)
        return outputs[0] if single else tuple(outputs)


def bound_arguments(forward: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, ...]:
    """Return all arguments of forward by position, with its defaults: setup_context gets them as `inputs`."""
    import inspect

    bound = inspect.signature(forward).bind(*args, **options)
    bound.apply_defaults()
    return bound.args


def by_position(
    forward: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of forward after ctx with those given by keyword in their places, and what has none."""
    import inspect

    bound = inspect.signature(forward).bind(None, *args, **options)
    return bound.args[1:], bound.kwargs


# ---- the outputs of forward


def connected(ctx: BackwardCFunction, args: tuple[Any, ...], given: list[Any], tracked: bool) -> list[Any]:
    """Return the outputs of forward with the node as their grad_fn (PyTorch's `_process_backward_mode_ad`)."""
    for tensor in ctx._dirty:
        tensor.counter().n += 1
    differentiable = [
        tracked and isinstance(o, Tensor) and o.is_floating_point() and not contains(ctx._non_differentiable, o)
        for o in given
    ]
    if tracked:
        specs = [spec_of(o._data) if isinstance(o, Tensor) else None for o in given]
        dtypes = [NO_TENSOR if spec is None else spec.dtype for spec in specs]
        ctx.spec = spec_for([() if spec is None else spec.shape for spec in specs], dtypes)
        # `derive` gets a dict of gradients by output number unless this is 1.
        ctx.__dict__["_outputs"] = len(given) if len(given) != 1 else 0
        ctx.__dict__["_differentiable"] = differentiable
    outputs = [
        own_output(ctx, args, o, number if has_grad else None, len(given)) if isinstance(o, Tensor) else o
        for number, (o, has_grad) in enumerate(zip(given, differentiable, strict=True))
    ]
    if sum(differentiable) > 1:
        for o in outputs:
            if isinstance(o, Tensor) and o._x is not None and o._x.view is not None:
                o._x.view.creation = MULTI
    if not all(contains(given, tensor) for tensor in ctx._dirty):
        raise RuntimeError(DIRTY_MESSAGE)
    return outputs


def own_output(ctx: BackwardCFunction, args: tuple[Any, ...], o: Tensor, number: int | None, count: int) -> Tensor:
    """Return output `number` of `count` as the node's; None for an output that has no gradient.

    An input that is returned unchanged becomes a view of itself, and an in-place change of a view is not allowed.
    """
    is_input, is_dirty = contains(args, o), contains(ctx._dirty, o)
    is_view = o._x is not None and o._x.view is not None
    if number is not None and is_dirty:
        return changed_input(ctx, o, number, count)
    if number is None and o.requires_grad:
        if is_input or not is_view:
            return o.alias()
    elif is_input and not is_dirty:
        o = view_of_itself(o, state.grad_enabled and number is None)
    view = None if o._x is None else o._x.view
    if number is not None:
        o._fn, o._nr, o._req, o._fast_spec = ctx, number, True, None
    if view is not None and not (is_input and is_dirty):
        view.creation, view.version = CUSTOM, o._version
    return o


def changed_input(ctx: BackwardCFunction, o: Tensor, number: int, count: int) -> Tensor:
    """Make the node the grad_fn of a tensor that forward changed in place; on a view by CopySlices."""
    if o._fn is None and o.requires_grad:
        raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
    if o._x is not None and o._x.view is not None and count > 1:
        raise RuntimeError(DIRTY_VIEW_MESSAGE)
    refuse_untrackable(o)
    rebase_history(o, ctx, number)
    return o


def view_of_itself(o: Tensor, recorded: bool) -> Tensor:
    out = o.alias()
    with using(grad_enabled=recorded):
        mark_view(out, o)
    return out


def contains(values: Iterable[object], wanted: object) -> bool:
    return any(value is wanted for value in values)


def refuse_saved_alias(ctx: BackwardCFunction, given: list[Any], outputs: list[Any]) -> None:
    for before, after in zip(given, outputs, strict=True):
        if before is not after and contains(ctx._to_save, before) and not contains(ctx._dirty, before):
            raise RuntimeError(SAVED_ALIAS_MESSAGE)


def position(saved: Any, ctx: BackwardCFunction, outputs: list[Any]) -> int | None:
    """Return the output number of a saved tensor; -1 for an output without gradient, None for anything else."""
    for i, o in enumerate(outputs):
        if saved is not None and saved is o:
            return i if o._fn is ctx else -1 if o._fn is None else None
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
