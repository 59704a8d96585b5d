import torch
import torch.nn as nn

torch.manual_seed(4)
model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
x, y = torch.randn(24, 8), torch.randn(24, 4)
for step in range(4):
    opt.zero_grad()
    for k in range(3):
        xb, yb = x[8 * k:8 * k + 8], y[8 * k:8 * k + 8]
        loss = nn.functional.mse_loss(model(xb), yb) / 3
        loss.backward()
    opt.step()
    print(f"{loss.item() * 3:.6f}")
