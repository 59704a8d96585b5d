# engine: gradtrace
# line: self.gains = {"low": nn.Parameter(torch.ones(1)), "high": nn.Parameter(torch.ones(1))}
# must: ParameterDict
# must: optimi[sz]er|parameters
# never: smaller lr|zero_grad
import torch
import torch.nn as nn

torch.manual_seed(0)


class Equalizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.gains = {"low": nn.Parameter(torch.ones(1)), "high": nn.Parameter(torch.ones(1))}
        self.offset = nn.Parameter(torch.zeros(1))

    def forward(self, low, high):
        return self.gains["low"] * low + self.gains["high"] * high + self.offset


eq = Equalizer()
opt = torch.optim.SGD(eq.parameters(), lr=0.1)
low, high = torch.randn(20), torch.randn(20)
target = 0.2 * low + 2.5 * high
for step in range(5):
    loss = (eq(low, high) - target).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
