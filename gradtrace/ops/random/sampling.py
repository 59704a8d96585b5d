"""Random tensors, from numpy's PCG64 seeded by `manual_seed`: PyTorch's distributions, but not its stream."""

from __future__ import annotations

import math

from gradtrace.annotations import TYPE_CHECKING, Any, Callable
from gradtrace.engine import dtypes
from gradtrace.engine.inplace import inplace
from gradtrace.engine.lazy import np
from gradtrace.engine.op import d, op
from gradtrace.engine.tensor import Tensor
from gradtrace.engine.types import Array, Shape
from gradtrace.ops.api import NOT_GIVEN, public, sizes
from gradtrace.ops.create.factories import filled_like, finish, np_of, plain_number
from gradtrace.ops.random.generator import Generator, draw

if TYPE_CHECKING:
    from numpy.random import Generator as NumpyGenerator

# An in-place random fill cuts the history: the previous values get a zero gradient.
redraw = op(
    "redraw(self; values)",
    lambda a, values: values,
    kind="random",
    aten="normal_",
    node="NormalBackward0",
    self=d("", lambda xp, g, out, self, values: xp.zeros_like(g)),
)


def shape_of(size: tuple[Any, ...], named: dict[str, Any]) -> tuple[int, ...]:
    return sizes((named["size"],) if "size" in named else size)


@public("rand", forms="f")
def rand(
    *size: Any,
    generator: Generator | None = None,
    dtype: dtypes.dtype | None = None,
    device: object = None,
    requires_grad: bool = False,
    **named: Any,
) -> Tensor:
    """Sample uniformly from [0, 1) (torch.rand)."""
    values = np.asarray(draw(generator).random(shape_of(size, named)))
    return finish(values.astype(np_of(dtype)), requires_grad, device)


@public("randn", forms="f")
def randn(
    *size: Any,
    generator: Generator | None = None,
    dtype: dtypes.dtype | None = None,
    device: object = None,
    requires_grad: bool = False,
    **named: Any,
) -> Tensor:
    """Sample the standard normal distribution (torch.randn)."""
    values = np.asarray(draw(generator).standard_normal(shape_of(size, named)))
    return finish(values.astype(np_of(dtype)), requires_grad, device)


@public("rand_like", forms="f")
def rand_like(input: Tensor, *, dtype: dtypes.dtype | None = None, requires_grad: bool = False) -> Tensor:
    """`rand` with the shape and dtype of `input` (torch.rand_like)."""
    values = draw(None).random(input.shape)
    return finish(filled_like(input, values, np_of(dtype, input.dtype)), requires_grad)


@public("randn_like", forms="f")
def randn_like(input: Tensor, *, dtype: dtypes.dtype | None = None, requires_grad: bool = False) -> Tensor:
    """`randn` with the shape and dtype of `input` (torch.randn_like)."""
    values = draw(None).standard_normal(input.shape)
    return finish(filled_like(input, values, np_of(dtype, input.dtype)), requires_grad)


