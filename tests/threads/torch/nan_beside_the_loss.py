# engine: torch
# line: direction = v / v.norm()
# must: divides 0 by v.norm
# never: derivative of mul on line \d+ is
import torch
a = torch.ones(3, requires_grad=True)
b = torch.ones(3, requires_grad=True)
v = torch.zeros(3)
direction = v / v.norm()
out = torch.cat([a * 2, b * direction])
loss = out[:3].sum()
loss.backward()
print(loss.item(), b.grad)
