import torch
from torch import nn
torch.manual_seed(0)
body, head = nn.Linear(8, 16), nn.Linear(16, 2)
opt = torch.optim.AdamW([{"params": body.parameters(), "lr": 1e-3}, {"params": head.parameters(), "lr": 0.0}], lr=1e-3)
for step in range(4):
    x = torch.randn(16, 8); y = (x[:, 0] > 0).long()
    loss = nn.functional.cross_entropy(head(torch.relu(body(x))), y)
    opt.zero_grad(); loss.backward(); opt.step()
