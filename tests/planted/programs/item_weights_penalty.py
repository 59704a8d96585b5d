# engine: gradtrace
# engine: torch
# cause: the weight of the penalty is a number by item(), so the loss has no gradient through it
# line: scale = fit.item()
# must: item\(\)
# must: no gradient comes back on that path
# never: smaller lr|retain_grad|requires_grad_
# right: scale = fit.item() ==> scale = fit
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
x, y = torch.randn(16, 4), torch.randn(16, 1)
fit = (net(x) - y).pow(2).mean()
scale = fit.item()
smooth = net[0].weight.pow(2).sum()
loss = fit + scale * smooth
opt.zero_grad()
loss.backward()
opt.step()
print(loss.item())
