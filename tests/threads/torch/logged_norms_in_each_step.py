# engine: torch
# must: net.b
# never: only through .*item|Python number|left the graph
import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        return self.a(x)


net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
history = []
for step in range(3):
    loss = net(torch.randn(8, 4)).pow(2).mean()
    history.append({n: p.detach().abs().mean().item() for n, p in net.named_parameters()})
    opt.zero_grad()
    loss.backward()
    opt.step()
