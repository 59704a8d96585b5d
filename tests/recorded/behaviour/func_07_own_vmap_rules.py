# Functions with rules of their own for vmap, after PyTorch's tests of functorch
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd.function import once_differentiable
from torch.func import grad, jacrev, vmap


def show(*calls):
    for call in calls:
        try:
            print(call())
        except Exception as error:
            print(type(error).__name__, error)


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x**2

    @staticmethod
    def vmap(info, in_dims, x):
        return Cube.apply(x), in_dims[0]


x = torch.tensor([1.0, 2.0])
print(
    grad(lambda x: Cube.apply(x).sum())(x),
    grad(grad(Cube.apply))(torch.tensor(2.0)),
    vmap(Cube.apply)(x),
    jacrev(Cube.apply)(x),
)


class Auto(torch.autograd.Function):
    generate_vmap_rule = True
    forward = staticmethod(lambda x, y: x * y)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y, g * x


print(
    vmap(Auto.apply, (0, None))(x, torch.tensor(2.0)),
    vmap(grad(Auto.apply))(x, x),
    grad(lambda x: vmap(Auto.apply)(x, x).sum())(x),
)


class Old(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


show(lambda: grad(lambda x: Old.apply(x).sum())(x))


class NoRule(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, i, o):
        pass

    @staticmethod
    def backward(ctx, g):
        return g * 2


show(lambda: grad(lambda x: NoRule.apply(x).sum())(x))


class Mul(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return x * y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return Mul.apply(g, y), Mul.apply(g, x)

    @staticmethod
    def vmap(info, in_dims, x, y):
        assert info.batch_size == 3
        x = x.movedim(in_dims[0], 0) if in_dims[0] is not None else x
        y = y.movedim(in_dims[1], 0) if in_dims[1] is not None else y
        return Mul.apply(x, y), 0


x, y = torch.arange(3.0), torch.tensor([2.0, 3.0, 4.0])
print(
    vmap(Mul.apply)(x, y),
    vmap(Mul.apply, (0, None))(x, torch.tensor(2.0)),
    vmap(grad(Mul.apply))(x, y),
    vmap(grad(grad(Mul.apply, 1), 0))(x, y),
    grad(lambda x: vmap(Mul.apply)(x, y).sum())(x),
    vmap(lambda x, y: x, (0, 0))(x, y),
)


class Two(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, n):
        return x.sin(), x.cos() * n

    @staticmethod
    def setup_context(ctx, inputs, outputs):
        x, n = inputs
        ctx.n = n
        ctx.save_for_backward(x)
        ctx.set_materialize_grads(True)

    @staticmethod
    def backward(ctx, a, b):
        (x,) = ctx.saved_tensors
        return a * x.cos() - b * x.sin() * ctx.n, None


x = torch.tensor([0.1, 0.2])
print(
    vmap(lambda x: Two.apply(x, 2.0))(x),
    vmap(grad(lambda x: Two.apply(x, 2.0)[1]))(x),
    grad(lambda x: sum(t.sum() for t in Two.apply(x, 3.0)))(x),
)


class Sq(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return x**2 * y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.k = 5

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        print(ctx.needs_input_grad, ctx.k)
        x, y = ctx.saved_tensors
        return 2 * x * g * y, x**2 * g


x = torch.tensor(3.0)
print(grad(Sq.apply)(x, x), grad(Sq.apply, (0, 1))(x, x))
show(lambda: grad(grad(Sq.apply))(x, x))
