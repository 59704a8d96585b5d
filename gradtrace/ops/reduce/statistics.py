"""cov, corrcoef, quantile and nanquantile, composed of the same operators as in PyTorch."""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.ops.arguments import one_dim, torch_function
from gradtrace.ops.index.records import gather


@torch_function("cov")
def covariance(
    input: Tensor,
    *,
    correction: int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:
    """Covariance matrix, with variables in rows and observations in columns (torch.cov)."""
    if input.dtype.name == "bool":
        raise RuntimeError("cov(): bool dtype is not supported for input")
    if input.ndim > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions"
        )
    rows = input if input.ndim == 2 else input.reshape(1, -1)
    check_weights("fweights", "integral", fweights, rows.shape[1])
    check_weights("aweights", "floating point", aweights, rows.shape[1])
    if aweights is None:
        weights = fweights
    else:
        weights = aweights if fweights is None else fweights * aweights
    if weights is None:
        total: Any = rows.shape[1]
        mean = rows.sum(1) / total
    else:
        total = weights.sum()
        mean = (rows * weights).sum(1) / total
    if weights is not None and aweights is not None and correction:
        freedom = total - correction * (weights * aweights).sum() / total
    else:
        freedom = total - correction
    freedom = freedom.clamp(min=0) if isinstance(freedom, Tensor) else max(freedom, 0)
    away = rows - mean.unsqueeze(1)
    weighted = away if weights is None else away * weights
    return (away.mm(weighted.t()) / freedom).squeeze()


def check_weights(name: str, kind: str, weights: Tensor | None, count: int) -> None:
    """Raise RuntimeError unless `weights` holds one non-negative number of dtype `kind` for each
    observation.
    """
    if weights is None:
        return
    if weights.ndim > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with {weights.ndim} dimensions"
        )
    if weights.dtype.category != (dtypes.INTEGER if kind == "integral" else dtypes.FLOAT):
        raise RuntimeError(
            f"cov(): expected {name} to have {kind} dtype but got {name} with {weights.dtype.scalar_type} dtype"
        )
    if weights.numel() != count:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got "
            f"{weights.numel()} != {count}"
        )
    if bool((weights.shared() < 0).any()):
        raise RuntimeError(f"cov(): {name} cannot be negative")


@torch_function("corrcoef")
def correlation(input: Tensor) -> Tensor:
    """Correlation coefficients of variables in rows (torch.corrcoef)."""
    if input.ndim > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions"
        )
    c = covariance(input)
    if c.ndim == 0:
        return c / c
    deviation = c.diagonal().sqrt()
    c = c / deviation.view(-1, 1) / deviation.view(1, -1)
    return c.clip(-1, 1)


def check_quantile(input: Tensor, q: Tensor | float, interpolation: str) -> None:
    if not input.numel():
        raise RuntimeError("quantile() input tensor must be non-empty")
    if input.dtype.name not in ("float32", "float64"):
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise RuntimeError(
            "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got "
            f"{interpolation}"
        )
    if not isinstance(q, Tensor):
        if not 0 <= q <= 1:
            raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q:g}")
        return
    if q.ndim > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor")
    if q.dtype is not input.dtype:
        raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")
    if q.detach().array.size and not ((q.array >= 0) & (q.array <= 1)).all():
        raise RuntimeError("quantile() q values must be in the range [0, 1]")


def sorted_rows(input: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    """Return the elements that each quantile is taken of, sorted along a new or moved last dim."""
    if dim is None or not input.ndim:
        rows, _ = input.reshape(-1).sort(-1)
        return rows.view([1] * (input.ndim if keepdim else 0) + [-1])
    rows, _ = (input if dim == input.ndim - 1 else input.unsqueeze(-1).transpose(dim, -1)).sort(-1)
    kept = [1 if i == dim else n for i, n in enumerate(input.shape) if keepdim or i != dim]
    return rows.view([*kept, -1])


def ranks_of(rows: Tensor, q: Tensor, ignore_nan: bool) -> Tensor:
    """Return the positions of the quantiles in each sorted row; unless ignored, a nan makes them
    all the last one.
    """
    raw = rows.array
    nans = np.count_nonzero(np.isnan(raw), axis=-1, keepdims=True)
    last = raw.shape[-1] - 1
    if ignore_nan:
        return q * Tensor._wrap(np.maximum(last - nans, 0).astype(raw.dtype))
    ranks = q * last
    if not nans.any():
        return ranks.expand((*raw.shape[:-1], ranks.shape[0]))
    return Tensor._wrap(np.where(nans > 0, raw.dtype.type(last), ranks.detach().array))


def quantiles(
    input: Tensor,
    q: Tensor | float,
    dim: int | None,
    keepdim: bool,
    interpolation: str,
    ignore_nan: bool,
) -> Tensor:
    """Compute quantiles by recorded steps: sort, gather the neighbours of each rank,
    interpolate.
    """
    check_quantile(input, q, interpolation)
    rows = sorted_rows(
        input, None if dim is None else one_dim("quantile", dim, input.ndim), keepdim
    )
    several = isinstance(q, Tensor) and q.ndim > 0
    q = q.reshape(-1) if isinstance(q, Tensor) else Tensor._wrap(np.asarray([q], rows.dtype.np))
    ranks = ranks_of(rows, q, ignore_nan)
    if interpolation in ("lower", "higher", "nearest"):
        ranks = {"lower": ranks.floor, "higher": ranks.ceil, "nearest": ranks.round}[
            interpolation
        ]()
    last = rows.ndim - 1
    below = Tensor._wrap(np.floor(ranks.detach().array).astype(np.int64))
    values = gather(rows, last, below)
    if interpolation in ("linear", "midpoint"):
        above = Tensor._wrap(np.ceil(ranks.detach().array).astype(np.int64))
        weight = (
            ranks - below
            if interpolation == "linear"
            else Tensor._wrap(np.full(ranks.shape, 0.5, rows.dtype.np))
        )
        values = values.lerp(gather(rows, last, above), weight)
    if several:
        values = values.unsqueeze_(0).transpose_(0, -1)
    return values.squeeze_(-1)


def _quantile(name: str, ignore_nan: bool) -> None:
    def function(
        input: Tensor,
        q: Tensor | float,
        dim: int | None = None,
        keepdim: bool = False,
        *,
        interpolation: str = "linear",
    ) -> Tensor:
        return quantiles(input, q, dim, keepdim, interpolation, ignore_nan)

    function.__doc__ = (
        f"The q-th quantiles of all elements or along `dim`; q is a number or 1-d (torch.{name})."
    )
    torch_function(name)(function)


_quantile("quantile", False)
_quantile("nanquantile", True)
