# engine: torch
# must: a_loss 0 ->
# must: loss 1.003 ->
import copy
import torch
from torch import nn
torch.manual_seed(0)
net, log_alpha = nn.Linear(4, 1), torch.zeros((), requires_grad=True)
target = copy.deepcopy(net)
opt, opt_a = torch.optim.SGD(net.parameters(), lr=0.1), torch.optim.SGD([log_alpha], lr=0.1)
for step in range(2):
    x = torch.randn(8, 4)
    with torch.no_grad():
        goal = 1 + 0.9 * target(x)
    loss = (net(x) - goal).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    a_loss = -(log_alpha * (net(x).detach().mean() - 2)).mean()
    opt_a.zero_grad()
    a_loss.backward()
    opt_a.step()
    print(step, loss.item(), log_alpha.exp().item())
