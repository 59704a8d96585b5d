"""The indices that each rank gets, also where there are more ranks than samples."""

import torch
from torch.utils.data.distributed import DistributedSampler

for n, ranks in ((5, 2), (2, 5), (6, 3), (0, 2), (1, 4)):
    for drop_last in (False, True):
        all_ranks = [DistributedSampler(range(n), ranks, r, shuffle=False, drop_last=drop_last) for r in range(ranks)]
        print(n, ranks, drop_last, [list(sampler) for sampler in all_ranks], [len(sampler) for sampler in all_ranks])
sampler = DistributedSampler(range(7), 3, 1, seed=5)
order = iter(sampler)
sampler.set_epoch(1)
print(list(order), list(sampler))
