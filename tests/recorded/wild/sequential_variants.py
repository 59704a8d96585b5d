from collections import OrderedDict
import torch
import torch.nn as nn
import torch.nn.functional as F


class Lambda(nn.Module):
    def __init__(self, func):
        super().__init__()
        self.func = func

    def forward(self, x):
        return self.func(x)


class Residual(nn.Module):
    expansion = 1

    def __init__(self, channels, use_1x1=False, strides=1):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, stride=strides)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.conv3 = nn.Conv2d(channels, channels, 1, stride=strides) if use_1x1 else None
        self.bn1, self.bn2 = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)

    def forward(self, X):
        Y = F.relu(self.bn1(self.conv1(X)))
        Y = self.bn2(self.conv2(Y))
        if self.conv3:
            X = self.conv3(X)
        Y += X
        return F.relu(Y)


torch.manual_seed(0)
net = nn.Sequential(OrderedDict([
    ('stem', nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU())),
    ('res', nn.Sequential(*[Residual(4, use_1x1=(i == 0), strides=2 - i) for i in range(2)])),
    ('pool', nn.AdaptiveAvgPool2d((1, 1))),
    ('flat', Lambda(lambda x: x.view(x.size(0), -1))),
    ('fc', nn.Linear(4, 2)),
]))
X = torch.randn(2, 1, 8, 8)
for name, layer in net.named_children():
    X = layer(X)
    print(name.ljust(6), layer.__class__.__name__, 'output shape:\t', X.shape)
print(X.detach())
d = nn.ModuleDict({'a': nn.Linear(1, 1), 'b': nn.ReLU()})
print(list(d.keys()), 'a' in d, len(net), net[-1], net.res[1].conv3 is None)
shared = nn.Linear(3, 3)
tied = nn.Sequential(shared, nn.ReLU(), shared)
print(tied[0].weight is tied[2].weight, len(list(tied.parameters())))
