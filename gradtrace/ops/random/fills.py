"""Methods that fill a tensor with random numbers (`Tensor.normal_` and similar), and functions with
a random result.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Callable
from gradtrace.engine.calls.inplace import inplace, refuse_unless_tracked
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import Array
from gradtrace.engine.operators.op import ZERO_GRAD, Op, random_op
from gradtrace.ops.api import public
from gradtrace.ops.arguments import need_float, require_float
from gradtrace.ops.random import counts, distributions
from gradtrace.ops.random.generator import Generator, sample
from gradtrace.ops.random.sampling import (
    check_range,
    in_memory_order,
    integers_like,
    normal_like,
    require_floats,
)
from gradtrace.ops.random.stream import Stream

SMALLEST = -(2**63)  # int64
CONTINUOUS = (
    "{} distribution is a continuous probability distribution. "
    "dtype must be a floating point but you specified {}"
)


def redraw(name: str, node: str, formula: str, public: str = "", aten: str = "") -> Op:
    """Return a record that replaces values by random numbers: the previous values get a zero
    gradient.

    `public` is the public name (default `name`), `aten` PyTorch's name of the operator (default:
    `public` with "_").
    """
    return random_op(f"{name}(self; values)", lambda a, values: values, formula, public=public or name,
        aten=aten or f"{public or name}_", node=node,
        self=ZERO_GRAD)  # fmt: skip


uniform = redraw("uniform", "UniformBackward0", "out[i] ~ Uniform(low, high)")
normal = redraw("normal_fill", "NormalBackward0", "out[i] ~ Normal(mean, std**2)", "normal")
# fmt: off
random_from_to = redraw("random_from_to", "RandomBackward0", "out[i] ~ DiscreteUniform(low, high - 1)", "random",
    "random_.from")
random_to = redraw("random_to", "RandomBackward1", "out[i] ~ DiscreteUniform(0, high - 1)", "random", "random_.to")
random_any = redraw("random_any", "RandomBackward2", "out[i] ~ DiscreteUniform(0, 2**digits)", "random")
bernoulli_sample = redraw("bernoulli_sample", "BernoulliBackward0", "out[i] ~ Bernoulli(self[i])", "bernoulli",
    "bernoulli")
bernoulli_each = random_op("bernoulli_each(self, p; values)", lambda a, p, values: values, "out[i] ~ Bernoulli(p[i])",
    public="bernoulli", aten="bernoulli_.Tensor", node="BernoulliBackward1",
    self=ZERO_GRAD, p="zeros_like(p)")
bernoulli_fill = redraw("bernoulli_fill", "BernoulliBackward2", "out[i] ~ Bernoulli(p)", "bernoulli",
    "bernoulli_.float")
exponential = redraw("exponential", "ExponentialBackward0", "out[i] ~ Exponential(lambd)")
log_normal = redraw("log_normal", "LogNormalBackward0", "log(out[i]) ~ Normal(mean, std**2)")
cauchy = redraw("cauchy", "CauchyBackward0", "out[i] ~ Cauchy(median, sigma)")
geometric = redraw("geometric", "GeometricBackward0", "out[i] ~ Geometric(p)")
poisson_sample = redraw("poisson_sample", "PoissonBackward0", "out[i] ~ Poisson(self[i])", "poisson", "poisson")
binomial_sample = redraw("binomial_sample", "BinomialBackward0", "out[i] ~ Binomial(count[i], prob[i])", "binomial",
    "binomial")
# fmt: on


def fill(
    record: Op,
    self: Tensor,
    generator: Generator | None,
    values: Callable[[Stream, Array], Array],
    *rest: Tensor,
) -> Tensor:
    """Write `values(stream, array like self)` to the tensor; flat values are placed in its memory
    order.
    """
    refuse_unless_tracked(self, *rest)
    like = self.own_array()
    numbers = sample(generator, like.size, lambda stream: values(stream, like))
    drawn = (
        in_memory_order(numbers, like) if numbers.shape != like.shape or like.ndim < 2 else numbers
    )
    return inplace(record, self, *rest, drawn.astype(like.dtype, copy=False))


def fill_with(
    record: Op,
    self: Tensor,
    generator: Generator | None,
    draw_numbers: Callable[..., Array],
    *numbers: float,
) -> Tensor:
    """Fill with numbers of a distribution, whose parameters are `numbers`."""
    numbers = tuple(map(float, numbers))
    return fill(
        record, self, generator, lambda stream, like: draw_numbers(stream, like.size, *numbers)
    )


@public(forms="m")
def uniform_(
    self: Tensor, *bounds: float, generator: Generator | None = None, **named: float
) -> Tensor:
    """Fill with numbers uniform in [from, to), [0, 1) by default (Tensor.uniform_)."""
    low, high = bounds_of("uniform_", bounds, named, 0.0, 1.0)
    kind = self.dtype.np
    require_floats(kind, "check_uniform_bounds")
    for name, bound in (("from", low), ("to", high)):
        if not abs(bound) <= np.finfo(kind).max:
            raise RuntimeError(f"{name} is out of bounds for {self.dtype.c_name}")
    if low > high:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}"
        )
    return fill(
        uniform,
        self,
        generator,
        lambda stream, like: distributions.uniform(stream, like.size, kind, low, high),
    )


def bounds_of(name: str, args: tuple[Any, ...], named: dict[str, Any], *defaults: Any) -> list[Any]:
    """Return the arguments `from` and `to`; as `from` is a Python keyword, both arrive as *args and
    **kwargs.
    """
    bounds = [*args, *defaults[len(args) :]]
    for key, value in named.items():
        if key not in ("from", "to"):
            raise TypeError(f"{name}() got an unexpected keyword argument '{key}'")
        bounds[("from", "to").index(key)] = value
    if len(bounds) > 2:
        raise TypeError(f"{name}() takes at most 2 positional arguments ({len(bounds)} given)")
    return bounds


@public(forms="m")
def normal_(
    self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Fill with normal numbers (Tensor.normal_)."""
    mean = float(mean)
    std = float(std)
    return fill(normal, self, generator, lambda stream, like: normal_like(stream, like, mean, std))


