# engine: torch
# cause: the custom swish's backward forgets the term x * s * (1 - s)
# line: return grad * s
# must: Swish
# must: finite difference|disagree|differs|numerical|wrong
import torch
import torch.nn as nn

torch.manual_seed(0)


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad * s


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 6, dtype=torch.float64), nn.Linear(6, 1, dtype=torch.float64)

    def forward(self, x):
        return self.b(Swish.apply(self.a(x)))


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(5, 4, dtype=torch.float64), torch.randn(5, 1, dtype=torch.float64)
loss = (net(x) - y).pow(2).mean()
optimizer.zero_grad()
loss.backward()
optimizer.step()
