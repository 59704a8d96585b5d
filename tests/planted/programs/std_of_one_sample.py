# engine: torch
# cause: the last batch has one sample, and the unbiased std of one sample is 0/0 = nan
# line: return (x - x.mean(0)) / (x.std(0) + 1e-5)
# must: std
# must: one|single|1\b
# must: nan|not finite
# from: https://github.com/pytorch/pytorch/issues/4320
import torch
import torch.nn as nn

torch.manual_seed(0)


class Standardise(nn.Module):
    def forward(self, x):
        return (x - x.mean(0)) / (x.std(0) + 1e-5)


model = nn.Sequential(nn.Linear(6, 12), Standardise(), nn.ReLU(), nn.Linear(12, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
data, target = torch.randn(17, 6), torch.randn(17, 1)
for x, y in zip(data.split(8), target.split(8)):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
