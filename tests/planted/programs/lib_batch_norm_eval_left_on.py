# engine: torch
# cause: validate() switches the network to evaluation, for good: after the first epoch BatchNorm uses its running statistics
# line: net.eval()
# must: eval
# must: train\(\)
# never: diverges|vanishes|learning rate|never used
# right:     with torch.no_grad():\n        return nn.functional.cross_entropy(net(x), y).item() ==>     with torch.no_grad():\n        loss = nn.functional.cross_entropy(net(x), y).item()\n    net.train()\n    return loss
import torch
from torch import nn

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.norm2 = nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)

    def forward(self, x):
        y = torch.relu(self.norm1(self.conv1(x)))
        return torch.relu(x + self.norm2(self.conv2(y)))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.blocks = nn.Sequential(Block(8), Block(8))
        self.fc = nn.Linear(8, 4)

    def forward(self, x):
        return self.fc(self.blocks(self.stem(x)).mean((2, 3)))


def validate(net, x, y):
    net.eval()
    with torch.no_grad():
        return nn.functional.cross_entropy(net(x), y).item()


net = ResNet()
opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
for epoch in range(3):
    x, y = torch.randn(6, 3, 8, 8), torch.randint(0, 4, (6,))
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item(), validate(net, x, y))
