"""Solve u' = -u, u(0) = 1 with a network and the gradient of its output."""
import torch
import torch.nn as nn
import matplotlib.pyplot as plt


class Sine(nn.Module):
    def forward(self, x):
        return torch.sin(x)


torch.manual_seed(123)
net = nn.Sequential(nn.Linear(1, 16), Sine(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
t = torch.linspace(0, 2, 21).view(-1, 1).requires_grad_(True)
history = []
for i in range(101):
    u = net(t)
    du, = torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)
    residual = ((du + u) ** 2).mean()
    boundary = (net(torch.zeros(1, 1)) - 1).pow(2).squeeze()
    loss = residual + boundary
    opt.zero_grad()
    loss.backward()
    opt.step()
    history.append(loss.item())
    if i % 25 == 0:
        print(f"{i:4d} loss={loss.item():.4f} residual={residual.item():.4f}")
fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3))
left.semilogy(history)
right.plot(t.detach(), net(t).detach(), label='net')
right.plot(t.detach(), torch.exp(-t).detach(), '--', label='exact')
right.legend()
fig.savefig('pinn.png', dpi=100)
print('error %.3f' % (net(t) - torch.exp(-t)).abs().max())
