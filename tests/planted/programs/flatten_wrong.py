# engine: gradtrace
# line: x = x.view(-1, 16)
# line: self.fc = nn.Linear(64, 2)
# must: shape|size|16|64
# must: view|Linear
# never: smaller lr|before backward
import torch
import torch.nn as nn

torch.manual_seed(0)


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, padding=1)
        self.fc = nn.Linear(64, 2)

    def forward(self, x):
        x = torch.relu(self.conv(x))
        x = x.view(-1, 16)
        return self.fc(x)


net = Small()
images = torch.randn(3, 1, 4, 4)
labels = torch.tensor([0, 1, 1])
loss = nn.functional.cross_entropy(net(images), labels)
loss.backward()
