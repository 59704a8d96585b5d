"""Hessians and Jacobians by columns, and the errors of their options."""
import torch
from torch.autograd import gradcheck
from torch.autograd.functional import hessian, jacobian

x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)


def attempt(f):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)


attempt(lambda: gradcheck(torch.sin, (x,), check_backward_ad=False))
attempt(lambda: gradcheck(lambda t: 3, (x,)))
y = torch.tensor([1.0, 2.0])
print(hessian(lambda t: (t**3).sum(), y, vectorize=True, outer_jacobian_strategy="forward-mode"))
attempt(lambda: hessian(lambda t: (t**3).sum(), y, outer_jacobian_strategy="forward-mode"))
attempt(lambda: hessian(lambda t: (t**3).sum(), y, vectorize=True, strict=True, outer_jacobian_strategy="forward-mode"))
print(jacobian(lambda t: t**3, y, vectorize=True, strategy="forward-mode"))
