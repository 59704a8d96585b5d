import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(8, 4); opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(5):
    x = torch.randn(32, 8); y = x[:, :4].argmax(1)
    loss = F.cross_entropy(F.log_softmax(net(x), 1), y)
    opt.zero_grad(); loss.backward(); opt.step()
