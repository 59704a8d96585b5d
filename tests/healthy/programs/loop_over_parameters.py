import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.01)
data = torch.utils.data.TensorDataset(torch.randn(12, 4), torch.randn(12, 1))
total = 0.0
for x, y in torch.utils.data.DataLoader(data, batch_size=4):
    scaled = (x - x.mean(0)) / (x.std(0) + 1e-6)
    loss = nn.functional.mse_loss(model(scaled), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    total += loss.item()
    print(f"{loss.item():.3f}")
for name, p in model.named_parameters():
    print(name, p.grad.norm())
