"""torch.utils.data: data sets, samplers, and the loader that makes batches of them.

https://pytorch.org/docs/stable/data.html. Everything runs in the current process: options such as
`num_workers` and `pin_memory` are accepted and have no effect.
"""

from __future__ import annotations

from gradtrace.utils.data.collate import default_collate, default_convert
from gradtrace.utils.data.datasets import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from gradtrace.utils.data.loader import DataLoader
from gradtrace.utils.data.samplers import (
    BatchSampler,
    DistributedSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler", "IterableDataset",
    "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset", "SubsetRandomSampler", "TensorDataset",
    "WeightedRandomSampler", "default_collate", "default_convert", "get_worker_info", "random_split",
]  # fmt: skip


def get_worker_info() -> None:
    """Return None: there are no worker processes."""
    return None
