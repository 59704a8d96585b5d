"""The order of dims in memory of what an index tensor picks: it says whether `view` works on it."""

import itertools

import torch

for shape in ((3, 4, 2), (3, 4, 1), (1, 4, 2)):
    base = torch.arange(float(torch.Size(shape).numel())).reshape(shape)
    for perm in itertools.permutations(range(3)):
        x = base.permute(*perm)
        t = torch.zeros(3, dtype=torch.long)
        square = torch.zeros(2, 3, dtype=torch.long)
        for index in (
            (slice(None), t), (slice(None), [0, 0], slice(None)), (t,), (..., t), (slice(None), t, t), (t, slice(None), t),
            (slice(None), t.view(-1, 1)), (0, slice(None), t), (slice(None), slice(0, 1), t), (slice(None), t, 0),
            (square,), (square.t(),), (slice(None), square.t()), (x > 2,), (slice(None), x[0] > 2),
        ):  # fmt: skip
            y = x[index]
            print(shape, perm, tuple(y.shape), y.stride(), y.is_contiguous(), y.sum().item())

series = torch.linspace(-3, 3, 20).view(1, 20, 1).repeat(4, 1, 1)
print(series[:, [3, 1, 2], :].view(12, 1).shape)
