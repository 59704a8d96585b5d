# engine: torch
# cause: the log of a rate of 0 makes the gradient of base nan, and clip_grad_norm_ spreads it to all others through the norm
# line: likelihood = torch.log(rate).sum()
# line: nn.utils.clip_grad_norm_(model.parameters(), 1.0)
# must: clip_grad_norm_|\blog\b
# must: inf
import torch
import torch.nn as nn

torch.manual_seed(0)


class Poisson(nn.Module):
    def __init__(self):
        super().__init__()
        self.trend = nn.Linear(3, 1)
        self.base = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return nn.functional.softplus(self.trend(x)).squeeze(1), self.base.abs()


model = Poisson()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(10, 3)
trend, rate = model(x)
likelihood = torch.log(rate).sum()
loss = trend.mean() - likelihood
optimizer.zero_grad()
loss.backward()
nn.utils.clip_grad_norm_(model.parameters(), 1.0)
optimizer.step()
