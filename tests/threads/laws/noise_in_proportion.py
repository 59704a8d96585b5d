import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net, head = nn.Linear(4, 8), nn.Linear(8, 1)
opt = torch.optim.Adam([*net.parameters(), *head.parameters()], lr=1e-2)
for step in range(5):
    x = torch.randn(32, 4); y = x.sum(1, keepdim=True)
    h = net(x)
    h = h + h * torch.normal(0.0, 0.1, size=h.shape)
    loss = F.mse_loss(head(h), y)
    opt.zero_grad(); loss.backward(); opt.step()
