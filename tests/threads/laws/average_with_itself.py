import torch
from torch import nn

torch.manual_seed(0)

class Pair(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.online = encoder
        self.target = encoder
        for p in self.target.parameters():
            p.requires_grad = False
        self.head = nn.Linear(3, 3)

pair = Pair(nn.Linear(4, 3))
opt = torch.optim.SGD(pair.head.parameters(), lr=0.1)
for i in range(4):
    x = torch.randn(8, 4)
    loss = (pair.head(pair.online(x)) - pair.target(x)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for t, o in zip(pair.target.parameters(), pair.online.parameters()):
            t.mul_(0.9).add_(o, alpha=0.1)
