"""Older class style: methods of the library read from their class and called with `self`, and Tensor.new."""

import torch
from torch import nn
from torch.optim.optimizer import Optimizer, required
from torch.utils.data import Dataset

torch.manual_seed(0)


class Cloneable(nn.Module):
    def __init__(self):
        nn.Module.__init__(self)

    def count(self):
        return sum(p.numel() for p in nn.Module.parameters(self))


class Doubled(nn.Linear):
    def __init__(self, size_in, size_out):
        nn.Linear.__init__(self, size_in, size_out)

    def forward(self, x):
        return nn.Linear.forward(self, x) * 2


class Net(Cloneable):
    def __init__(self, size):
        Cloneable.__init__(self)
        self.first = Doubled(3, size)
        self.last = nn.Linear(size, 1)

    def forward(self, x):
        return self.last(torch.tanh(self.first(x)))

    def clone(self):
        other = Net(self.first.out_features)
        other.load_state_dict(self.state_dict())
        return other


class Points(Dataset):
    def __init__(self, count):
        Dataset.__init__(self)
        self.x = torch.randn(count, 3)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.x[i].sum(0, keepdim=True)


class PlainDescent(Optimizer):
    def __init__(self, params, lr=required):
        Optimizer.__init__(self, params, {"lr": lr})

    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.data.add_(p.grad.data, alpha=-group["lr"])


class Counted(torch.optim.SGD):
    steps = 0

    def step(self, closure=None):
        self.steps += 1
        return torch.optim.SGD.step(self, closure)


meta = Net(4)
print(meta, meta.count())
for make in (PlainDescent, Counted):
    net = meta.clone()
    optimizer = make(net.parameters(), lr=0.1)
    for x, y in torch.utils.data.DataLoader(Points(8), batch_size=4):
        loss = nn.functional.mse_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(make.__name__, f"{loss.item():.4f}")
print(optimizer.steps)
try:
    PlainDescent(meta.parameters())
except ValueError as error:
    print(error)
for call in (lambda: nn.Linear.forward(meta, torch.ones(1, 3)), lambda: nn.Linear.forward(meta.last, meta)):
    try:
        call()
    except (TypeError, AttributeError, RuntimeError):
        print("refused")
weight = meta.first.weight
u = weight.data.new(weight.size(0)).normal_(0, 1)
print(u.dtype, u.shape, weight.new([1, 2]), weight.double().new(2, 1).fill_(3), torch.tensor([1]).new(2).zero_())
