# What Module refuses, word for word
import torch
import torch.nn as nn


def attempt(f):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)


def assign(module, name, value):
    setattr(module, name, value)
    return getattr(module, name)


class NoInit(nn.Module):
    def __init__(self, value):
        self.value = value


class Empty(nn.Module):
    pass


attempt(lambda: NoInit(nn.Parameter(torch.ones(1))))
attempt(lambda: NoInit(nn.Linear(1, 1)))
attempt(lambda: Empty()(1))
attempt(lambda: Empty(3))
attempt(lambda: Empty(a=3))
m = Empty()
for name in ("a.b", "", 3, "train"):
    attempt(lambda name=name: m.register_parameter(name, None))
    attempt(lambda name=name: m.register_buffer(name, None))
    attempt(lambda name=name: m.add_module(name, nn.ReLU()))
attempt(lambda: m.register_parameter("x", torch.ones(1)))
attempt(lambda: m.register_parameter("x", nn.Linear(1, 1)))
attempt(lambda: m.register_buffer("b", 3))
attempt(lambda: m.add_module("l", 3))
m.child = nn.Linear(1, 1)
attempt(lambda: assign(m, "child", 3))
attempt(lambda: assign(m, "child", nn.Parameter(torch.ones(1))))
print(m)
attempt(lambda: assign(m, "child", nn.ReLU()))
attempt(lambda: assign(m, "child", "x"))
attempt(lambda: assign(m, "child", torch.ones(1) * 2))
attempt(lambda: assign(m, "child", None))
print(m._parameters)
m.register_buffer("buf", torch.ones(2))
attempt(lambda: assign(m, "buf", 3))
attempt(lambda: assign(m, "buf", torch.zeros(3)))
m.register_buffer("temporary", torch.ones(1), persistent=False)
print(list(m.state_dict()), [name for name, _ in m.named_buffers()])
m.own = nn.Buffer(torch.ones(1))
print(list(m.state_dict()))
del m.buf
attempt(lambda: m.buf)
del m.temporary
attempt(lambda: delattr(m, "nothing"))
net = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU(), nn.Linear(2, 1)))
print(net.get_submodule("1.1"), net.get_parameter("1.1.bias").shape, net.get_submodule("") is net)
attempt(lambda: net.get_submodule("1.5"))
attempt(lambda: net.get_submodule("1.1.weight"))
attempt(lambda: net.get_parameter("1.1.in_features"))
attempt(lambda: net.get_parameter("1.1.nothing"))
attempt(lambda: net.get_buffer("1.1.weight"))
attempt(lambda: net.set_submodule("", nn.ReLU()))
attempt(lambda: net.set_submodule("1.9", nn.ReLU(), strict=True))
net.set_submodule("1.0", nn.Tanh())
print(net)
attempt(lambda: net.train(1))
attempt(lambda: net.to(torch.int64))
x2, x3, x4 = torch.ones(3, 4), torch.ones(2, 3, 4), torch.ones(2, 2, 4, 5)
attempt(lambda: nn.Conv2d(3, 4, 3, groups=2))
attempt(lambda: nn.Conv2d(4, 3, 3, groups=2))
attempt(lambda: nn.Conv2d(4, 4, 3, padding="same", stride=2))
attempt(lambda: nn.Conv2d(4, 4, 3, groups=0))
attempt(lambda: nn.ConvTranspose2d(1, 1, 1, padding_mode="reflect"))
attempt(lambda: nn.ConvTranspose1d(3, 2, 3, stride=2)(x3, output_size=[20]))
attempt(lambda: nn.ConvTranspose1d(3, 2, 3, stride=2)(x3, output_size=[1, 2, 3, 4]))
attempt(lambda: nn.ConvTranspose1d(3, 2, 3, stride=2)(x3, output_size=[10]).shape)
attempt(lambda: nn.Dropout(2))
attempt(lambda: nn.BatchNorm2d(2)(x2))
attempt(lambda: nn.BatchNorm1d(2)(x4))
attempt(lambda: nn.InstanceNorm1d(2, affine=True)(x3))
attempt(lambda: nn.GroupNorm(2, 3))
attempt(lambda: nn.Embedding(3, 2, padding_idx=5))
attempt(lambda: nn.TripletMarginLoss(margin=0))
attempt(lambda: nn.HuberLoss(delta="a"))
attempt(lambda: nn.MultiMarginLoss(p=3))
attempt(lambda: nn.Hardtanh(2, 1))
attempt(lambda: nn.Softmax2d()(x2))
attempt(lambda: nn.RNN(2, 0))
attempt(lambda: nn.RNN(2.0, 1))
attempt(lambda: nn.RNN(2, 3, bias=1))
attempt(lambda: nn.LSTM(2, 3, proj_size=3))
attempt(lambda: nn.RNN(2, 3, dropout=2))
attempt(lambda: nn.RNN(2, 3, nonlinearity="x"))
attempt(lambda: nn.GRU(2, 3, proj_size=1))
attempt(lambda: nn.RNN(4, 3)(x4))
attempt(lambda: nn.GRU(4, 3)(x4))
attempt(lambda: nn.RNN(5, 3)(x3))
attempt(lambda: nn.RNN(4, 3)(x3, torch.ones(1, 2, 3)))
attempt(lambda: nn.LSTM(4, 3)(x3, (torch.ones(1, 3, 3), torch.ones(1, 3, 2))))
attempt(lambda: nn.LSTM(4, 3)(x3, (torch.ones(3, 3), torch.ones(3, 2))))
attempt(lambda: nn.RNN(4, 3)(x3, torch.ones(2, 3)))
attempt(lambda: nn.RNN(4, 3)(x2, torch.ones(1, 2, 3)))
attempt(lambda: nn.RNN(4, 3)(x3.double()))
attempt(lambda: nn.RNNCell(4, 3)(x3))
attempt(lambda: nn.RNNCell(4, 3)(torch.ones(2, 3)))
attempt(lambda: nn.RNNCell(4, 3)(x2, torch.ones(2, 3)))
attempt(lambda: nn.RNNCell(4, 3)(x2, torch.ones(3, 2)))
attempt(lambda: nn.Unflatten(1, 3))
attempt(lambda: nn.Unflatten(1, (2.0,)))
