import torch
from torch import nn
torch.manual_seed(0)
D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
opt = torch.optim.Adam(D.parameters(), lr=2e-1)
for step in range(10):
    real, fake = torch.randn(64, 2) + 0.05, torch.randn(64, 2) 
    loss = D(fake).mean() - D(real + step).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item())
