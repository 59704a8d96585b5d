# w -= lr * w.grad on line 12 leaves every element as it is: float16 has no number so near
import torch

torch.manual_seed(0)
w = torch.ones(4, dtype=torch.float16, requires_grad=True)
x = torch.randn(8, 4).to(torch.float16)
lr = 1e-5
for _ in range(5):
    loss = ((x @ w) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= lr * w.grad
    w.grad = None
