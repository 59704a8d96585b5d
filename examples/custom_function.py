# An operator defined by a script: both directions in one class, and a gradient that lies on purpose.
#     gradtrace run examples/custom_function.py
import torch


class Softsign(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x / (1 + x.abs())

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output / (1 + x.abs()) ** 2


class StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


x = torch.tensor([-2.0, 0.0, 0.5, 3.0], requires_grad=True)
y = Softsign.apply(x)
print(y)
y.sum().backward()
print(x.grad)

x.grad = None
z = StraightThrough.apply(x) * torch.tensor([1.0, 2.0, 3.0, 4.0])
print(z, z.grad_fn.next_functions[0][0].name())
z.sum().backward()
print(x.grad)
