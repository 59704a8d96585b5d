import torch
from torch import nn

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(d, d, 3, padding=1), nn.BatchNorm2d(d)
        self.conv2, self.bn2 = nn.Conv2d(d, d, 3, padding=1), nn.BatchNorm2d(d)
        nn.init.zeros_(self.bn2.weight)

    def forward(self, x):
        return torch.relu(x + self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x))))))


model = nn.Sequential(nn.Conv2d(3, 8, 3), Block(8), Block(8), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5))
opt = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(4, 3, 8, 8), torch.randint(0, 5, (4,))
loss = nn.functional.cross_entropy(model(x), y)
loss.backward()
opt.step()
