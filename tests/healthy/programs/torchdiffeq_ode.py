import torch
from torch import nn
from torchdiffeq import odeint_adjoint

torch.manual_seed(0)


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))

    def forward(self, t, y):
        return self.net(y)


field = Field()
opt = torch.optim.Adam(field.parameters(), lr=1e-2)
t = torch.linspace(0, 1, 4)
start = torch.tensor([[1.0, 0.0]])
goal = torch.stack([torch.cos(t), torch.sin(t)], 1)[:, None]
for step in range(3):
    path = odeint_adjoint(field, start, t, method="rk4")
    loss = (path - goal).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