@public(forms="m")
def random_(self: Tensor, *bounds: int, generator: Generator | None = None, **named: int) -> Tensor:
    """Fill with integers in [from, to); by default 0 to the dtype's largest (for floats 2**digits)
    (Tensor.random_).
    """
    kind = self.dtype.np
    if not bounds and not named:
        return fill(
            random_any,
            self,
            generator,
            lambda stream, like: distributions.all_integers(stream, like.size, kind),
        )
    if len(bounds) == 1 and not named:
        low = 0
        high = int(bounds[0])
        record = random_to
    else:
        first, last = bounds_of("random_", bounds, named, 0, None)
        low = int(first)
        high = end_of(self.dtype) if last is None else int(last)
        record = random_from_to
    check_range(low, high)
    if low == SMALLEST and high == -SMALLEST:
        return fill(
            record, self, generator, lambda stream, like: stream.uint64(like.size).astype(np.int64)
        )
    return fill(
        record, self, generator, lambda stream, like: integers_like(stream, like, low, high)
    )


def end_of(dtype: dtypes.dtype) -> int:
    """Return the exclusive upper bound of random_ for this dtype."""
    if dtype.category == dtypes.FLOAT:
        return int(2 ** (np.finfo(dtype.np).nmant + 1)) + 1
    return 2 if dtype is dtypes.bool_ else int(np.iinfo(dtype.np).max) + 1


@public(forms="m")
def bernoulli_(
    self: Tensor, p: Tensor | float = 0.5, *, generator: Generator | None = None
) -> Tensor:
    """Fill with 1 with probability p, a number or a tensor, else 0 (Tensor.bernoulli_)."""
    if isinstance(p, Tensor):
        chances = probabilities(p)
        return fill(
            bernoulli_each,
            self,
            generator,
            lambda stream, like: by_chance(stream, chances, like),
            p,
        )
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    return fill(
        bernoulli_fill,
        self,
        generator,
        lambda stream, like: distributions.bernoulli(stream, p, like.size),
    )


