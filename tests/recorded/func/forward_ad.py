"""torch.autograd.forward_ad: dual numbers."""
import torch
import torch.autograd.forward_ad as fwAD
from torch.autograd.forward_ad import dual_level, make_dual, unpack_dual

x = torch.tensor([1.0, 2.0])
v = torch.tensor([1.0, 0.5])


def attempt(f):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, str(e).split("\n")[0])


with fwAD.dual_level():
    d = fwAD.make_dual(x, v)
    print(d, d.requires_grad, d.is_leaf, d.grad_fn)
    y = d.sin() * d + 3
    print(y, y.sum(), y[0], d * 2)
    print(fwAD.unpack_dual(y))
    print(fwAD.unpack_dual(y).tangent, unpack_dual(x), unpack_dual(x).tangent)
    p, t = fwAD.unpack_dual(y.exp().mean())
    print(p, t)
    print(unpack_dual(torch.dot(d, x)), unpack_dual(d > 1), unpack_dual(d.max(0).values), d.argmax())
    print(d.detach(), d.clone(), d.view(2, 1), d.long())
    print(unpack_dual(torch.stack([d, x])), unpack_dual(torch.where(d > 1, d, -d)), unpack_dual(d.softmax(0)))
    m = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    print(unpack_dual(m @ d), unpack_dual(torch.linalg.inv(make_dual(m, m))), unpack_dual((d / x).prod()))
    with torch.no_grad():
        print(d * 3)
    print(type(unpack_dual(d)).__name__, unpack_dual(d)._fields)
print(d, unpack_dual(d, level=0) if False else "", y)
attempt(lambda: make_dual(x, v))
attempt(lambda: unpack_dual(x))

with dual_level():
    attempt(lambda: make_dual(x, torch.ones(3)))
    attempt(lambda: make_dual(x, v.double()))
    attempt(lambda: make_dual(torch.tensor([1, 2]), v))
    attempt(lambda: make_dual(x, torch.tensor([1, 2])))
    attempt(lambda: make_dual(x, 3.0))
    attempt(lambda: make_dual(3.0, v))
    attempt(lambda: make_dual(make_dual(x, v), v))
    attempt(lambda: unpack_dual(3))
    try:
        with dual_level():
            print("inside")
    except RuntimeError as e:
        print(e)

# reverse over forward
w = torch.tensor([1.0, 2.0], requires_grad=True)
with dual_level():
    d = make_dual(w, v)
    print(d)
    y = (d**3).sum()
    print(y)
    primal, tangent = unpack_dual(y)
    print(tangent.requires_grad, primal.requires_grad)
    print(torch.autograd.grad(tangent, w))
    e = make_dual(x, w * 2)
    t = unpack_dual((e * e).sum()).tangent
    print(t.requires_grad, torch.autograd.grad(t, w))

# in place
with dual_level():
    d = make_dual(x.clone(), v)
    d.mul_(3)
    print(d)
    d[0] = 5.0
    print(d)
    d += d
    print(d)
    z = torch.zeros(2)
    z.copy_(d)
    print(z)
    z = torch.zeros(3)
    z[1:] = d
    print(z)
    b = make_dual(torch.ones(2, 2), torch.eye(2))
    b[0].mul_(2)
    print(b)
    b.add_(1)
    print(b, b.t())
    b.zero_()
    print(b)

# a module, its parameters as duals
layer = torch.nn.Linear(2, 2)
with torch.no_grad():
    layer.weight.fill_(0.5)
    layer.bias.fill_(1.0)
tangents = {name: torch.ones_like(p) for name, p in layer.named_parameters()}
with dual_level():
    for name, p in list(layer.named_parameters()):
        delattr(layer, name)
        setattr(layer, name, make_dual(p, tangents[name]))
    out = layer(x)
    print(unpack_dual(out).tangent.detach(), unpack_dual(out).primal.detach())


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x**2

    @staticmethod
    def jvp(ctx, t):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * t


class NoJvp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


with dual_level():
    d = make_dual(x, v)
    print(Cube.apply(d))
    attempt(lambda: NoJvp.apply(d))
print(torch.func.jvp(lambda t: t * t, (x,), (v,)))
try:
    fwAD.exit_dual_level()
except RuntimeError as e:
    print(e)
level = fwAD.enter_dual_level()
print(level, make_dual(torch.ones(2), torch.zeros(2)), torch.vmap(lambda t: t.sum())(torch.ones(2, 3)))
attempt(lambda: torch.func.jvp(torch.sin, (x,), (v,)))
fwAD.exit_dual_level(level=level)
