# torch.func: grad, vjp, jvp, jacobians, their nesting and their errors
import torch
from torch.func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp


def attempt(f):
    try:
        print(f())
    except (IndexError, RuntimeError, ValueError) as e:
        print(type(e).__name__, e)


x = torch.tensor([1.0, 2.0, 3.0])
attempt(lambda: grad(lambda a: a.sum(), argnums=2)(x))
attempt(lambda: grad(lambda a: a.sum(), argnums="a")(x))
attempt(lambda: grad(lambda a: a.sum(), argnums=())(x))
attempt(lambda: grad(lambda a, b: (a * b).sum(), argnums=(0, -2))(x, x))
attempt(lambda: grad(lambda a, b: (a * b).sum(), argnums=-1)(x, x * 2))
attempt(lambda: grad(lambda a: 3.0)(x))
attempt(lambda: grad(lambda a: (a.sum(), 1, 2), has_aux=True)(x))
attempt(lambda: grad(lambda a: a.sum())(2.0))
attempt(lambda: grad(lambda a: x.sum())(x))
attempt(lambda: grad(lambda a, scale=1: (a * scale).sum())(x, scale=5))
out, pull = vjp(lambda a: (a * 2, {"s": a.sum()}), x)
print(out, pull((torch.ones(3), {"s": torch.tensor(1.0)})))
attempt(lambda: pull(torch.ones(3)))
out, pull = vjp(lambda a, b: a * b, x, x + 1)
print(out, pull(torch.ones(3)), pull(torch.tensor([1.0, 0.0, 0.0])))
attempt(lambda: pull(torch.ones(2)))
out, pull, aux = vjp(lambda a: (a.sin(), a.sum()), x, has_aux=True)
print(out, pull(x), aux)
attempt(lambda: vjp(lambda a: 3, x))
attempt(lambda: vjp(lambda a: (a > 1), x))
attempt(lambda: jvp(torch.sin, (x,), (torch.ones(3),)))
attempt(lambda: jvp(torch.sin, x, torch.ones(3)))
attempt(lambda: jvp(torch.sin, (x,), (torch.ones(2),)))
attempt(lambda: jvp(lambda a, b: a * b, (x, x), (torch.ones(3), torch.zeros(3))))
attempt(lambda: jvp(lambda a: (a * 2, a.sum()), (x,), (torch.ones(3),), has_aux=True))
attempt(lambda: jvp(lambda d: {"y": d["a"] * d["b"]}, ({"a": x, "b": x},), ({"a": x, "b": x * 0},)))
attempt(lambda: jacrev(lambda a, b: {"y": a * b}, argnums=(0, 1))(x, x))
attempt(lambda: jacfwd(lambda a, b: a.sum() * b, argnums=(0, 1))(x, x))
attempt(lambda: jacrev(lambda a: a * 2, has_aux=True)(x))
attempt(lambda: jacrev(lambda a: (a * 2, a.sum()), has_aux=True)(x))
attempt(lambda: jacrev(lambda a: 3.0)(x))
attempt(lambda: jacrev(lambda a: a, chunk_size=0))
attempt(lambda: jacrev(lambda a: a.reshape(1, 3) * a.reshape(3, 1))(x).shape)
attempt(lambda: hessian(lambda p: (p["a"] * p["b"]).sum())({"a": x[:2], "b": x[:2]}))
w = torch.tensor(2.0, requires_grad=True)
g = grad(lambda a: (a**2 * w).sum())(x)
print(g.detach(), g.requires_grad)
g.sum().backward()
print(w.grad)
y = torch.tensor([1.0, 2.0], requires_grad=True)
g = grad(lambda a: (a**3).sum())(y)
g.sum().backward()
print(g.detach(), g.requires_grad, y.grad)
with torch.no_grad():
    print(grad(lambda a: (a**3).sum())(y))
value, aux = grad_and_value(lambda a: ((a**2 * w).sum(), a), has_aux=True)(x)
print(value.detach(), aux[0].detach(), aux[1])
print(vjp(lambda a: a * w, x)[0].requires_grad, jacrev(lambda a: a * w)(x).requires_grad)
print(grad(lambda a: (a**2).sum().detach() + a.sum())(x))
print(grad(lambda a: torch.autograd.grad((a**2).sum(), a, create_graph=True)[0].sum())(x))
print(grad(lambda a: grad(lambda b: (a * b**2).sum())(a).sum())(x), grad(grad(grad(torch.sin)))(torch.tensor(0.3)))
print(jacrev(jacfwd(lambda a: a.prod()))(x), jvp(grad(lambda a: (a**3).sum()), (x,), (x,))[1])
out, push = linearize(torch.sin, x)
print(out, push(torch.ones(3)), grad(torch.sin).__name__)


def named(a):
    """A sum."""
    return a.sum()


print(grad(named).__name__, grad(named).__doc__, x.requires_grad, x.grad)
