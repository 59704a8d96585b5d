# engine: gradtrace
# line: self.layers = [nn.Linear(8, 8) for _ in range(2)]
# must: ModuleList
# must: optimi[sz]er|parameters
# never: smaller lr|zero_grad
import torch
import torch.nn as nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(3, 8)
        self.layers = [nn.Linear(8, 8) for _ in range(2)]
        self.out = nn.Linear(8, 1)

    def forward(self, x):
        x = torch.relu(self.inp(x))
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.out(x)


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=0.01)
x = torch.randn(10, 3)
y = x.prod(1, keepdim=True)
for epoch in range(4):
    loss = ((net(x) - y) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item())
print(sum(p.numel() for p in net.parameters()))
