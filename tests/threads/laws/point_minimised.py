import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
x = torch.ones(3, 2, requires_grad=True)
opt = torch.optim.SGD([x], lr=0.1)
for step in range(5):
    loss = (x ** 2).sum()
    opt.zero_grad(); loss.backward(); opt.step()
