import torch
import torch.nn.functional as F

torch.manual_seed(5)


def init():
    return [torch.randn(1, 10).requires_grad_(), torch.zeros(10, requires_grad=True),
            (torch.randn(10, 1) / 10 ** .5).requires_grad_(), torch.zeros(1, requires_grad=True)]


def net(x, params):
    w1, b1, w2, b2 = params
    return torch.tanh(x @ w1 + b1) @ w2 + b2


def task():
    amplitude, phase = torch.rand(1) * 4 + 0.1, torch.rand(1) * 3.14
    x = torch.rand(10, 1) * 10 - 5
    return (x[:5], amplitude * torch.sin(x[:5] + phase)), (x[5:], amplitude * torch.sin(x[5:] + phase))


params = init()
meta = torch.optim.Adam(params, lr=1e-2)
for it in range(1, 21):
    meta.zero_grad()
    total = 0.0
    for _ in range(3):
        (xs, ys), (xq, yq) = task()
        grads = torch.autograd.grad(F.mse_loss(net(xs, params), ys), params, create_graph=True)
        fast = [p - 0.01 * g for p, g in zip(params, grads)]
        loss = F.mse_loss(net(xq, fast), yq)
        loss.backward()
        total += loss.item()
    meta.step()
    if it % 5 == 0:
        print(f'{it:3d} {total / 3:.4f}')
