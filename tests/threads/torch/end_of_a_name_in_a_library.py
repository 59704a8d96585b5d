# engine: torch
# ask: fc.weight
# line: return self.head(self.fc(x).detach())
# must: model\.module\.fc\.weight\.grad is None
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.fc(x).detach())


model = nn.DataParallel(Net())
loss = model(torch.ones(3, 4)).pow(2).mean()
loss.backward()
