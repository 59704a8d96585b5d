import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Embedding(20, 8), nn.Linear(8, 20))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    tokens = torch.randint(0, 20, (8, 6))
    labels = torch.randint(1, 20, (8, 6))
    labels[:, 2:] = 0
    loss = F.cross_entropy(net(tokens).flatten(0, 1), labels.flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
