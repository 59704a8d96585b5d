"""Samples of large results: all elements have their shadows, some of them are computed in the other
tracks too.

What an operation adds, and what came with each input, is measured on a part of the rows, of
operations that compute each row on its own: products of matrices, functions of elements, attention
(a sequence and a head are a row). Rows with large errors are preferred. The result is used if no
element is out of the ordinary.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from gradtrace.torch import private
from gradtrace.torch.precision_errors import ErrorSizes, compare_sample, sums_of
from gradtrace.torch.precision_kinds import is_product
from gradtrace.torch.precision_shadows import size_of_storage, wide

if TYPE_CHECKING:
    from gradtrace.torch.precision_runs import WideCall

LARGE = 2**20  # multiplications from which a product of matrices is sampled ...
MANY = 2**16  # ... and elements from which other results are
ROWS = 64  # of a sample at least, if a quarter of them are so many ...
ELEMENTS = 2**12  # ... and elements, more if each costs little
WIDER = 2  # times as many columns as rows has a product of which columns are sampled
CANCELLED = 2.0**-7  # norm of a row of a product, by the norms of what is multiplied
DEFENSIVE = 0.25  # of the mean squared error, in the length of a row
PAIRS = 16  # of a sequence and a head, in a sample of attention
GOLDEN = 0.6180339887498949
ATTENTION = "_scaled_dot_product_"


class Sample(NamedTuple):
    """Which part of an operation is computed in the tracks after the shadow."""

    rows: int  # or columns, if `dim` is -1: of how many
    taken: int
    dim: int
    flat: bool  # all dims but the last are one
    whole: frozenset[int]  # the tensors that are read as a whole, by id
    lead: tuple[int, ...] = ()  # of attention: the sizes of the two dims that are one

    def of(self, tensor: Any, rows: Any) -> Any:
        """Return the sampled rows of an operand or a result."""
        if self.lead:
            pairs = tensor.expand(*self.lead, *tensor.shape[2:])
            rows = rows.to(tensor.device)
            return pairs[rows // self.lead[1], rows % self.lead[1]].unsqueeze(1)
        whole = tensor.flatten(0, -2) if self.flat else tensor
        return whole.index_select(self.dim, rows.to(tensor.device))

    def inner(self, result: Any) -> int:
        """Return how many elements follow each other in a row of a result."""
        return (
            1
            if self.dim == -1
            else int(result.shape[-1] if self.dim else result.numel() // self.rows)
        )

    def choose(self, squares: Any) -> tuple[Any, Any]:
        """Return which rows are sampled, by their squared errors, and how many rows each of them
        stands for.

        The rows stand in the order of their errors, and are taken at equal distances, where each is
        as long as its squared error and a part of the mean one: what has a large part of the error
        is always there.
        """
        squares, order = squares.sort(descending=True)
        sizes = squares + squares.mean() * DEFENSIVE
        sums = sizes.cumsum(0)
        if not float(sums[-1]):
            sampled = places(self.rows, self.taken)
            return sampled, torch.full((len(sampled),), self.rows / len(sampled))
        step = sums[-1] / self.taken
        ranks: Any = torch.searchsorted(
            sums, (torch.arange(self.taken, dtype=sums.dtype) + 0.5) * step
        ).clamp_max_(self.rows - 1)
        ranks, counts = ranks.unique_consecutive(return_counts=True)
        return order[ranks], counts * step / sizes[ranks]


@functools.lru_cache(256)
def places(rows: int, count: int) -> Any:
    """Return `count` places or fewer among `rows`, spread evenly without a period."""
    return torch.tensor(sorted({int(i * GOLDEN % 1 * rows) for i in range(count)}))


def sample_of(
    job: WideCall, results: list[Any], earlier: dict[int, PendingSample | None]
) -> Sample | None:
    """Return the sample of an operation; None if it is small, or if its rows depend on each other.

    `earlier` has the operations that made its tensors, if only a sample of these will be computed
    either.
    """
    if (
        job.written
        or not results
        or not all(tensor.numel() == size_of_storage(tensor) for tensor in results)
    ):
        return None
    result = results[0]
    kind = job.kind
    lead = ()
    tensors = {
        id(tensor): tensor
        for tensor in (*job.args, *job.kwargs.values())
        if isinstance(tensor, torch.Tensor)
    }
    if is_product(kind, job.kwargs):
        *added, first, second = job.tensors
        if first.numel() * second.shape[-1] < LARGE or first is second:
            return None
        dim = -1 if result.shape[-1] >= WIDER * result.shape[-2] else -2
        rows = result.shape[dim]
        flat = False
        depth = -dim
        cut = {id(first if dim == -2 else second)}
        cut |= {
            id(tensor) for tensor in added if tensor.dim() >= depth and tensor.shape[dim] == rows
        }
        enough = ROWS
    elif kind.name.startswith(ATTENTION) and job.tensors[0].dim() == 4 and result.numel() >= MANY:
        lead = tuple(result.shape[:2])
        dim = 0
        flat = False
        cut = {key for key, tensor in tensors.items() if tensor.dim() >= 3}
        if any(tensors[key].shape[i] not in (1, lead[i]) for key in cut for i in (0, 1)):
            return None
        rows = math.prod(lead)
        enough = PAIRS
    elif torch.Tag.pointwise in job.func.tags and result.numel() >= MANY and kind.name != "clone":
        cut = {key for key, tensor in tensors.items() if tensor.shape == result.shape}
        if any(
            tensor.numel() > 1 and key not in cut and tensor.shape != result.shape[-1:]
            for key, tensor in tensors.items()
        ):
            return None
        flat = result.dim() > 1
        rows = result.numel() // result.shape[-1] if flat else result.numel()
        dim = 0
        enough = max(ROWS, 4 * ELEMENTS * rows // result.numel())
    else:
        return None
    count = min(enough, rows // 4)
    if count * result.numel() < ELEMENTS * rows or len(job.tensors) != len(
        set(map(id, job.tensors))
    ):
        return None
    sample = Sample(rows, count, dim, flat, frozenset(tensors.keys() - cut), lead)
    before = [(tensor, earlier[id(tensor)]) for tensor in job.tensors]
    return (
        sample
        if all(pending is None or pending.has_rows_of(tensor, sample) for tensor, pending in before)
        else None
    )


def product_of(job: WideCall, values: dict[int, Any]) -> Any:
    """Return a large product of two matrices from the values of its tensors, by id; None of any
    other operation.

    Of bfloat16 it is computed in float32 unless a row shows that digits may cancel: what that adds
    is below 2**-5 of bfloat16's rounding. A tall product is computed as the transpose of a wide
    one, which takes a fifth less time.
    """
    if (
        not is_product(job.kind, job.kwargs)
        or job.tensors[-2].numel() * job.tensors[-1].shape[-1] < LARGE
    ):
        return None
    *added, first, second = (values[id(tensor)] for tensor in job.tensors)
    product = None
    if all(tensor.dtype is torch.bfloat16 for tensor in job.tensors):
        norms = (
            torch.linalg.vector_norm(first, dim=-1) * torch.linalg.matrix_norm(second)[..., None]
        )
        short = torch.matmul(first.float(), second.float())
        if bool((torch.linalg.vector_norm(short, dim=-1) >= norms * CANCELLED).all()):
            product = short.double()
    if product is None:
        is_tall = first.shape[-2] > second.shape[-1]
        product = (second.mT @ first.mT).mT if is_tall else first @ second
    return product.add_(added[0]) if added else product


class PendingSample:
    """An operation of which only the shadow was computed, what it read in each track, and its
    results.
    """

    def __init__(
        self,
        job: WideCall,
        out: Any,
        results: list[Any],
        read: list[list[Any]],
        sample: Sample | None,
        earlier: Any,
    ) -> None:
        self.job = job
        self.out = out
        self.results = {
            private.storage_of(tensor) or 0: (place, tensor) for place, tensor in enumerate(results)
        }
        self.read = read
        self.sample: Any = sample  # None: the errors are those of an input
        self.earlier = {key: pending for key, pending in earlier.items() if pending is not None}
        self.rows: Any = None  # which ones the sample has ...
        self.weights: Any = None  # ... how many each stands for ...
        self.track_results: list[
            list[Any]
        ] = []  # ... and their results in the tracks after the shadow

    def has_rows_of(self, tensor: Any, sample: Sample) -> bool:
        """Return whether the rows of another sample are those of the result, seen as `tensor`."""
        _, result = self.results[private.storage_of(tensor) or 0]
        if self.sample is None:
            return False
        same = sample.rows == self.sample.rows and tensor.shape[-1:] == result.shape[-1:]
        is_flat = self.sample.flat or (self.sample.dim == -2 and result.dim() == 2)
        return bool(
            is_flat and sample.flat and same and tensor.is_contiguous() and result.is_contiguous()
        )

    def tracks(self, shadows: Any, compute: Any, rows: Any) -> list[list[Any]]:
        """Return by track the sampled parts of the results; `compute` runs an operation in
        float64.
        """
        job = self.job
        sample = self.sample
        tensors = {
            id(tensor): tensor
            for tensor in (*job.args, *job.kwargs.values())
            if isinstance(tensor, torch.Tensor)
        }
        small = {
            key: tensor if key in sample.whole else sample.of(tensor, rows)
            for key, tensor in tensors.items()
        }
        args = [small.get(id(argument), argument) for argument in job.args]
        kwargs = {name: small.get(id(argument), argument) for name, argument in job.kwargs.items()}
        part = job._replace(args=args, kwargs=kwargs)
        tracks = []
        whole = sample.whole
        actual = {
            id(tensor): shadows.actual(tensor) if id(tensor) in whole else wide(small[id(tensor)])
            for tensor in job.tensors
        }
        before = {
            id(tensor): self.before(tensor, shadows, compute, rows)
            for tensor in job.tensors
            if id(tensor) in self.earlier
        }
        for track, row in enumerate(self.read[1:]):
            values = {}
            for tensor, shadow in zip(job.tensors, row, strict=True):
                seen = actual[id(tensor)]
                if id(tensor) in before:
                    seen = before[id(tensor)][min(track, len(before[id(tensor)]) - 1)]
                elif shadow is not None:
                    seen = (
                        shadow.view(tensor)
                        if id(tensor) in whole
                        else sample.of(shadow.view(tensor), rows)
                    )
                values[id(small[id(tensor)])] = seen
            tracks.append(compute(part, values, self.out))
        return tracks

    def before(self, tensor: Any, shadows: Any, compute: Any, rows: Any) -> list[Any]:
        """Return by track the sampled rows of an input that another sampled operation made."""
        earlier = self.earlier[id(tensor)]
        place, _ = earlier.results[private.storage_of(tensor) or 0]
        return [track[place] for track in earlier.tracks(shadows, compute, rows)]

    def errors(self, tensor: Any, shadows: Any, count: int, compute: Any) -> ErrorSizes | None:
        """Return the errors of a result in `count` tracks; None if the sample does not show
        them.
        """
        storage = private.storage_of(tensor) or 0
        place, result = self.results[storage]
        if (
            self.sample is None
            or tensor.numel() != result.numel()
            or tensor.dtype is not result.dtype
            or 0 in tensor.stride()
        ):
            return None
        exact = shadows.held[storage].view(result)
        sample = self.sample
        whole = sums_of(result, [exact], sample.inner(result))
        if not whole.is_ordinary:
            return None
        # nan where both are infinite
        squares = torch.cat(whole.rows).square_().nan_to_num_(0.0, 0.0)
        squares = squares.view(-1, sample.rows).sum(0)
        if self.rows is None:
            self.rows, self.weights = sample.choose(squares)
            self.track_results = self.tracks(shadows, compute, self.rows)
        tracks = [sample.of(exact, self.rows), *(track[place] for track in self.track_results)]
        tracks += tracks[-1:] * (count - len(tracks))
        weights = self.weights.view(
            -1, *[1] * (-1 - sample.dim if sample.dim else tracks[0].dim() - 1)
        )
        return compare_sample(whole, weights, sample.of(result, self.rows), tracks)
