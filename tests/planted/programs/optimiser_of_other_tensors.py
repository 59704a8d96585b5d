# engine: gradtrace
# line: optimizer = torch.optim.SGD([w.clone().detach().requires_grad_(), b], lr=0.1)
# must: optimi[sz]er
# must: w
# never: smaller lr|zero_grad
import torch

torch.manual_seed(0)
x = torch.randn(30, 2)
y = x @ torch.tensor([1.5, -0.5]) + 2.0
w = torch.randn(2, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
optimizer = torch.optim.SGD([w.clone().detach().requires_grad_(), b], lr=0.1)

for epoch in range(8):
    pred = x @ w + b
    loss = ((pred - y) ** 2).mean()
    w.grad = None
    b.grad = None
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
print(w, b)
