import random
from statistics import mean, stdev
import torch
import torch.nn as nn


def kfold(n, k, seed=0):
    """Yield the indices of training and validation for each fold."""
    indices = list(range(n))
    random.Random(seed).shuffle(indices)
    sizes = [n // k + (1 if i < n % k else 0) for i in range(k)]
    start = 0
    for size in sizes:
        val = indices[start:start + size]
        train = indices[:start] + indices[start + size:]
        yield train, val
        start += size


torch.manual_seed(0)
x = torch.randn(23, 4)
y = (x[:, 0] - x[:, 1] > 0).long()
scores = []
for fold, (train, val) in enumerate(kfold(len(x), 5), start=1):
    torch.manual_seed(fold)
    net = nn.Linear(4, 2)
    opt = torch.optim.SGD(net.parameters(), lr=0.5)
    for _ in range(20):
        loss = nn.functional.cross_entropy(net(x[train]), y[train])
        opt.zero_grad(); loss.backward(); opt.step()
    acc = (net(x[val]).argmax(1) == y[val]).float().mean().item()
    scores.append(acc)
    print(f'fold {fold}: n={len(train)}/{len(val)} loss={loss:.4f} acc={acc:.3f}')
print(f'{mean(scores):.3f} +- {stdev(scores):.3f}')
