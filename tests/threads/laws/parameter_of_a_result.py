import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.make, self.out = nn.Linear(3, 8), nn.Linear(2, 1)

    def forward(self, x, context):
        self.weight = nn.Parameter(self.make(context).view(2, 4))
        return self.out(F.linear(x, self.weight))
net = Net(); opt = torch.optim.SGD(net.parameters(), lr=1e-2)
x, y = torch.randn(6, 4), torch.randn(6, 1)
for step in range(4):
    loss = F.mse_loss(net(x, torch.ones(3)), y)
    opt.zero_grad(); loss.backward(); opt.step()
