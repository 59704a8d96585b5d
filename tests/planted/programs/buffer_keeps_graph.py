# engine: gradtrace
# line: self.running = 0.9 * self.running + 0.1 * h.mean(0)
# must: running
# must: detach
# never: smaller lr
import torch
import torch.nn as nn

torch.manual_seed(0)


class Centered(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 4)
        self.out = nn.Linear(4, 1)
        self.register_buffer("running", torch.zeros(4))

    def forward(self, x):
        h = torch.tanh(self.lin(x))
        self.running = 0.9 * self.running + 0.1 * h.mean(0)
        return self.out(h - self.running)


net = Centered()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(4):
    x = torch.randn(6, 3)
    loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
