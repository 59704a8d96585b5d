import torch
from torch import nn
torch.manual_seed(0)
mu = nn.Linear(4, 1)
log_sigma = nn.Parameter(torch.full((1,), -1.0))
with torch.no_grad():
    mu.weight.zero_(); mu.bias.zero_()
opt = torch.optim.Adam([*mu.parameters(), log_sigma], lr=0.1)
x = torch.randn(32, 4)
y = x.sum(1, keepdim=True) * 0.05
for step in range(12):
    d = (y - mu(x)) / log_sigma.exp()
    loss = 0.5 * (d ** 2).mean() + log_sigma.mean() + 0.965
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item())
