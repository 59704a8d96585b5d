# engine: torch
# line: return None, None
# must: it gives None where
# never: gives 0 where
import torch
class Mul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * w
    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        if ctx.needs_input_grad[0]:
            return g * w, g * x
        return None, None
w = torch.tensor([2.0], requires_grad=True)
loss = Mul.apply(torch.tensor([3.0]), w).sum()
loss.backward()
