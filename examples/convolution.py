# An edge detector found by gradient descent: the gradient of a convolution is itself a correlation.
#     gradtrace run examples/convolution.py
import torch
import torch.nn.functional as F

image = torch.zeros(1, 1, 6, 6)
image[..., 3:] = 1.0
kernel = torch.tensor([[[[1.0, -1.0], [1.0, -1.0]]]])
target = F.conv2d(image, kernel)

guess = torch.zeros(1, 1, 2, 2, requires_grad=True)
for step in range(61):
    out = F.conv2d(image, guess)
    loss = F.mse_loss(out, target)
    guess.grad = None
    loss.backward()
    with torch.no_grad():
        guess -= 0.4 * guess.grad
    if step % 20 == 0:
        print(step, f"{loss.item():.4f}", out.grad_fn.name())
print(target[0, 0, 0])
print(guess.detach().round(decimals=1))
