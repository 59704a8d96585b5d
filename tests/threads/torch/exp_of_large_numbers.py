# engine: torch
# line: y = torch.exp(w * x)
# must: goes up to 100
# never: goes down
import torch

w = torch.ones(50, requires_grad=True)
x = torch.linspace(-120.0, 100.0, 50)
y = torch.exp(w * x)
loss = y.sum()
loss.backward()
