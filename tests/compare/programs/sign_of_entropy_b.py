import torch
from torch import nn
import torch.nn.functional as F

class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(4, 16)
        self.actor = nn.Linear(16, 3)
        self.critic = nn.Linear(16, 1)

    def forward(self, obs):
        z = torch.tanh(self.trunk(obs))
        return F.log_softmax(self.actor(z), dim=1), self.critic(z)[:, 0]

def ppo_loss(model, obs, act, returns, old_logp, eps=0.2):
    logp, value = model(obs)
    with torch.no_grad():
        advantage = returns - value
    r = torch.exp(logp.gather(1, act[:, None])[:, 0] - old_logp)
    clipped = torch.clamp(r, 1 - eps, 1 + eps)
    actor = torch.maximum(-r * advantage, -clipped * advantage).mean()
    critic = F.mse_loss(value, returns)
    entropy = -(logp.exp() * logp).sum(1).mean()
    return actor + 0.5 * critic + 0.01 * entropy

torch.manual_seed(33)
ac = ActorCritic()
optimizer = torch.optim.Adam(ac.parameters(), lr=0.003, eps=1e-5)
obs = torch.randn(32, 4)
act = torch.randint(0, 3, (32,))
returns = torch.randn(32)
for _ in range(4):
    optimizer.zero_grad()
    loss = ppo_loss(ac, obs, act, returns, -1.1 * torch.ones(32))
    loss.backward()
    nn.utils.clip_grad_norm_(ac.parameters(), 0.5)
    optimizer.step()
    print(f"{loss.item():.6f}")
