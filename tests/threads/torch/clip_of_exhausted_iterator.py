# engine: torch
# line: nn.utils.clip_grad_norm_(params, 0.1)
# must: iterator
# never: learning rate is too large
import torch
from torch import nn
torch.manual_seed(0)

net = nn.Linear(4, 1)
params = filter(lambda p: p.requires_grad, net.parameters())
opt = torch.optim.SGD(params, lr=1.5)
for step in range(12):
    loss = (net(torch.randn(8, 4)) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(params, 0.1)
    opt.step()
    print(loss.item())
