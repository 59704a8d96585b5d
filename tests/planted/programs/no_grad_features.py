# engine: torch
# cause: features() is decorated with no_grad, so the backbone that should be fine-tuned has no gradient
# line: @torch.no_grad()
# line: return self.pool(F.relu(self.backbone(x))).flatten(1)
# line: features = self.features(x)
# must: no_grad
# must: backbone
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Conv2d(3, 8, 3, padding=1)
        self.pool = nn.AdaptiveAvgPool2d(2)
        self.boxes = nn.Linear(32, 4)

    @torch.no_grad()
    def features(self, x):
        return self.pool(F.relu(self.backbone(x))).flatten(1)

    def forward(self, x):
        features = self.features(x)
        return self.boxes(features)


model = Detector()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
images, boxes = torch.randn(4, 3, 12, 12), torch.rand(4, 4)
for step in range(2):
    loss = F.smooth_l1_loss(model(images), boxes)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
