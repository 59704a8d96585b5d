import torch
import torch.nn as nn

torch.manual_seed(4)
net = nn.Sequential(nn.Linear(5, 7), nn.ELU(), nn.Linear(7, 1))
x = torch.randn(14, 5)
y = x.prod(dim=1, keepdim=True)
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, nesterov=True)
for step in range(4):
    opt.zero_grad()
    loss = nn.functional.huber_loss(net(x), y, delta=0.5)
    loss.backward()
    opt.step()
    print("loss", loss.item())
