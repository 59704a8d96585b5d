import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
A = torch.randn(20, 50); truth = torch.zeros(50); truth[:3] = torch.tensor([2., -3., 1.5]); b = A @ truth
x = torch.zeros(50, requires_grad=True); L = torch.linalg.matrix_norm(A, 2) ** 2
for step in range(30):
    loss = 0.5 * (A @ x - b).pow(2).sum()
    x.grad = None
    loss.backward()
    with torch.no_grad():
        u = x - x.grad / L
        x.copy_(F.softshrink(u, 0.3))