@public("randint", forms="f")
def randint(
    low: Any = NOT_GIVEN,
    high: Any = NOT_GIVEN,
    size: Any = NOT_GIVEN,
    *,
    generator: Generator | None = None,
    dtype: dtypes.dtype | None = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """Sample integers from low (0 by default) to high, exclusive (torch.randint)."""
    start, stop, shape = integer_bounds(low, high, size)
    values = np.asarray(draw(generator).integers(start, stop, sizes((shape,))))
    return finish(values.astype(np_of(dtype, dtypes.int64)), requires_grad, device)


@public("randint_like", forms="f")
def randint_like(
    input: Tensor,
    low: Any = NOT_GIVEN,
    high: Any = NOT_GIVEN,
    *,
    dtype: dtypes.dtype | None = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """randint with the shape and dtype of `input` (torch.randint_like)."""
    start, stop, shape = integer_bounds(low, high, input.shape)
    values = draw(None).integers(start, stop, tuple(shape))
    return finish(filled_like(input, values, np_of(dtype, input.dtype)), requires_grad, device)


def integer_bounds(low: Any, high: Any, size: Any) -> tuple[int, int, Any]:
    """The bounds and the size of randint(high, size) and randint(low, high, size), by position or by name."""
    if size is NOT_GIVEN and high is not NOT_GIVEN:
        low, high, size = NOT_GIVEN, low, high
    if high is NOT_GIVEN:
        low, high = NOT_GIVEN, low
    if high is NOT_GIVEN or size is NOT_GIVEN:
        raise TypeError("randint() needs the bound `high` and the size: randint([low,] high, size)")
    low = 0 if low is NOT_GIVEN else low
    start, stop = (int(plain_number(bound)) for bound in (low, high))
    if start >= stop:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={start} >= to={stop}")
    return start, stop, size


@public("randperm", forms="f")
def randperm(
    n: int, *, generator: Generator | None = None, dtype: dtypes.dtype | None = None, device: object = None
) -> Tensor:
    """Return a random permutation of 0 .. n-1 (torch.randperm)."""
    values = draw(generator).permutation(n)
    return finish(values.astype(np_of(dtype, dtypes.int64)), False, device)


@public("normal", forms="f")
def normal(
    mean: Tensor | float, std: Tensor | float = 1.0, size: Any = None, *, generator: Generator | None = None
) -> Tensor:
    """Sample normal distributions with the given means and standard deviations (torch.normal)."""
    m, s = (v.shared() if isinstance(v, Tensor) else v for v in (mean, std))
    shape = tuple(size) if size is not None else np.broadcast_shapes(np.shape(m), np.shape(s))
    kind = next((v.dtype.np for v in (mean, std) if isinstance(v, Tensor)), np_of(None))
    return finish(np.asarray(draw(generator).normal(m, s, shape)).astype(kind))


@public("bernoulli")
def bernoulli(input: Tensor, *, generator: Generator | None = None) -> Tensor:
    """Sample 1 with the probability given by each element, else 0 (torch.bernoulli)."""
    p = input.shared()
    return Tensor._wrap(np.asarray((draw(generator).random(p.shape) < p).astype(p.dtype)))


@public("multinomial")
def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator | None = None
) -> Tensor:
    """Sample indices with the rows of `input` as weights (torch.multinomial)."""
    rows = np.atleast_2d(input.shared()).astype(np.float64)
    drawn = np.stack([draw(generator).choice(r.size, num_samples, replacement, r / r.sum()) for r in rows])
    return Tensor._wrap(drawn if input.ndim > 1 else drawn[0])


def _fill_method(name: str, values: Callable[..., Array]) -> None:
    def method(self: Tensor, *args: Any, generator: Generator | None = None, **named: Any) -> Tensor:
        drawn = np.asarray(values(draw(generator), tuple(self.shape), *args, **named))
        return inplace(redraw, self, drawn.astype(self.dtype.np))

    method.__name__, method.__doc__ = name, f"Fill this tensor in place with random numbers (Tensor.{name})."
    public(name, forms="m")(method)


def _uniform(source: NumpyGenerator, shape: Shape, a: float = 0.0, b: float = 1.0, **named: float) -> Array:
    low, high = named.get("from", a), named.get("to", b)
    return low + (high - low) * source.random(shape)


def _integers(source: NumpyGenerator, shape: Shape, a: int | None = None, b: int | None = None) -> Array:
    low, high = (0, 2**24) if a is None else (0, a) if b is None else (a, b)
    return source.integers(low, high, shape)


_fill_method("uniform_", _uniform)
_fill_method("normal_", lambda source, shape, mean=0.0, std=1.0: source.normal(mean, std, shape))
_fill_method("bernoulli_", lambda source, shape, p=0.5: source.random(shape) < p)
_fill_method("random_", _integers)
_fill_method("exponential_", lambda source, shape, lambd=1.0: source.exponential(1 / lambd, shape))
_fill_method("log_normal_", lambda source, shape, mean=1.0, std=2.0: source.lognormal(mean, std, shape))
_fill_method(
    "cauchy_",
    lambda source, shape, median=0.0, sigma=1.0: median + sigma * np.tan(math.pi * (source.random(shape) - 0.5)),
)
