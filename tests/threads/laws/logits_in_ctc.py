import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 5)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, targets = torch.randn(12, 3, 4), torch.randint(1, 5, (3, 4))
lengths = torch.full((3,), 12), torch.full((3,), 4)
for i in range(4):
    loss = nn.CTCLoss()(net(x), targets, *lengths)
    opt.zero_grad()
    loss.backward()
    opt.step()
