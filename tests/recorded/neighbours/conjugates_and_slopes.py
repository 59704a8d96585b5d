import torch
import torch.nn.functional as F


def show(*calls):
    for call in calls:
        try:
            print(call())
        except Exception as error:
            print(type(error).__name__, error)


def gradient(activation):
    x = torch.tensor([-1.0, 0.0, 2.0], requires_grad=True)
    y = x * 1
    out = activation(y)
    print(out)
    out.sum().backward()
    return x.grad


a, m = torch.ones(2, requires_grad=True), torch.arange(6.0).view(2, 3)
show(
    lambda: (a.conj() is a, torch.conj(m) is m, m.conj_physical() is m, torch.real(m) is m, m.resolve_conj() is m),
    lambda: m.adjoint(),
    lambda: torch.adjoint(m.requires_grad_()),
    lambda: a.adjoint(),
)
show(
    lambda: gradient(lambda y: F.leaky_relu(y, -0.2, inplace=True)),
    lambda: gradient(lambda y: F.leaky_relu_(y, 0.2)),
    lambda: gradient(lambda y: F.elu(y, -1.0, inplace=True)),
    lambda: gradient(lambda y: F.celu(y, -1.0, inplace=True)),
    lambda: gradient(lambda y: F.rrelu(y, -0.2, -0.1, inplace=True)),
    lambda: gradient(lambda y: F.leaky_relu(y, -0.2)),
)
c = torch.empty(2)
b = torch.full((2,), 3.0)
show(
    lambda: torch.add(b, b, out=c),
    lambda: torch.all(torch.tensor([[True, False]]), 1, out=torch.empty(1, dtype=torch.bool)),
    lambda: torch.matmul(torch.ones(2, 2), b, out=c),
    lambda: torch.add(b, b, out=torch.empty(2, dtype=torch.int)),
    lambda: torch.mul(a, b, out=c),
)
empty = torch.empty(0)
show(*[lambda loss=loss: loss(empty, empty) for loss in (F.mse_loss, F.l1_loss, F.huber_loss, F.soft_margin_loss)])
