# Gradients are clipped after the step that they should not have made.
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(6):
    loss = 100 * nn.functional.mse_loss(net(torch.randn(8, 4)), torch.randn(8, 1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    nn.utils.clip_grad_norm_(net.parameters(), 0.1)
