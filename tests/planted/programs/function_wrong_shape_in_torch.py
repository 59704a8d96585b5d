# engine: torch
# cause: backward returns a slice of the output's gradient for the bias, not its sum over the batch
# line: return grad @ weight, grad.T @ x, grad[:, :-1]
# must: shape|size
# must: MyLinear|backward
import torch
import torch.nn as nn

torch.manual_seed(0)


class MyLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        return x @ weight.T + bias.expand(x.shape[0], -1).clone()

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        return grad @ weight, grad.T @ x, grad[:, :-1]


class Linear(nn.Linear):
    def forward(self, x):
        return MyLinear.apply(x, self.weight, self.bias)


model = nn.Sequential(Linear(6, 8), nn.ReLU(), Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(16, 6), torch.randint(0, 2, (16,))
loss = nn.functional.cross_entropy(model(x), y)
optimizer.zero_grad()
loss.backward()
optimizer.step()
