import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(4):
    state = torch.randn(8, 3)
    for k in range(3):
        state = (state + 0.1 * net(state)).data
        last = state + 0.1 * net(state)
    loss = (last - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
