# engine: torch
# line: h = enc(torch.randn(8, 4)).detach()
# must: detach\(\) on line
# never: only through .*item|Python number|left the graph
import torch
from torch import nn

torch.manual_seed(0)
enc, head = nn.Linear(4, 4), nn.Linear(4, 1)
opt = torch.optim.SGD([*enc.parameters(), *head.parameters()], lr=0.1)
for step in range(3):
    h = enc(torch.randn(8, 4)).detach()
    loss = head(h).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("norms", [p.norm().item() for p in enc.parameters()])
