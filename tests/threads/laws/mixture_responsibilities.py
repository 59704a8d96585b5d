import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
gate, mu = nn.Linear(3, 4), nn.Linear(3, 4); opt = torch.optim.Adam([*gate.parameters(), *mu.parameters()], lr=1e-2)
for step in range(5):
    x = torch.randn(32, 3); y = x.sum(1, keepdim=True)
    q = gate(x).softmax(-1)
    comp = torch.distributions.Normal(mu(x), 1.0)
    loss = -(q * comp.log_prob(y)).sum(-1).mean() + (q * q.log()).sum(-1).mean()
    opt.zero_grad(); loss.backward(); opt.step()
