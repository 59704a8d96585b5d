# engine: torch
# cause: the copy is trained, and the optimizer holds the original
# line: model = copy.deepcopy(model)
# line: opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
# must: optimi[sz]er
# must: before|old|copy|replace|does not
# never: zeroed between|diverges|vanishes
import copy

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 3))
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
initial = model
model = copy.deepcopy(model)
for step in range(3):
    x, y = torch.randn(8, 8), torch.randint(0, 3, (8,))
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
