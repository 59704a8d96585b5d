"""What a function under a transform may do to its arguments, and with random numbers and custom Functions."""
import torch
from torch import nn
from torch.func import grad, vmap

x = torch.tensor([1.0, 2.0, 3.0])
rows = torch.tensor([[1.0, 2.0], [3.0, 4.0]])


def attempt(f):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)


b = torch.ones(3)


def change_argument(t, u):
    u.add_(1)
    return (t * u).sum()


print(grad(change_argument)(x, b), b)
print(grad(lambda t, u, k: (t * u["a"] * k).sum())(x, {"a": b}, 3.0))
for change in (lambda c: c.requires_grad_(), lambda c: setattr(c, "requires_grad", True)):
    captured = torch.zeros(3)

    def f(t):
        change(captured)
        return t.sum()
    try:
        grad(f)(x)
        print("changed", captured)
    except RuntimeError as e:
        print(e)
print(grad(lambda t: torch.ones(2, requires_grad=True).sum() * t)(torch.tensor(1.0)).item())


def written(t):
    y = torch.zeros(3)
    y[1] = t[0] * t[1]
    y[2:].add_(t[2])
    return (y**2).sum() + t.sum()


z = x.clone()
print(grad(written)(z), z)

drawing = [lambda t: torch.rand(5), lambda t: torch.randn_like(t), lambda t: nn.functional.dropout(t + 1),
           lambda t: t.clone().normal_(), lambda t: torch.randperm(100)]
for randomness in ("same", "different"):
    for f in drawing:
        r = vmap(f, randomness=randomness)(torch.zeros(2, 30))
        print(r.shape, torch.equal(r[0], r[1]))

norm = nn.BatchNorm1d(2)
print(vmap(norm.eval())(torch.stack([rows, rows])).detach())


class Old(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * x

    @staticmethod
    def backward(ctx, g):
        return g


class New(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, g):
        return g * 3 * ctx.saved_tensors[0]


for function in (Old, New):
    attempt(lambda: grad(lambda t: function.apply(t).sum())(rows))
attempt(lambda: vmap(New.apply)(rows))
attempt(lambda: vmap(New.apply, in_dims=1)(rows))
attempt(lambda: vmap(grad(lambda t: New.apply(t).sum()))(rows))
w = x.clone().requires_grad_()
y = w**2
print(vmap(lambda v: torch.autograd.grad(y, w, v, retain_graph=True)[0])(torch.eye(3)))
print(vmap(grad(lambda t: torch.autograd.grad((t**3).sum(), t, create_graph=True)[0].sum()))(rows))
