# engine: torch
# cause: a reentrant checkpoint whose input does not require grad leaves the parameters of its block without gradient
# line: h = checkpoint(self.enc, x, use_reentrant=True)
# must: use_reentrant=False
# must: x does not
# never: never used|freeze|leave it out
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
        self.head = nn.Linear(8, 1)
    def forward(self, x):
        h = checkpoint(self.enc, x, use_reentrant=True)
        return self.head(h)
model = Net()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(2):
    x, y = torch.randn(6, 4), torch.randn(6, 1)
    loss = ((model(x) - y) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
