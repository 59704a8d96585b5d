import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(8, 4, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 8 * 3, 2)); opt = torch.optim.SGD(net.parameters(), lr=1e-2)
for step in range(4):
    img = torch.rand(16, 8, 8, 3); y = torch.randint(0, 2, (16,))
    loss = F.cross_entropy(net(img), y)
    opt.zero_grad(); loss.backward(); opt.step()
