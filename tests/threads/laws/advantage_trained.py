import torch
from torch import nn
torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3)); critic = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=1e-3)
for step in range(4):
    obs = torch.randn(64, 4); ret = torch.randn(64)
    dist = torch.distributions.Categorical(logits=actor(obs)); act = dist.sample()
    adv = ret - critic(obs).squeeze(1)
    loss = -(dist.log_prob(act) * adv).mean() + 0.5 * adv.pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
