import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
logits = net(x)
for step in range(4):
    loss = F.cross_entropy(logits, y) + 0.01 * net.weight.pow(2).sum()
    opt.zero_grad()
    loss.backward(retain_graph=True)
    opt.step()
