"""Numbers of float32 to their last digit: fused multiply-adds, functions that are exact but for the rounding."""
import torch
import torch.nn.functional as F


def grid(*shape):
    n = 1
    for size in shape:
        n *= size
    return ((((torch.arange(n) * 7 % 11 - 5).float() * 0.3 + 0.1) * 0.7)).reshape(shape)


a, b, c = grid(2, 5), grid(2, 5) * 1.7 - 0.3, grid(2, 5) + 2.1
for t in (a.add(b, alpha=0.3), torch.sub(a, b, alpha=0.7), a.addcmul(b, c, value=0.3), a.addcdiv(b, c, value=0.3),
          a.lerp(b, 0.3), a.lerp(b, 0.8), a.clone().add_(b, alpha=-0.1), torch.add(a[0], b, alpha=2.5)):
    print(t.flatten().tolist())
for dtype in (torch.float32, torch.float64):
    for name, options in (("SGD", {"lr": 0.01}), ("SGD", {"lr": 0.01, "momentum": 0.9, "nesterov": True}),
                          ("SGD", {"lr": 0.01, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
                          ("Rprop", {"lr": 0.1}), ("ASGD", {"lr": 0.01})):
        p = grid(2, 3).to(dtype).requires_grad_()
        q = torch.tensor(0.3, dtype=dtype, requires_grad=True)
        optimizer = getattr(torch.optim, name)([p, q], **options)
        for _ in range(5):
            p.grad, q.grad = p.detach() * 1.7 - 0.3, q.detach() * 1.1
            optimizer.step()
        print(name, dtype, p.flatten().tolist(), q.item())
w = torch.tensor([-1.0, 1.5], requires_grad=True)
optimizer = torch.optim.LBFGS([w], lr=0.5, max_iter=3)


def closure():
    optimizer.zero_grad()
    loss = (1 - w[0]) ** 2 + 100 * (w[1] - w[0] ** 2) ** 2
    loss.backward()
    return loss


for _ in range(5):
    print(optimizer.step(closure).item(), w.tolist())
x = torch.tensor([0.3, -1.2, 2.5, 0.7], requires_grad=True)
for f in (torch.exp, torch.tanh, torch.sigmoid, torch.expm1, F.elu, torch.log1p, lambda t: t ** 3,
          lambda t: 1 / t, lambda t: 2 ** t, lambda t: t.abs().log()):
    y = f(x)
    print(y.tolist(), torch.autograd.grad(y.sum(), x)[0].tolist())
