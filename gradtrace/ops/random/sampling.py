"""Random tensors: rand, randn, randint, randperm, normal and multinomial, with the numbers of
PyTorch's CPU generator.

A tensor is filled in the order of its memory, as in PyTorch, so the values at its indices depend on
its layout.
"""

from __future__ import annotations

from math import prod

from gradtrace.annotations import Any, Callable
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.describe import check_device
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import Array, Ints, NumpyDtype
from gradtrace.engine.operators import strided_view
from gradtrace.ops.api import NOT_GIVEN, expose, named, public, sizes
from gradtrace.ops.arguments import require_float
from gradtrace.ops.create.factories import finish, np_of, plain_number
from gradtrace.ops.random import distributions
from gradtrace.ops.random.generator import Generator, sample
from gradtrace.ops.random.stream import Stream


def shape_of(size: tuple[Any, ...], named: dict[str, Any]) -> Ints:
    return sizes((named["size"],) if "size" in named else size)


def in_memory_order(numbers: Array, like: Array) -> Array:
    """Arrange flat numbers in the shape and the memory order of `like`."""
    if like.ndim < 2 or like.flags.c_contiguous:
        return numbers.reshape(like.shape)
    order = sorted(range(like.ndim), key=lambda dim: -abs(like.strides[dim]))
    back = sorted(range(like.ndim), key=order.__getitem__)
    return numbers.reshape([like.shape[dim] for dim in order]).transpose(back)


def require_floats(kind: NumpyDtype, kernel: str, least: int = 2) -> None:
    """Raise PyTorch's NotImplementedError unless the dtype is a float of at least `least` bytes."""
    if kind.kind != "f" or kind.itemsize < least:
        name = dtypes.from_np(kind).scalar_type
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{name}'")


def uniform_like(stream: Stream, like: Array) -> Array:
    """Return uniform numbers in [0, 1) in the shape, dtype and memory order of `like`."""
    require_floats(like.dtype, "check_uniform_bounds")
    return in_memory_order(distributions.uniform(stream, like.size, like.dtype), like)


def normal_like(stream: Stream, like: Array, mean: float = 0.0, std: float = 1.0) -> Array:
    """Return normal numbers in the shape, dtype and memory order of `like`."""
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    require_floats(like.dtype, "normal_kernel_cpu")
    numbers = distributions.normal(
        stream, like.size, like.dtype, mean, std, like.flags.c_contiguous
    )
    return in_memory_order(numbers, like)


def empty_like(input: Tensor, dtype: dtypes.dtype | None) -> Array:
    """Return an empty array with the shape and the order of dims that `rand_like(input)` has."""
    return strided_view.empty_like(input.own_array(), np_of(dtype, input.dtype))


def drawn(
    numbers: Callable[..., Array],
    like: Array,
    generator: Generator | None,
    requires_grad: bool,
    device: object,
    *bounds: float,
) -> Tensor:
    """Return a new tensor of `numbers(stream, like, *bounds)`."""
    check_device(device)
    values = sample(generator, like.size, lambda stream: numbers(stream, like, *bounds))
    return finish(values.astype(like.dtype, copy=False), requires_grad, device)


def _drawn(name: str, numbers: Callable[[Stream, Array], Array], doc: str) -> None:
    """Expose NAME and NAME_like, which fill new tensors with `numbers(stream, like)`."""

    def make(
        *size: Any,
        generator: Generator | None = None,
        dtype: dtypes.dtype | None = None,
        device: object = None,
        requires_grad: bool = False,
        **named: Any,
    ) -> Tensor:
        like = np.empty(shape_of(size, named), np_of(dtype))
        return drawn(numbers, like, generator, requires_grad, device)

    def make_like(
        input: Tensor,
        *,
        generator: Generator | None = None,
        dtype: dtypes.dtype | None = None,
        device: object = None,
        requires_grad: bool = False,
    ) -> Tensor:
        return drawn(numbers, empty_like(input, dtype), generator, requires_grad, device)

    expose(named(make, name, f"{doc} (torch.{name})."), forms="f")
    like_doc = f"`{name}` with the shape, dtype and layout of `input` (torch.{name}_like)."
    expose(named(make_like, f"{name}_like", like_doc), forms="f")


_drawn("rand", uniform_like, "Sample uniformly from [0, 1)")
_drawn("randn", normal_like, "Sample the standard normal distribution")


@public(forms="f")
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
    like = np.empty(sizes((shape,)), np_of(dtype, dtypes.int64))
    return drawn(integers_like, like, generator, requires_grad, device, start, stop)


@public(forms="f")
def randint_like(
    input: Tensor,
    low: Any = NOT_GIVEN,
    high: Any = NOT_GIVEN,
    *,
    generator: Generator | None = None,
    dtype: dtypes.dtype | None = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """randint with the shape, dtype and layout of `input` (torch.randint_like)."""
    start, stop, _ = integer_bounds(low, high, input.shape)
    like = empty_like(input, dtype)
    place = device
    return drawn(integers_like, like, generator, requires_grad, place, start, stop)


def integer_bounds(low: Any, high: Any, size: Any) -> tuple[int, int, Any]:
    """Return low, high and size from the arguments of randint(high, size) or randint(low, high,
    size).
    """
    if size is NOT_GIVEN and high is not NOT_GIVEN:
        low, high, size = NOT_GIVEN, low, high
    if high is NOT_GIVEN:
        low, high = NOT_GIVEN, low
    if high is NOT_GIVEN or size is NOT_GIVEN:
        raise TypeError("randint() needs the bound `high` and the size: randint([low,] high, size)")
    low = 0 if low is NOT_GIVEN else low
    start, stop = (int(plain_number(bound)) for bound in (low, high))
    check_range(start, stop)
    return start, stop, size


def check_range(start: int, stop: int) -> None:
    if start >= stop:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={start} >= to={stop}"
        )


