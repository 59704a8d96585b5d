# engine: torch
# cause: the network ends with a sigmoid, and the loss takes logits
# line: nn.Sigmoid(),
# line: loss = criterion(net(x), y)
# must: sigmoid
# must: twice|already|logits
# never: diverges|vanishes
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(
    nn.Conv2d(1, 4, 3),
    nn.ReLU(),
    nn.Flatten(),
    nn.Linear(64, 5),
    nn.Sigmoid(),
)
criterion = nn.BCEWithLogitsLoss()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(3):
    x, y = torch.randn(8, 1, 6, 6), torch.randint(0, 2, (8, 5)).float()
    loss = criterion(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
