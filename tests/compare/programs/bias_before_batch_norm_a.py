import torch
import torch.nn as nn

def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(), nn.MaxPool2d(2))

torch.manual_seed(0)
net = nn.Sequential(block(3, 8), block(8, 16), nn.Flatten(), nn.Linear(16 * 4 * 4, 6))
x, y = torch.randn(10, 3, 16, 16), torch.randint(0, 6, (10,))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(5):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    opt.step()
    print(f"{loss.item():.5f}")
net.eval()
print(f"{net(x).mean().item():.5f}")
