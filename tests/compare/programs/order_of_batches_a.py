import torch
import torch.nn as nn

torch.manual_seed(31)
net = nn.Sequential(nn.Linear(3, 12), nn.Softplus(), nn.Linear(12, 2))
x, y = torch.randn(16, 3), torch.randn(16, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.05, weight_decay=1e-2)
for epoch in range(2):
    for i in range(0, 16, 4):
        loss = nn.functional.mse_loss(net(x[i:i + 4]), y[i:i + 4])
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"{loss.item():.6f}")
