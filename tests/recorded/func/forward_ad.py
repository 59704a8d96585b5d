"""torch.autograd.forward_ad: dual tensors, and the tangents of what was computed from them."""
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
    y = d.sin() * d + 3
    print(fwAD.unpack_dual(y))
    print(fwAD.unpack_dual(y).tangent, unpack_dual(x), unpack_dual(x).tangent)
    p, t = fwAD.unpack_dual(y.exp().mean())
    print(p, t)
    print(unpack_dual(torch.dot(d, x)), unpack_dual(d > 1), unpack_dual(d.max(0).values), d.argmax())
    print(unpack_dual(torch.stack([d, x])), unpack_dual(torch.where(d > 1, d, -d)), unpack_dual(d.softmax(0)))
    m = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    print(unpack_dual(m @ d), unpack_dual(torch.linalg.inv(make_dual(m, m))), unpack_dual((d / x).prod()))
    print(type(unpack_dual(d)).__name__, unpack_dual(d)._fields, unpack_dual(d, level=0).tangent)
    e = make_dual(x, 2 * v)
    print(unpack_dual(d * e).tangent, unpack_dual(d * d.detach()).tangent)
attempt(lambda: make_dual(x, v))
attempt(lambda: unpack_dual(x))
weight = torch.ones(2, requires_grad=True)
with torch.no_grad(), dual_level():
    print(unpack_dual(make_dual(x, v) * weight), unpack_dual(make_dual(weight, v) ** 2))

with dual_level():
    attempt(lambda: make_dual(x, torch.ones(3)))
    attempt(lambda: make_dual(torch.tensor([1, 2]), v))
    attempt(lambda: make_dual(x, torch.tensor([1, 2])))
    attempt(lambda: make_dual(x, 3.0))
    attempt(lambda: make_dual(3.0, v))
    try:
        with dual_level():
            print("inside")
    except RuntimeError as e:
        print(e)

# reverse over forward
w = torch.tensor([1.0, 2.0], requires_grad=True)
with dual_level():
    d = make_dual(w, v)
    y = (d**3).sum()
    primal, tangent = unpack_dual(y)
    print(tangent.requires_grad, primal.requires_grad)
    print(torch.autograd.grad(tangent, w))
    e = make_dual(x, w * 2)
    t = unpack_dual((e * e).sum()).tangent
    print(t.requires_grad, torch.autograd.grad(t, w))

# in place
with dual_level():
    d = make_dual(x, v)
    z = torch.zeros(2)
    z.copy_(d)
    print(unpack_dual(z))
    z = torch.zeros(3)
    z[1:] = d * 2
    z.mul_(3)
    print(unpack_dual(z))

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


with dual_level():
    print(unpack_dual(Cube.apply(make_dual(x, v))))
print(torch.func.jvp(lambda t: t * t, (x,), (v,)))
