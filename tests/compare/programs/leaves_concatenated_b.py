import torch
import torch.nn as nn

torch.manual_seed(1)
l1 = nn.Linear(6, 4)
l2 = nn.Linear(6, 4)
W = torch.cat([l1.weight.detach(), l2.weight.detach()]).requires_grad_()
bias = torch.cat([l1.bias.detach(), l2.bias.detach()]).requires_grad_()
x = torch.randn(9, 6)
y = torch.randn(9, 4)
opt = torch.optim.SGD([W, bias], lr=0.1)
for i in range(3):
    h = x @ W.t() + bias
    loss = (torch.tanh(h[:, :4]) * torch.sigmoid(h[:, 4:]) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("loss", loss.item())
