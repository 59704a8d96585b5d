import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3)); opt = torch.optim.Adam(policy.parameters(), lr=1e-3, maximize=True)
for step in range(5):
    obs = torch.randn(64, 4); ret = torch.randn(64)
    dist = torch.distributions.Categorical(logits=policy(obs))
    act = dist.sample()
    objective = (dist.log_prob(act) * ret).mean() + 0.01 * dist.entropy().mean()
    opt.zero_grad(); objective.backward(); opt.step()
