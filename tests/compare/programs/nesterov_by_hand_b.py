import torch
import torch.nn.functional as F
from torch import nn


class Momentum:
    def __init__(self, params, lr, mu):
        self.params, self.lr, self.mu = list(params), lr, mu
        self.v = [torch.zeros_like(p) for p in self.params]

    @torch.no_grad()
    def step(self):
        for p, v in zip(self.params, self.v):
            v.mul_(self.mu).add_(p.grad)
            p.add_(v, alpha=-self.lr)
            p.grad = None


torch.manual_seed(4)
inner, outer = nn.Linear(5, 7), nn.Linear(7, 1)
X = torch.randn(14, 5)
target = X[:, :1] * X[:, 1:2] * X[:, 2:3] * X[:, 3:4] * X[:, 4:]
optimizer = Momentum([*inner.parameters(), *outer.parameters()], lr=0.05, mu=0.9)
for _ in range(4):
    a = inner(X)
    pred = outer(torch.where(a > 0, a, torch.expm1(a)))
    d = (pred - target).abs()
    loss = torch.where(d <= 0.5, d * d / 2, 0.5 * (d - 0.25)).mean()
    loss.backward()
    optimizer.step()
    print("loss", loss.item())
