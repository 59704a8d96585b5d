# engine: torch
# cause: the second derivative is taken of the first without a graph, so the residual has no history
# line: du = torch.autograd.grad(u.sum(), x)[0]
# must: create_graph
# must: du|first
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
x = torch.linspace(0, 1, 32).unsqueeze(1).requires_grad_()
for epoch in range(2):
    u = net(x)
    du = torch.autograd.grad(u.sum(), x)[0]
    d2u = torch.autograd.grad(du.sum(), x, create_graph=True)[0]
    residual = d2u + torch.sin(x)
    loss = residual.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
