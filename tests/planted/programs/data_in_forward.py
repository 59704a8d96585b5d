# engine: gradtrace
# ask: net.a.weight
# line: h = torch.relu(self.a(x).data)
# must: .data
# must: history|without
# never: smaller lr|requires_grad_
import torch
import torch.nn as nn

torch.manual_seed(0)


class TwoStage(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3)
        self.b = nn.Linear(3, 1)

    def forward(self, x):
        h = torch.relu(self.a(x).data)
        return self.b(h)


net = TwoStage()
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for _ in range(3):
    x = torch.randn(7, 3)
    loss = (net(x) - x.mean(1, keepdim=True)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(net.a.weight.grad)
