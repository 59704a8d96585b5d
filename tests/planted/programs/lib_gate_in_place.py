# engine: torch
# cause: the gate's result, which tanh saved, is changed in place
# line: gate *= 0.5
# must: in place
# must: tanh
# never: optimizer|diverges
# right: gate *= 0.5 ==> gate = gate * 0.5
import torch
from torch import nn

torch.manual_seed(0)


class Gated(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.value, self.gate = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        gate = torch.tanh(self.gate(x))
        gate *= 0.5
        return x + self.value(x) * gate


net = nn.Sequential(Gated(), Gated(), nn.Linear(8, 1))
opt = torch.optim.RMSprop(net.parameters(), lr=1e-3)
loss = net(torch.randn(5, 8)).pow(2).mean()
opt.zero_grad()
loss.backward()
opt.step()
