import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Dropout(0.95), nn.Linear(64, 2)); opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(4):
    x = torch.randn(16, 8); y = (x[:, 0] > 0).long()
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
