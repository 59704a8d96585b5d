"""DataLoader: an iterable over the batches of a data set."""

from __future__ import annotations

import math
import warnings

from gradtrace.annotations import Any, Callable, Iterator
from gradtrace.ops.random.generator import Generator
from gradtrace.utils.data.collate import default_collate, default_convert
from gradtrace.utils.data.datasets import IterableDataset
from gradtrace.utils.data.samplers import (
    BatchSampler,
    RandomSampler,
    SequentialSampler,
    any_seed,
    in_batches,
)


class DataLoader:
    """An iterable over the batches of a data set, collated into tensors.

    With `batch_size=None` it yields single items. ValueError for options that exclude each other,
    as in PyTorch.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Any = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        if num_workers:
            warnings.warn(
                f"DataLoader: num_workers={num_workers} starts no processes here", stacklevel=2
            )
        self.dataset = dataset
        self.num_workers = num_workers
        self.pin_memory = pin_memory
        self.timeout = timeout
        self.generator = generator
        self.drop_last = drop_last
        iterable = isinstance(dataset, IterableDataset)
        check_options(iterable, batch_size, shuffle, sampler, batch_sampler, drop_last)
        if batch_sampler is not None:
            batch_size = None
        if not iterable:
            if sampler is None and shuffle:
                sampler = RandomSampler(dataset, generator=generator)
            elif sampler is None:
                sampler = SequentialSampler(dataset)
            if batch_size is not None:
                batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        batched = batch_sampler is not None or (iterable and batch_size is not None)
        self.collate_fn = collate_fn or (default_collate if batched else default_convert)

    def __iter__(self) -> Iterator[Any]:
        if isinstance(self.dataset, IterableDataset):
            batches = map(self.collate_fn, self._iterable_items())
        elif self.batch_sampler is None:
            batches = map(self._item, iter(self.sampler))
        else:
            batches = map(self._batch, iter(self.batch_sampler))
        # PyTorch draws a seed for its workers even if there are none.
        any_seed(self.generator)
        return batches

    def _item(self, index: Any) -> Any:
        return self.collate_fn(self.dataset[index])

    def _batch(self, indices: Any) -> Any:
        return self.collate_fn([self.dataset[index] for index in indices])

    def _iterable_items(self) -> Iterator[Any]:
        """Yield the items of an iterable data set, or lists of `batch_size` items."""
        if self.batch_size is None:
            yield from self.dataset
        else:
            yield from in_batches(self.dataset, self.batch_size, self.drop_last)

    def __len__(self) -> int:
        if not isinstance(self.dataset, IterableDataset):
            return len(self.sampler if self.batch_sampler is None else self.batch_sampler)
        length = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else math.ceil(length / self.batch_size)

    def __class_getitem__(cls, item: Any) -> type:
        return cls


def check_options(
    iterable: bool,
    batch_size: int | None,
    shuffle: bool | None,
    sampler: Any,
    batch_sampler: Any,
    drop_last: bool,
) -> None:
    """Raise ValueError for options that exclude each other, or that an IterableDataset does not
    allow.
    """
    if iterable:
        expected = "DataLoader with IterableDataset: expected unspecified"
        if shuffle:
            raise ValueError(f"{expected} shuffle option, but got shuffle={shuffle}")
        if sampler is not None:
            raise ValueError(f"{expected} sampler option, but got sampler={sampler}")
        if batch_sampler is not None:
            raise ValueError(
                f"{expected} batch_sampler option, but got batch_sampler={batch_sampler}"
            )
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None:
        if batch_size != 1 or shuffle or sampler is not None or drop_last:
            raise ValueError(
                "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and "
                "drop_last"
            )
    elif batch_size is None and drop_last:
        raise ValueError(
            "batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
        )
