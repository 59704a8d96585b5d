# engine: torch
# cause: ASPP's image pooling leaves one number of each channel, and with a batch of one image BatchNorm has one value
# line: pooled = self.pool(x)
# line: loss = nn.functional.cross_entropy(model(image), mask)
# must: batch.?norm
# must: one sample|1 sample|one value|1 value|more than 1
# never: learning rate
import torch
from torch import nn

torch.manual_seed(0)


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 8, 1), nn.BatchNorm2d(8), nn.ReLU())
        self.conv = nn.Conv2d(16, 4, 1)

    def forward(self, x):
        pooled = self.pool(x)
        return self.conv(torch.cat([x, pooled.expand_as(x)], 1))


model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), Head())
image, mask = torch.randn(1, 3, 6, 6), torch.randint(0, 4, (1, 6, 6))
loss = nn.functional.cross_entropy(model(image), mask)
loss.backward()
