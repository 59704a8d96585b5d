"""gradcheck's forward mode, and Hessians by forward over reverse mode."""
import torch
from torch.autograd import gradcheck
from torch.autograd.functional import hessian, jacobian

x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)


class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return g * 2 * ctx.saved_tensors[0]

    @staticmethod
    def jvp(ctx, t):
        return t * ctx.saved_tensors[0]


class Without(Wrong):
    jvp = torch.autograd.Function.jvp


def attempt(f):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)


attempt(lambda: gradcheck(torch.sin, (x,), check_forward_ad=True))
attempt(lambda: gradcheck(lambda a, b: (a * b, a.sum()), (x, x.detach().clone().requires_grad_()), check_forward_ad=True))
attempt(lambda: gradcheck(torch.sin, (x,), check_forward_ad=True, check_backward_ad=False))
attempt(lambda: gradcheck(torch.sin, (x,), check_backward_ad=False))
attempt(lambda: gradcheck(Wrong.apply, (x,)))
attempt(lambda: gradcheck(Wrong.apply, (x,), check_forward_ad=True))
attempt(lambda: gradcheck(Wrong.apply, (x,), check_forward_ad=True, raise_exception=False))
attempt(lambda: gradcheck(Without.apply, (x,), check_forward_ad=True))
attempt(lambda: gradcheck(lambda t: 3, (x,)))
y = torch.tensor([1.0, 2.0])
print(hessian(lambda t: (t**3).sum(), y, vectorize=True, outer_jacobian_strategy="forward-mode"))
attempt(lambda: hessian(lambda t: (t**3).sum(), y, outer_jacobian_strategy="forward-mode"))
attempt(lambda: hessian(lambda t: (t**3).sum(), y, vectorize=True, strict=True, outer_jacobian_strategy="forward-mode"))
print(jacobian(lambda t: t**3, y, vectorize=True, strategy="forward-mode"))
