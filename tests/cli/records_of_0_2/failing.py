import torch
torch.manual_seed(0)
x = torch.randn(4, 3)
w = torch.randn(4, 5, requires_grad=True)
b = torch.zeros(5, requires_grad=True)
h = torch.relu(x) * 2
y = h @ w + b
loss = y.sum()
