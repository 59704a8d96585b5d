import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
X = torch.randn(64, 8); Y = X.sum(1, keepdim=True)
net = nn.Linear(8, 1); opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(5):
    torch.manual_seed(epoch)
    xs = X[torch.randperm(64)]
    torch.manual_seed(epoch)
    ys = Y[torch.randperm(64)]
    loss = F.mse_loss(net(xs), ys)
    opt.zero_grad(); loss.backward(); opt.step()
