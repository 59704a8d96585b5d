# Lazy layers: sizes and initial values come with the first input
import torch, torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(
    nn.LazyConv2d(4, 3, padding=1),
    nn.LazyBatchNorm2d(),
    nn.ReLU(),
    nn.Flatten(),
    nn.LazyLinear(5, bias=False),
    nn.ReLU(),
    nn.LazyLinear(2),
)
print(net)
print(net[4].weight, isinstance(net[0].weight, nn.parameter.UninitializedParameter))
out = net(torch.randn(2, 3, 4, 4))
print(net, out, [tuple(p.shape) for p in net.parameters()])
opt = torch.optim.SGD(net.parameters(), lr=0.1)
out.sum().backward()
opt.step()
print(net(torch.randn(2, 3, 4, 4)))
print(type(net[0]), nn.LazyConv1d(3, 2)(torch.ones(1, 2, 4)).shape)


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.LazyLinear(3)

    def forward(self, x):
        return self.l(x).relu()


m = M()
print(m(torch.ones(4)), m.l.in_features)
