# engine: torch
# must: Checked:
# must: loss 7.*-> 1.*e-10
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(3, 1)
x = torch.randn(20, 3)
y = x.sum(1, keepdim=True)
def objective():
    return (net(x) - y).pow(2).mean()
adam = torch.optim.Adam(net.parameters(), lr=1e-3)
for _ in range(3):
    adam.zero_grad()
    loss = objective()
    loss.backward()
    adam.step()
lbfgs = torch.optim.LBFGS(net.parameters(), max_iter=5)
def closure():
    lbfgs.zero_grad()
    loss = objective()
    loss.backward()
    return loss
for _ in range(2):
    print(lbfgs.step(closure).item())
print(objective().item())
