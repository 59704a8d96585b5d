import torch
import torch.nn as nn

torch.manual_seed(1)
l1 = nn.Linear(6, 4)
l2 = nn.Linear(6, 4)
x = torch.randn(9, 6)
y = torch.randn(9, 4)
opt = torch.optim.SGD([*l1.parameters(), *l2.parameters()], lr=0.1)
for i in range(3):
    loss = (torch.tanh(l1(x)) * torch.sigmoid(l2(x)) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("loss", loss.item())
