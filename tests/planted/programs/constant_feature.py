# engine: gradtrace
# line: return (x - x.mean(0)) / x.std(0)
# must: div|std|/ x.std
# must: 0
# must: eps|clamp|1e-
# never: smaller lr|learning rate|requires_grad_
import torch
import torch.nn as nn

torch.manual_seed(5)


def standardize(x):
    return (x - x.mean(0)) / x.std(0)


def make_batch(n):
    a = torch.randn(n, 1)
    b = torch.randn(n, 1) * 3 + 1
    constant = torch.ones(n, 1) * 4
    x = torch.cat([a, b, constant], dim=1)
    y = 2 * a - b
    return standardize(x), y


model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.05)
for it in range(3):
    x, y = make_batch(6)
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(it, loss.item())
