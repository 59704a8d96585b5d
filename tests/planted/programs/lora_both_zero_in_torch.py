# engine: torch
# cause: both LoRA matrices start at zero, so the gradient of each is a product with the other's zeros
# line: self.a = nn.Parameter(torch.zeros(rank, width))
# line: self.b = nn.Parameter(torch.zeros(width, rank))
# line: return self.base(x) + x @ self.a.T @ self.b.T
# must: zero|0
# must: both|other|product|factor|self\.[ab]|\b[ab]\b (is|are|was)
import torch
import torch.nn as nn

torch.manual_seed(0)


class LoRA(nn.Module):
    def __init__(self, width=16, rank=4):
        super().__init__()
        self.base = nn.Linear(width, width).requires_grad_(False)
        self.a = nn.Parameter(torch.zeros(rank, width))
        self.b = nn.Parameter(torch.zeros(width, rank))

    def forward(self, x):
        return self.base(x) + x @ self.a.T @ self.b.T


model = nn.Sequential(LoRA(), nn.GELU(), LoRA())
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
x, y = torch.randn(32, 16), torch.randn(32, 16)
for step in range(2):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
