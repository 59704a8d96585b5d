# torch.autograd.functional: values, nesting of results, strict mode, errors
import torch
from torch.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp


def attempt(f):
    try:
        print(f())
    except (AssertionError, RuntimeError, TypeError) as e:
        print(type(e).__name__, e)


def cube(a):
    return (a**3).sum()


def mixed(a, b):
    return (a**2 * b).sum() + (a * b**3).sum()


x = torch.tensor([1.0, 2.0])
y = torch.tensor([3.0, -1.0])
print(hessian(cube, x), hessian(mixed, (x, y)))
print(hvp(cube, x, torch.ones(2)), vhp(cube, x, torch.tensor([1.0, 0.0])))
print(hvp(mixed, (x, y), (torch.ones(2), torch.zeros(2))))
print(vhp(mixed, (x, y), (torch.ones(2), torch.zeros(2))))
print(hvp(lambda a: a**3, torch.tensor(2.0)), vhp(lambda a: a**3, torch.tensor(2.0)))
print(jacobian(lambda a, b: (a * b, a.sum()), (x, y)))
print(jacobian(lambda a: a.outer(a), x).shape, jacobian(lambda a: (a,), x), jacobian(lambda a: a, (x,)))
print(jacobian(lambda a: torch.ones(2), x), jacobian(cube, x, vectorize=True, strategy="forward-mode"))
print(hessian(cube, x, vectorize=True, outer_jacobian_strategy="forward-mode").detach())
print(vjp(lambda a: a * 2, x, torch.ones(2)), vjp(lambda a, b: (a * b, a), (x, y), (x, y)))
print(jvp(lambda a, b: (a * b, a), (x, y), (x, y)), jvp(lambda a: a * 3, torch.tensor(1.0)))
z = x.clone().requires_grad_()
out, product = hvp(cube, z, torch.ones(2), create_graph=True)
product.sum().backward()
print(out.detach(), product.detach(), z.grad)
with torch.no_grad():
    print(jacobian(lambda a: a**2, z), hessian(cube, z))
attempt(lambda: vjp(lambda a: 3, x))
attempt(lambda: vjp(lambda a: a, [x]))
attempt(lambda: vjp(lambda a: a, (x, 3)))
attempt(lambda: vjp(lambda a: a, x, 3))
attempt(lambda: vjp(lambda a: a, x, torch.ones(3)))
attempt(lambda: vjp(lambda a: (a, a), x, (torch.ones(2),)))
attempt(lambda: vjp(lambda a: (a, a), x, (torch.ones(2), torch.ones(1))))
attempt(lambda: vjp(lambda a: a, x, (torch.ones(2), torch.ones(2))))
attempt(lambda: hvp(lambda a: a, x, x))
attempt(lambda: hvp(cube, x))
attempt(lambda: vhp(cube, x))
attempt(lambda: vhp(lambda a: (a.sum(), a.sum()), x, x))
attempt(lambda: hessian(lambda a: a, x))
attempt(lambda: hessian(lambda a: (a.sum(),), x))
attempt(lambda: jacobian(lambda a: a, x, strategy="x"))
attempt(lambda: jacobian(lambda a: torch.ones(2), x, strict=True))
attempt(lambda: jacobian(lambda a, b: a, (x, y), strict=True))
attempt(lambda: jacobian(lambda a: a * 2, x, strict=True, create_graph=True))
attempt(lambda: jacobian(lambda a: a, x, strict=True, vectorize=True))
attempt(lambda: jacobian(lambda a: a, x, strict=True, vectorize=True, strategy="forward-mode"))
attempt(lambda: hessian(lambda a: a.sum(), x, strict=True))
attempt(lambda: hessian(lambda a: (a**2).sum(), x, strict=True, create_graph=True))
attempt(lambda: hvp(lambda a: a.sum(), x, x, strict=True))
attempt(lambda: vhp(lambda a, b: (a**2).sum(), (x, y), (x, y), strict=True))
attempt(lambda: vjp(lambda a: torch.ones(2), x, x, strict=True))
attempt(lambda: vjp(lambda a, b: a * 2, (x, y), x, strict=True))
attempt(lambda: jvp(lambda a: a * 2, x, x, strict=True))
print(x.requires_grad, x.grad)
