# engine: torch
# cause: the sqrt of 0 has an infinite derivative, and where multiplies it by 0, which gives nan
# line: root = torch.sqrt(squared)
# must: sqrt
# must: nan|not finite
# must: where|0 ?(\*|times|x|·) ?inf|inf(inite)?
# from: https://github.com/pytorch/pytorch/issues/16317
import torch
import torch.nn as nn

torch.manual_seed(0)


class RadialNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(6, 3, bias=False)
        self.readout = nn.Linear(1, 1)

    def forward(self, x):
        squared = self.project(x).pow(2).sum(-1, keepdim=True)
        root = torch.sqrt(squared)
        radius = torch.where(squared > 0, root, torch.zeros_like(root))
        return self.readout(radius)


net = RadialNet()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
x = torch.randn(8, 6)
# an atom at the origin
x[2] = 0
for step in range(2):
    loss = net(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
