"""What a function under a transform may do to tensors around it, its arguments, random numbers and custom Functions."""
import torch
from torch import nn
from torch.func import functional_call, grad, jacfwd, jacrev, vjp, vmap

x = torch.tensor([1.0, 2.0, 3.0])
rows = torch.tensor([[1.0, 2.0], [3.0, 4.0]])


def attempt(f):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)


def show(t, u):
    print(t, u, u is b)
    return (t * u).sum()


b = torch.ones(3)
print(grad(show)(x, b), vjp(show, x, b)[0], jacrev(show, argnums=1)(x, b))


def change_argument(t, u):
    u.add_(1)
    return (t * u).sum()


print(grad(change_argument)(x, b), b)
print(grad(lambda t, u, k: (t * u["a"] * k).sum())(x, {"a": b}, 3.0))
changes = [
    lambda c: c.add_(1), lambda c: c.mul_(2), lambda c: c.fill_(3), lambda c: c.zero_(), lambda c: c.__setitem__(0, 1.0),
    lambda c: c.copy_(x), lambda c: c[0].add_(1), lambda c: c.exp_(), lambda c: c.unsqueeze_(0), lambda c: c.pow_(2),
    lambda c: c.requires_grad_(), lambda c: setattr(c, "requires_grad", True),
]
for change in changes:
    for transform in (grad, jacfwd, vmap, lambda f: vmap(grad(f))):
        captured = torch.zeros(3)

        def f(t):
            change(captured)
            return t.sum()
        try:
            transform(f)(x if transform in (grad, jacfwd) else x[:, None])
            print("changed", captured)
        except RuntimeError as e:
            print(e)
print(grad(lambda t: torch.ones(2, requires_grad=True).sum() * t)(torch.tensor(1.0)))


def written(t):
    y = torch.zeros(3)
    y[1] = t[0] * t[1]
    y[2:].add_(t[2])
    return (y**2).sum() + t.sum()


z = x.clone()
print(grad(written)(z), z)

same = [lambda t: torch.rand(5), lambda t: torch.randn_like(t), lambda t: nn.functional.dropout(t + 1),
        lambda t: t.clone().normal_(), lambda t: torch.randperm(100), lambda t: torch.bernoulli(t + 0.5)]
for randomness in ("same", "different"):
    for f in same:
        try:
            r = vmap(f, randomness=randomness)(torch.zeros(2, 30))
            print(r.shape, torch.equal(r[0], r[1]))
        except RuntimeError as e:
            print(e)
attempt(lambda: vmap(lambda t: torch.zeros(4).normal_(), randomness="different")(x))

norm = nn.BatchNorm1d(2)
params = dict(norm.named_parameters())
attempt(lambda: grad(lambda p: functional_call(norm, p, (rows,)).pow(2).sum())(params))
attempt(lambda: vmap(norm)(torch.stack([rows, rows])))
print(vmap(norm.eval())(torch.stack([rows, rows])).detach())


class Old(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * x

    @staticmethod
    def backward(ctx, g):
        return g


class New(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, g):
        return g * 3 * ctx.saved_tensors[0]


class Generated(New):
    generate_vmap_rule = True


class Ruled(New):
    @staticmethod
    def vmap(info, in_dims, x):
        print(info, in_dims, x.shape)
        return x * x, in_dims[0]


for function in (Old, New, Generated, Ruled):
    attempt(lambda: grad(lambda t: function.apply(t).sum())(rows))
    attempt(lambda: vmap(function.apply)(rows))
    attempt(lambda: vmap(function.apply, in_dims=1)(rows))
attempt(lambda: vmap(grad(lambda t: New.apply(t).sum()))(rows))
attempt(lambda: vmap(grad(lambda t: Generated.apply(t).sum()))(rows))
w = x.clone().requires_grad_()
y = w**2
print(vmap(lambda v: torch.autograd.grad(y, w, v, retain_graph=True)[0])(torch.eye(3)))
attempt(lambda: vmap(lambda t: torch.autograd.grad((t * 2).sum(), t)[0])(w.expand(2, 3)))
print(vmap(grad(lambda t: torch.autograd.grad((t**3).sum(), t, create_graph=True)[0].sum()))(rows))
