# engine: torch
# cause: the moving average of the weights is computed with history, so every step's graph is kept
# line: shadow[name] = decay * shadow[name] + (1 - decay) * p
# must: history|graph
# must: grows|each step|every step|all steps|no_grad|memory
# must: shadow
# never: diverges|vanishes|rebound
# right: (1 - decay) * p ==> (1 - decay) * p.detach()
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.SiLU(), nn.Linear(16, 1))
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
shadow, decay = {name: p.detach().clone() for name, p in model.named_parameters()}, 0.99
for step in range(5):
    x = torch.randn(16, 6)
    loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    opt.zero_grad()
    loss.backward()
    opt.step()
    for name, p in model.named_parameters():
        shadow[name] = decay * shadow[name] + (1 - decay) * p
