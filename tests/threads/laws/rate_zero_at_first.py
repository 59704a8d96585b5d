import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
body, head = nn.Linear(8, 16), nn.Linear(16, 2)
opt = torch.optim.AdamW([{"params": body.parameters(), "lr": 0.0}, {"params": head.parameters(), "lr": 1e-3}])
for step in range(6):
    if step == 4:
        opt.param_groups[0]["lr"] = 1e-4
    x = torch.randn(16, 8); y = (x[:, 0] > 0).long()
    loss = F.cross_entropy(head(torch.relu(body(x))), y)
    opt.zero_grad(); loss.backward(); opt.step()
