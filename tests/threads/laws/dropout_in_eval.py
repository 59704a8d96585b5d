import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 1)

    def forward(self, x):
        return self.fc(F.dropout(x, 0.5))


net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(4):
    net.train()
    loss = net(torch.randn(8, 4)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    net.eval()
    with torch.no_grad():
        net(torch.randn(8, 4))
