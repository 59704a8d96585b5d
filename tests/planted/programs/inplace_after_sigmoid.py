# engine: gradtrace
# line: gate += 1e-3
# must: gate
# must: in place|in-place
# must: gate \+ |clone|new tensor
# never: smaller lr|retain_graph
import torch
import torch.nn as nn

torch.manual_seed(0)


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.gate = nn.Linear(4, 4)

    def forward(self, x):
        gate = torch.sigmoid(self.gate(x))
        gate += 1e-3
        return gate * self.lin(x)


net = Gated()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(3, 4)
loss = net(x).pow(2).mean()
opt.zero_grad()
loss.backward()
opt.step()