def probabilities(p: Tensor) -> Array:
    chances = p.shared()
    need_float(p, "bernoulli_tensor_cpu_p_")
    if not ((chances >= 0) & (chances <= 1)).all():
        raise RuntimeError(
            "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  "
            "If so, please report an enhancement request to PyTorch.)"
        )
    return chances


def by_chance(stream: Stream, chances: Array, like: Array) -> Array:
    """Return True with each element's probability in `chances`, drawn in the memory order of
    `like`.
    """
    wide = chances.dtype.itemsize == 8
    numbers = stream.uniform64(like.size) if wide else stream.uniform32(like.size)
    return np.asarray(in_memory_order(numbers, like) < chances)


@public()
def bernoulli(
    input: Tensor, p: float | None = None, *, generator: Generator | None = None
) -> Tensor:
    """Sample 1 with the probability given by each element, or with probability p, else 0
    (torch.bernoulli).
    """
    like = np.empty(input.shape, input.dtype.np)
    if p is not None:
        return bernoulli_(Tensor._wrap(like), p, generator=generator)
    chances = probabilities(input)
    drawn = sample(generator, like.size, lambda stream: by_chance(stream, chances, like))
    return bernoulli_sample(input, drawn.astype(like.dtype))


@public(forms="m")
def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with exponential numbers of rate `lambd` (Tensor.exponential_)."""
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    require_float(self, CONTINUOUS.format("Exponential", self.dtype.scalar_type))
    return fill_with(exponential, self, generator, distributions.exponential, lambd)


@public(forms="m")
def log_normal_(
    self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Generator | None = None
) -> Tensor:
    """Fill with the exponentials of normal numbers (Tensor.log_normal_)."""
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    require_floats(self.dtype.np, "log_normal_cpu")
    return fill_with(log_normal, self, generator, distributions.log_normal, mean, std)


@public(forms="m")
def cauchy_(
    self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Fill with numbers of a Cauchy distribution (Tensor.cauchy_)."""
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    require_float(self, CONTINUOUS.format("Cauchy", self.dtype.cpp_name))
    return fill_with(cauchy, self, generator, distributions.cauchy, median, sigma)


@public(forms="m")
def geometric_(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """Fill with the number of trials up to the first success with probability p
    (Tensor.geometric_).
    """
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    return fill_with(geometric, self, generator, distributions.geometric, p)


@public(forms="f")
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Sample Poisson distributions with the given rates (torch.poisson)."""
    rates = input.shared()
    require_floats(rates.dtype, "poisson_cpu")
    if not (rates >= 0).all():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    flat = rates.reshape(-1).tolist()
    drawn = sample(
        generator, rates.size, lambda stream: np.array(counts.poisson(stream, flat), rates.dtype)
    )
    return poisson_sample(input, drawn.astype(rates.dtype, copy=False).reshape(rates.shape))


@public(forms="f")
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """Sample binomial distributions: the successes of `count` trials with probability `prob`
    (torch.binomial).
    """
    trials, chances = np.broadcast_arrays(count.shared(), prob.shared())
    require_floats(trials.dtype, "binomial_cpu", least=4)
    if trials.dtype != chances.dtype:
        raise RuntimeError(
            f"Found dtype {prob.dtype.scalar_type} but expected {count.dtype.scalar_type}"
        )
    flat = trials.reshape(-1).tolist(), chances.reshape(-1).tolist()
    numbers = lambda stream: np.array(counts.binomial(stream, *flat, trials.dtype), trials.dtype)
    drawn = sample(generator, trials.size, numbers).astype(trials.dtype, copy=False)
    return binomial_sample(count, drawn.reshape(trials.shape))
