import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
net = nn.Linear(4, 6)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
lengths = torch.full((3,), 8)
for i in range(4):
    targets = torch.tensor([[0, 2, 3], [1, 4, 0], [5, 1, 2]])
    out = F.log_softmax(net(torch.randn(8, 3, 4)), dim=-1)
    loss = F.ctc_loss(out, targets, lengths, torch.full((3,), 3))
    opt.zero_grad()
    loss.backward()
    opt.step()
