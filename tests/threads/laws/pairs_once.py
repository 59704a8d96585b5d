import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 3); opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(5):
    x = torch.randn(8, 4); h = net(x)
    d = (h[:, None] - h[None]).pow(2).sum(-1)
    pairs = d.masked_fill(torch.ones(8, 8).tril().bool(), 0.0)
    loss = (pairs - 1.0).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
