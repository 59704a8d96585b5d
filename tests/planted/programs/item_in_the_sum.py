# engine: gradtrace
# ask: reg_net.weight
# line: penalty = penalty + reg_net(x).pow(2).mean().item()
# must: item
# must: tensor|graph|history
# never: smaller lr|requires_grad_
import torch
import torch.nn as nn

torch.manual_seed(0)
main_net = nn.Linear(3, 1)
reg_net = nn.Linear(3, 3)
params = [*main_net.parameters(), *reg_net.parameters()]
opt = torch.optim.Adam(params, lr=0.01)
data = [torch.randn(4, 3) for _ in range(3)]

for epoch in range(2):
    opt.zero_grad()
    penalty = 0.0
    task = 0.0
    for x in data:
        task = task + (main_net(x) - 1).pow(2).mean()
        penalty = penalty + reg_net(x).pow(2).mean().item()
    loss = task + 0.5 * penalty
    loss.backward()
    opt.step()
    print(epoch, loss.item())
