import itertools
from functools import partial, reduce
import operator

import torch
import torch.nn as nn

param_grid = {'lr': [0.1, 0.01], 'momentum': [0.0, 0.9], 'hidden': [4]}
keys, values = zip(*param_grid.items())
configs = [dict(zip(keys, v)) for v in itertools.product(*values)]
print(len(configs), configs[0])


def run(config, steps=20, seed=0):
    torch.manual_seed(seed)
    x = torch.randn(32, 3)
    y = (x.sum(1, keepdim=True) > 0).float()
    model = nn.Sequential(nn.Linear(3, config['hidden']), nn.Tanh(), nn.Linear(config['hidden'], 1))
    opt = torch.optim.SGD(model.parameters(), lr=config['lr'], momentum=config['momentum'])
    for _ in range(steps):
        opt.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(model(x), y)
        loss.backward()
        opt.step()
    return loss.item()


short = partial(run, steps=10)
results = {tuple(c.values()): short(c) for c in configs}
for key, value in sorted(results.items(), key=lambda kv: kv[1]):
    print(key, f'{value:.4f}')
best = min(results, key=results.get)
print('best', best, reduce(operator.mul, best))
