import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
x = torch.tensor([2.0], requires_grad=True)
opt = torch.optim.SGD([x], lr=0.01)
for step in range(20):
    loss = (x ** 4 - 3 * x ** 2 + x).sum()
    opt.zero_grad(); loss.backward(); opt.step()