def integers_like(stream: Stream, like: Array, low: int, high: int) -> Array:
    """Return integers in [low, high) in the layout of `like`; raise RuntimeError if its dtype
    cannot hold them.
    """
    low, high = representable(like.dtype, low, high)
    numbers = distributions.integers(stream, like.size, low, high)
    return in_memory_order(numbers.astype(like.dtype), like)


def representable(kind: NumpyDtype, low: int, high: int) -> tuple[int, int]:
    """Return the bounds, moved inward to values exact in a float dtype; raise RuntimeError if the
    dtype lacks them.
    """
    if kind == np.int64 and low >= -(2**63) and high <= 2**63:
        return low, high
    limits: Any
    if kind.kind == "f":
        limits = np.finfo(kind)
    else:
        limits = None if kind.kind == "b" else np.iinfo(kind)
    least, most = (0, 1) if limits is None else (limits.min, limits.max)
    for name, bound in (("from", low), ("to - 1", high - 1)):
        if not least <= bound <= most:
            raise RuntimeError(f"{name} is out of bounds for {dtypes.from_np(kind).c_name}")
    if kind.kind != "f":
        return low, high
    digits = limits.nmant + 1
    above = int(kind.type(low + 1))
    if above < low:
        low = above + (1 << max(abs(low + 1).bit_length() - digits, 0))
    below = int(kind.type(high - 1))
    if below >= high:
        high = below - (1 << max(abs(high - 1).bit_length() - digits, 0))
    return low, high


@public(forms="f")
def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    dtype: dtypes.dtype | None = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a random permutation of 0 .. n-1 (torch.randperm)."""
    (n,) = sizes((n,))
    kind = np_of(dtype, dtypes.int64)
    permuted = lambda stream, like: distributions.permutation(stream, n).astype(kind)
    return drawn(permuted, np.empty(n, kind), generator, requires_grad, device)


@public(forms="f")
def normal(
    mean: Tensor | float,
    std: Tensor | float = 1.0,
    size: Any = None,
    *,
    generator: Generator | None = None,
    dtype: dtypes.dtype | None = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """Sample normal distributions with the given means and standard deviations (torch.normal)."""
    if not isinstance(mean, Tensor) and not isinstance(std, Tensor):
        if size is None:
            raise TypeError("normal() of two numbers needs the size: normal(mean, std, size)")
        like = np.empty(sizes((size,)), np_of(dtype))
        return drawn(normal_like, like, generator, requires_grad, device, float(mean), float(std))
    means, deviations = (v.shared() if isinstance(v, Tensor) else v for v in (mean, std))
    kind = (mean if isinstance(mean, Tensor) else std).dtype.np  # type: ignore[union-attr]
    like = np.empty(np.broadcast_shapes(np.shape(means), np.shape(deviations)), kind)
    if isinstance(std, Tensor):
        if np.any(deviations < 0):
            raise RuntimeError("normal expects all elements of std >= 0.0")
        numbers = sample(generator, like.size, lambda stream: normal_like(stream, like))
        values = numbers.astype(kind, copy=False) * np.asarray(deviations, kind)
    else:
        numbers = sample(
            generator, like.size, lambda stream: normal_like(stream, like, 0.0, float(std))
        )
        values = numbers.astype(kind, copy=False)
    return finish(np.asarray(values + np.asarray(means, kind)), requires_grad, device)


@public()
def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Sample indices with the rows of `input` as weights (torch.multinomial)."""
    weights = input.shared()
    check_weights(input, weights, num_samples, replacement)
    size = prod(weights.shape[:-1]) * num_samples
    like = empty_like(input, None)
    numbers = lambda stream: indices(stream, weights, like, num_samples, replacement)
    return Tensor._wrap(sample(generator, size, numbers))


def indices(
    stream: Stream, weights: Array, like: Array, num_samples: int, replacement: bool
) -> Array:
    """Return the indices that `multinomial` draws; `like` has the memory order of the weights."""
    if not replacement or num_samples == 1:
        # The order of independent exponential times with these rates.
        times = distributions.exponential(stream, weights.size, 1.0).astype(weights.dtype)
        ratio = weights / in_memory_order(times, like)
        return np.ascontiguousarray(np.argsort(-ratio, -1, kind="stable")[..., :num_samples])
    rows = np.atleast_2d(weights)
    samples = np.stack([with_replacement(stream, row, num_samples) for row in rows])
    return samples if weights.ndim > 1 else np.asarray(samples[0])


def with_replacement(stream: Stream, weights: Array, n: int) -> Array:
    shares = np.cumsum(weights, dtype=weights.dtype if weights.dtype.itemsize > 2 else np.float32)
    shares /= shares[-1]
    shares[-1] = 1
    return np.searchsorted(shares.astype(np.float64), stream.uniform64(n)).astype(np.int64)


def check_weights(input: Tensor, weights: Array, n: int, replacement: bool) -> None:
    """Raise PyTorch's RuntimeError if the weights are not a distribution or have too few
    categories.
    """
    if not 0 < weights.ndim <= 2:
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    require_float(input, "multinomial only supports floating-point dtypes for input, got: {}")
    if n <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and n > weights.shape[-1]:
        raise RuntimeError(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement"
        )
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if not weights.sum(-1).all():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
