# engine: gradtrace
# ask: x
# line: return grad_out * torch.sigmoid(x) * (1 - torch.sigmoid(x))
# line: y = Swish.apply(x)
# must: Swish
# must: finite differences|numerical
# never: smaller lr|dead
import torch


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_out):
        x, = ctx.saved_tensors
        return grad_out * torch.sigmoid(x) * (1 - torch.sigmoid(x))


torch.manual_seed(0)
x = torch.randn(5, requires_grad=True)
y = Swish.apply(x)
loss = (y ** 2).sum()
loss.backward()
print(x.grad)
