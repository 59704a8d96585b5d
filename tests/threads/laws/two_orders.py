import torch
from torch import nn
torch.manual_seed(0)
X = torch.randn(64, 8); Y = X.sum(1, keepdim=True)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1)); opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(5):
    xs = X[torch.randperm(64)]
    ys = Y[torch.randperm(64)]
    loss = nn.functional.mse_loss(net(xs), ys)
    opt.zero_grad(); loss.backward(); opt.step()
