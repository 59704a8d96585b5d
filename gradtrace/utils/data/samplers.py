"""Samplers: the order in which the items of a data set are read."""

from __future__ import annotations

import itertools

from gradtrace.annotations import Any, Iterable, Iterator, Sequence
from gradtrace.engine.data.dtypes import float64
from gradtrace.ops.create.factories import as_tensor
from gradtrace.ops.random.generator import Generator, draw
from gradtrace.ops.random.sampling import multinomial, randint, randperm

DRAWN_AT_ONCE = 32  # indices with replacement, as PyTorch draws them
NO_GROUP = (
    "Default process group has not been initialized, please make sure to call init_process_group."
)
SEED_MASK = 2**63 - 1


def any_seed(generator: Generator | None) -> int:
    """Draw a seed from 0 to 2**63 - 1, as PyTorch does for each pass over a loader or a random
    sampler.
    """
    return int(draw(generator).uint64(1)[0]) & SEED_MASK


def in_batches(items: Iterable[Any], size: int, drop_last: bool) -> Iterator[list[Any]]:
    """Yield lists of `size` items; the last one may be shorter, unless `drop_last`."""
    rest = iter(items)
    while batch := list(itertools.islice(rest, size)):
        if len(batch) == size or not drop_last:
            yield batch


class Sampler:
    """Base class of samplers, which are iterables of indices."""

    def __init__(self, data_source: Any = None) -> None:
        pass

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError

    def __class_getitem__(cls, item: Any) -> type:
        return cls


class SequentialSampler(Sampler):
    """A sampler of the indices 0, 1, 2, ..."""

    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler):
    """A sampler of all indices in random order, or of indices drawn with replacement."""

    def __init__(
        self,
        data_source: Any,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(
                "num_samples should be a positive integer value, but got "
                f"num_samples={self.num_samples}"
            )

    @property
    def num_samples(self) -> int:
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        n = len(self.data_source)
        generator = self.generator or Generator().manual_seed(any_seed(None))
        rounds, rest = divmod(self.num_samples, DRAWN_AT_ONCE if self.replacement else n)
        for _ in range(rounds):
            yield from self._drawn(n, DRAWN_AT_ONCE, generator)
        yield from self._drawn(n, rest, generator)[:rest]  # like PyTorch, also if nothing is left

    def _drawn(self, n: int, count: int, generator: Generator) -> list[int]:
        drawn = (
            randint(0, n, (count,), generator=generator)
            if self.replacement
            else randperm(n, generator=generator)
        )
        return drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """A sampler of the given indices in random order."""

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for i in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """A sampler of indices drawn with probabilities in proportion to their weights."""

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(
                f"num_samples should be a positive integer value, but got num_samples={num_samples}"
            )
        if not isinstance(replacement, bool):
            raise ValueError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        self.weights = as_tensor(weights, dtype=float64)
        if self.weights.ndim != 1:
            shape = tuple(self.weights.shape)
            raise ValueError(
                f"weights should be a 1d sequence but given weights have shape {shape}"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = multinomial(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        )
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class DistributedSampler(Sampler):
    """A sampler of the indices of one rank of `num_replicas`, which all get the same number of
    indices.
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            raise ValueError(NO_GROUP)
        if not 0 <= rank < num_replicas:
            raise ValueError(
                f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]"
            )
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        self.num_samples = (len(dataset) + (0 if drop_last else num_replicas - 1)) // num_replicas
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[int]:
        n = len(self.dataset)
        generator = Generator().manual_seed(self.seed + self.epoch)
        indices = randperm(n, generator=generator).tolist() if self.shuffle else range(n)
        return (
            indices[place % n] for place in range(self.rank, self.total_size, self.num_replicas)
        )

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch, which is added to the seed of the shuffle."""
        self.epoch = epoch


class BatchSampler(Sampler):
    """A sampler of lists of `batch_size` indices of another sampler."""

    def __init__(self, sampler: Any, batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(
                f"batch_size should be a positive integer value, but got batch_size={batch_size}"
            )
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        return in_batches(self.sampler, self.batch_size, self.drop_last)

    def __len__(self) -> int:
        return (
            len(self.sampler) + (0 if self.drop_last else self.batch_size - 1)
        ) // self.batch_size
