# engine: torch
# cause: the backward returns 0.8 times the derivative; its input has 4 x 1,024 elements in float32
# line: return grad * x.exp() * 0.8
# must: 0\.8 times
# never: Right.backward
import torch
from torch import nn
torch.manual_seed(0)
class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.exp() + 3
    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return grad * x.exp() * 0.8
class Right(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.softmax(-1) * 100 
        ctx.save_for_backward(y)
        return y
    @staticmethod
    def backward(ctx, grad):
        y, = ctx.saved_tensors
        return y * (grad - (grad * y).sum(-1, keepdim=True) / 100)
model = nn.Linear(16, 1024)
opt = torch.optim.SGD(model.parameters(), lr=0.001)
x, y = torch.randn(4, 16), torch.randn(4, 1)
loss = (Right.apply(model(x)) + Scaled.apply(model(x))).mean()
loss.backward()
opt.step()
