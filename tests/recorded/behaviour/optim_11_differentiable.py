"""Differentiable steps of optimisers: gradients and second derivatives through a step, as in meta-learning."""

import torch
import torch.nn.functional as F


def show(*calls):
    for call in calls:
        try:
            print(call())
        except Exception as error:
            print(type(error).__name__, error)


def meta(kind, hyper, steps=2, **options):
    torch.manual_seed(1)
    p = torch.rand(3, dtype=torch.float64, requires_grad=True)
    q = p.clone()
    hyper = {k: torch.tensor(v, dtype=torch.float64, requires_grad=True) for k, v in hyper.items()}
    given = {k: v.clone() for k, v in hyper.items()}
    if "beta1" in given:
        given["betas"] = (given.pop("beta1"), given.pop("beta2"))
    opt = kind([q], differentiable=True, **given, **options)
    x, y = torch.tensor([1.0], dtype=torch.float64), torch.tensor([2.0], dtype=torch.float64)
    for _ in range(steps):
        loss = F.mse_loss(x * torch.sum(q), y.squeeze() + 0 * y)
        loss.backward(inputs=(q,), create_graph=True)
        opt.step()
        opt.zero_grad()
    grads = torch.autograd.grad(((q.sum() - 2) ** 2), [p, *hyper.values()], create_graph=True)
    print(kind.__name__, list(hyper), *[[round(x, 5) for x in g.flatten().tolist()] for g in grads])
    print([round(x, 4) for x in torch.autograd.grad(grads[-1], p)[0].tolist()])


for kind in (torch.optim.Adam, torch.optim.AdamW):
    meta(kind, dict(lr=0.001))
    meta(kind, dict(lr=[0.001]), 1, amsgrad=True)
    meta(kind, dict(weight_decay=0.999))
    meta(kind, dict(beta1=0.9, beta2=0.999))
    meta(kind, dict(lr=0.001, weight_decay=0.999, beta1=0.9, beta2=0.999))
meta(torch.optim.SGD, dict(lr=0.001))
meta(torch.optim.SGD, dict(weight_decay=0.9))
meta(torch.optim.SGD, dict(weight_decay=0.9, lr=0.001))
meta(torch.optim.SGD, dict(lr=0.1), steps=1, momentum=0.9)
for kind, options in (
    ("SGD", dict(lr=0.1)),
    ("SGD", dict(lr=0.1, momentum=0.9)),
    ("Adam", dict(lr=0.1)),
    ("AdamW", dict(lr=0.1)),
    ("RMSprop", dict(lr=0.1)),
    ("NAdam", dict(lr=0.1)),
    ("RAdam", dict(lr=0.1)),
    ("Adagrad", dict(lr=0.1)),
    ("Adadelta", dict()),
    ("ASGD", dict(lr=0.1)),
    ("Adamax", dict(lr=0.1)),
):
    theta = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64, requires_grad=True)
    w = theta.clone()
    x = theta * 1.0
    opt = getattr(torch.optim, kind)([w], differentiable=True, **options)
    (w.grad,) = torch.autograd.grad((x**4).sum(), x, create_graph=True)
    opt.step()
    outer = ((w - 1) ** 2).sum()
    (g,) = torch.autograd.grad(outer, theta, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), theta)
    print(kind, [round(v, 5) for v in g.tolist()], [round(v, 4) for v in h.tolist()], w.grad_fn is not None)
w = torch.ones(2, requires_grad=True)
w.grad = torch.ones(2)
for kind in ("SGD", "Adam", "AdamW", "Adagrad", "Adadelta", "RMSprop", "Rprop", "Adamax", "NAdam", "RAdam", "ASGD"):
    show(lambda: getattr(torch.optim, kind)([w], differentiable=True).step())
show(
    lambda: torch.optim.SGD([w * 2]),
    lambda: torch.optim.SGD([w * 2], lr=0.1, differentiable=True).step(),
    lambda: torch.optim.Adam([w], fused=True, differentiable=True),
    lambda: torch.optim.SGD([w], fused=True, differentiable=True),
)
w = torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w], lr=torch.tensor(0.1, requires_grad=True))
w.sum().backward()
opt.step()
print(w, w.is_leaf)
v = w.clone()
opt = torch.optim.SGD([v], lr=0.1, differentiable=True)
v.grad = torch.ones(2)
with torch.no_grad():
    opt.step()
    print(torch.is_grad_enabled())
print(v, opt)
opt = torch.optim.SGD([w], lr=0.1)
seen = []
opt.register_step_pre_hook(lambda *a: seen.append(torch.is_grad_enabled()))


def closure():
    seen.append(torch.is_grad_enabled())
    return w.sum()


opt.step(closure)
print(seen)
