# engine: torch
# line: loss = head(checkpoint(block, x, use_reentrant=True)).pow(2).mean()
# must: use_reentrant
# never: only through .*item|Python number|left the graph
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
block, head = nn.Linear(4, 4), nn.Linear(4, 1)
opt = torch.optim.SGD([*block.parameters(), *head.parameters()], lr=0.1)
for step in range(3):
    x = torch.randn(8, 4)
    loss = head(checkpoint(block, x, use_reentrant=True)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("norms", [p.norm().item() for p in block.parameters()])
