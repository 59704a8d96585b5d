"""A convolution with batch normalisation as one Function, checked, trained, and used in inference mode."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd.function import once_differentiable


class ScaledConv(torch.autograd.Function):
    @staticmethod
    def forward(ctx, images, kernel, scale):
        ctx.save_for_backward(images, kernel)
        ctx.scale = scale
        return F.conv2d(images, kernel) * scale

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        images, kernel = ctx.saved_tensors
        grad = grad * ctx.scale
        of_kernel = F.conv2d(images.transpose(0, 1), grad.transpose(0, 1)).transpose(0, 1)
        return F.conv_transpose2d(grad, kernel), of_kernel, None


torch.manual_seed(7)
images = torch.rand(2, 3, 5, 5, requires_grad=True, dtype=torch.double)
kernel = torch.rand(4, 3, 3, 3, requires_grad=True, dtype=torch.double)
print("gradcheck:", torch.autograd.gradcheck(lambda x, w: ScaledConv.apply(x, w, 0.5), (images, kernel)))


class Block(nn.Module):
    def __init__(self, channels, device=None, dtype=None):
        super().__init__()
        factory_kwargs = {"device": device, "dtype": dtype}
        self.kernel = nn.Parameter(torch.empty(channels, 1, 3, 3, **factory_kwargs))
        nn.init.kaiming_uniform_(self.kernel, a=5**0.5)
        self.head = nn.Linear(channels * 16, 3)

    def forward(self, x):
        x = ScaledConv.apply(x, self.kernel, 2.0)
        F.relu_(x)
        return F.log_softmax(self.head(x.flatten(1)), dim=1)


model = Block(4)
data, target = torch.rand(24, 1, 6, 6), torch.randint(3, (24,))
optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
for epoch in range(5):
    optimizer.zero_grad()
    loss = F.nll_loss(model(data), target)
    loss.backward()
    optimizer.step()
    print(f"epoch {epoch}: {loss.item():.4f}")
model.eval()
with torch.inference_mode():
    output = model(data)
    correct = output.argmax(dim=1, keepdim=True).eq(target.view_as(output.argmax(1, keepdim=True))).sum().item()
    print(output.is_inference(), output.requires_grad, correct, f"{100.0 * correct / len(data):.0f}%")
