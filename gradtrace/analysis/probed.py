"""The model that the probes of `probes.py` try: copies of it, its inputs as a list of tensors, and
what its modules return.

Nothing here belongs to an engine: `engine` is the namespace with PyTorch's names, real PyTorch's
or gradtrace's. The user's modules, tensors and optimisers are read and copied, never called.
"""

from __future__ import annotations

import copy
import inspect
import os
import random
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import gradtrace
from gradtrace.annotations import Any, Callable, NamedTuple

Tensor = Any
Model = Any
SEED = 0
NOISE = 0.2  # of the size of a parameter, which counts as at least SMALLEST
SMALLEST = 0.1
TOLERANCE = 1e-5  # of the size of a result: what rounding may change


def is_tensor(value: Any) -> bool:
    return hasattr(value, "grad_fn") and hasattr(value, "requires_grad")


def leaves(value: Any, label: str = "") -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors in nested lists, tuples and mappings, each with its label."""
    if is_tensor(value):
        yield label, value
    elif isinstance(value, (Mapping, list, tuple)):
        pairs: Any = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, part in pairs:
            yield from leaves(part, f"{label}[{key!r}]")


def rebuilt(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Return a copy of a nested value with `change` of each tensor in its place."""
    if is_tensor(value):
        return change(value)
    if isinstance(value, Mapping):
        mapping: Any = copy.copy(value)
        for key in value:
            mapping[key] = rebuilt(value[key], change)
        return mapping
    if isinstance(value, (list, tuple)):
        parts = [rebuilt(part, change) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def cloned(value: Any) -> Any:
    return rebuilt(value, lambda tensor: tensor.detach().clone())


def floats(value: Any) -> list[Tensor]:
    """Return the floating-point tensors of a nested value that have elements, detached."""
    return [t.detach() for _, t in leaves(value) if t.is_floating_point() and t.numel()]


@contextmanager
def kept_random(engine: Any) -> Iterator[None]:
    """Restore the random numbers of the engine, of Python and of numpy at the end."""
    numpy: Any = getattr(sys.modules.get("numpy"), "random", None)
    of_python, of_numpy = random.getstate(), numpy and numpy.get_state()
    try:
        with engine.random.fork_rng():
            yield
    finally:
        random.setstate(of_python)
        if numpy:
            numpy.set_state(of_numpy)


class Seen(NamedTuple):
    """What a module returned in one call: its path with its class, the line of the user that called
    it, and the floating-point tensors.
    """

    name: str
    file: str
    line: int
    tensors: list[Tensor]


@dataclass(eq=False)
class ProbedModel:
    """A model with the arguments of one call, and its loss as a function of a copy of the model.

    `values` are the tensors of the arguments, `pairs` have their names too; `axis` is where they
    have the samples.
    """

    engine: Any
    model: Model
    call_arguments: tuple[Any, Any]
    loss: Callable[[Model], Tensor] | None
    optimizer: Any = None
    axis: int = 0

    def __post_init__(self) -> None:
        self.call_arguments = args, kwargs = cloned(self.call_arguments)
        parameters = inspect.signature(self.model.forward).parameters.values()
        names = [q.name for q in parameters if q.kind < q.VAR_POSITIONAL]
        names += [f"argument {index + 1}" for index in range(len(names), len(args))]
        named = [*zip(names, args, strict=False), *kwargs.items()]
        self.pairs = [pair for name, value in named for pair in leaves(value, name)]
        self.values = [tensor for _, tensor in self.pairs]
        self.packages = tuple(
            os.path.join(os.path.dirname(str(package.__file__)), "")
            for package in (self.engine, gradtrace)
        )

    # ---- samples

    @property
    def samples(self) -> int:
        """How many samples the arguments have; 0 without such an axis."""
        return next((int(v.shape[self.axis]) for v in self.values if v.ndim > self.axis), 0)

    def axis_of(self, tensor: Tensor) -> int | None:
        """Return the axis of the samples in an argument."""
        sizes = enumerate(tensor.shape)
        axes = [axis for axis, size in sizes if size == self.samples and axis in (0, self.axis)]
        return axes[-1] if axes else None

    def rest(self, tensors: list[Tensor], sample: int) -> list[Tensor]:
        """Return what of results does not belong to a sample, of those that have the samples."""
        rests = []
        for tensor in tensors:
            rest = tensor
            for axis, length in enumerate(tensor.shape):
                repeats, remainder = divmod(length, self.samples)
                if remainder or not repeats or (repeats > 1 and axis):
                    continue
                own = {*range(sample, length, self.samples)}
                own |= {*range(sample * repeats, (sample + 1) * repeats)}
                kept = [n for n in range(length) if n not in own]
                rest = rest.index_select(axis, self.engine.tensor(kept, device=rest.device))
            rests += [] if rest is tensor else [rest]
        return rests

    # ---- other values

    def substitute(self, tensor: Tensor) -> Tensor | None:
        """Return a tensor of the same kind with other values everywhere; None if it has one value
        alone.
        """
        engine = self.engine
        if tensor.is_floating_point() and tensor.ndim:
            rolled = tensor.roll(1, 0) * (1 + engine.rand_like(tensor) / 4)
            return engine.where(rolled == tensor, tensor + engine.randn_like(tensor), rolled)
        values, places = engine.unique(tensor, return_inverse=True)
        return values[(places + 1) % len(values)] if len(values) > 1 else None

    def replaced(self, index: int, tensor: Tensor) -> list[Tensor]:
        """Return the values with another tensor in the place of one."""
        return [*self.values[:index], tensor, *self.values[index + 1 :]]

    # ---- calls

    def copies(self, is_training: bool, has_noise: bool = False) -> tuple[Model, Any]:
        """Return a copy of the model without dropout, and one of the optimiser that updates it.

        With noise the parameters are changed at random: nothing passes layers that begin at zero.
        """
        model, optimizer = copy.deepcopy((self.model, self.optimizer))
        for module in model.train(is_training).modules():
            if "Dropout" in type(module).__name__:
                module.eval()
        self.seed()
        for parameter in model.parameters():
            parameter.grad = None
            if has_noise:
                self.shift(parameter)
        return model, optimizer

    def shift(self, parameter: Tensor) -> None:
        """Change a parameter of a copy a little."""
        if parameter.is_floating_point() and parameter.numel():
            with self.engine.no_grad():
                size = max(float(parameter.abs().mean()), SMALLEST)
                parameter.add_(self.engine.randn_like(parameter) * (NOISE * size))

    def seed(self) -> None:
        """Let every call draw the same random numbers."""
        self.engine.manual_seed(SEED)
        random.seed(SEED)
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(SEED)

    def call(self, model: Model, values: list[Tensor] | None = None) -> Any:
        """Call a copy of the model with these values in the places of its arguments' tensors."""
        source = iter(values or self.values)
        args, kwargs = rebuilt(self.call_arguments, lambda tensor: next(source).clone())
        return model(*args, **kwargs)

    def loss_of(self, model: Model) -> Tensor:
        """Return the loss of a copy of the model."""
        assert self.loss is not None
        self.seed()
        return self.loss(model)

    def results(self, model: Model, values: list[Tensor]) -> list[Tensor]:
        self.seed()
        return floats(self.call(model, values))

    def seen(self, model: Model, values: list[Tensor]) -> list[Seen]:
        """Call a copy of the model; return what each of its modules returned, itself last."""
        calls: list[Seen] = []

        def hook(path: str) -> Any:
            def note(module: Any, args: Any, output: Any) -> None:
                place = self.place() if path else self.forward_place()
                name = f"{path or 'the model'} ({type(module).__name__})"
                calls.append(Seen(name, *place, floats(output)))

            return note

        handles = [m.register_forward_hook(hook(path)) for path, m in model.named_modules()]
        try:
            self.call(model, values)
        finally:
            for handle in handles:
                handle.remove()
        return calls

    # ---- places

    def place(self) -> tuple[str, int]:
        """Return the file and line of the user's code that is being executed."""
        frame: Any = sys._getframe(1)
        while frame and frame.f_code.co_filename.startswith(self.packages):
            frame = frame.f_back
        return (frame.f_code.co_filename, frame.f_lineno) if frame else ("", 0)

    def forward_place(self) -> tuple[str, int]:
        """Return where the user's class of the model defines forward."""
        code: Any = getattr(inspect.unwrap(type(self.model).forward), "__code__", None)
        is_own = code and not code.co_filename.startswith(self.packages)
        return (code.co_filename, code.co_firstlineno) if is_own else ("", 0)


def size_of(tensors: list[Tensor]) -> float:
    return max((float(t.nan_to_num().abs().max()) for t in tensors if t.numel()), default=0.0)


def gap(first: list[Tensor], second: list[Tensor], least: float = 0.0) -> float:
    """Return the largest difference of two results; 0 for what rounding may change, or what is
    less than `least`. Results whose shapes differ are not compared.
    """
    pairs = zip(first, second, strict=False)
    size = size_of([a - b for a, b in pairs if a.shape == b.shape])
    return size if size > max(least, TOLERANCE * size_of(first)) else 0.0
