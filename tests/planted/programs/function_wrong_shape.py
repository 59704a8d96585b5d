# engine: gradtrace
# line: grad_weight = grad_out.t() @ x
# must: shape
# must: \.t\(\)|transpose|\(3, 2\)|\[3, 2\]
# never: smaller lr|before backward was called
import torch


class LinearFn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight

    @staticmethod
    def backward(ctx, grad_out):
        x, weight = ctx.saved_tensors
        grad_x = grad_out @ weight.t()
        grad_weight = grad_out.t() @ x
        return grad_x, grad_weight


torch.manual_seed(0)
x = torch.randn(4, 3)
weight = torch.randn(3, 2, requires_grad=True)
y = LinearFn.apply(x, weight)
loss = y.pow(2).sum()
loss.backward()
print(weight.grad)
