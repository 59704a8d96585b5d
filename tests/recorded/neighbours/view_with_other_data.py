# An in-place operation on a view whose data was replaced: its place in its new storage counts.
import torch
v3 = torch.tensor([[1.072, -1.561], [-2.067, 0.0], [-2.245, -0.817]], dtype=torch.float32, requires_grad=True)
v5 = v3 * -0.5
v7 = v5.unsqueeze(0)
v7.data = v7.data * 2
v7.fill_(0.5)
print(v7, v5)
v7.sum().backward()
print(v3.grad)
