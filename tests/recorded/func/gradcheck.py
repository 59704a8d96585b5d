# gradcheck and gradgradcheck: what passes, what fails, and the messages
import torch
from torch.autograd import Function, gradcheck, gradgradcheck


class Wrong(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x


class Offset(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2 + 1e-7


class Once(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 * x.detach()


def attempt(f):
    try:
        print(f())
    except (RuntimeError, ValueError) as e:
        print(type(e).__name__, e)


def double(values):
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


x = double([1.0, 2.0])
m = double([[0.5, -1.0], [2.0, 0.25]])
s = double(0.7)
attempt(lambda: gradcheck(Wrong.apply, (x,)))
attempt(lambda: gradcheck(Wrong.apply, x, raise_exception=False))
attempt(lambda: gradcheck(lambda a, b: (a * b, Wrong.apply(b)), (x, double([3.0, 4.0]))))
attempt(lambda: gradcheck(Offset.apply, (x,)))
attempt(lambda: gradgradcheck(Once.apply, (x,), torch.ones(2, dtype=torch.float64, requires_grad=True)))
attempt(lambda: gradgradcheck(Wrong.apply, (x,)))
attempt(lambda: gradcheck(lambda a: a.detach() * 2, (x,)))
attempt(lambda: gradcheck(lambda a: (a > 5).double(), (x,)))
attempt(lambda: gradcheck(lambda a: a * 2, (double(1.0).expand(3).requires_grad_(),)))
for f in (torch.sin, torch.exp, lambda t: t**3, lambda t: t.sum(), lambda t: t * 2):
    print(gradcheck(f, (x,)), gradgradcheck(f, (x,)), gradcheck(f, (x,), fast_mode=True), gradcheck(f, s))
print(gradcheck(lambda a, k, flag: a * k if flag else a, (x, 3, True)), gradcheck(lambda a: [a * 2, a], [x]))
print(gradcheck(lambda a, b: a @ b, (m, x)), gradgradcheck(lambda a, b: a @ b, (m, x)))
print(gradcheck(lambda a: a.abs(), (double([0.0, 1.0]),), raise_exception=False))
print(x, x.grad, x._version, m.requires_grad)


class Drifting(Function):
    calls = 0

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        Drifting.calls += 1
        return g * 2 + g * 1e-7 * Drifting.calls


attempt(lambda: gradcheck(Drifting.apply, (x,)))
attempt(lambda: gradcheck(Drifting.apply, (x,), nondet_tol=1e-3))
