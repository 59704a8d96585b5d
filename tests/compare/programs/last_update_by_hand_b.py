import torch
import torch.nn as nn

torch.manual_seed(1)
l1 = nn.Linear(6, 4)
l2 = nn.Linear(6, 4)
x = torch.randn(9, 6)
y = torch.randn(9, 4)
for i in range(1):
    loss = (torch.tanh(l1(x)) * torch.sigmoid(l2(x)) - y).pow(2).mean()
    ps = [*l1.parameters(), *l2.parameters()]
    loss.backward()
    with torch.no_grad():
        for p in ps:
            p -= (0.5) * p.grad
            p.grad = None
    print("loss", loss.item())
