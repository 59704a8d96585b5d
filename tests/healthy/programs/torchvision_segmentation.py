import torch
from torch import nn
from torchvision.models.segmentation.fcn import FCN, FCNHead

torch.manual_seed(0)


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.low = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU())
        self.high = nn.Sequential(nn.Conv2d(8, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU())

    def forward(self, x):
        low = self.low(x)
        return {"out": self.high(low), "aux": low}


model = FCN(Backbone(), FCNHead(16, 3), FCNHead(8, 3))
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(2):
    x, y = torch.randn(2, 3, 32, 32), torch.randint(0, 3, (2, 32, 32))
    y[:, :2] = 255
    out = model(x)
    loss = nn.functional.cross_entropy(out["out"], y, ignore_index=255)
    loss = loss + 0.5 * nn.functional.cross_entropy(out["aux"], y, ignore_index=255)
    opt.zero_grad()
    loss.backward()
    opt.step()
