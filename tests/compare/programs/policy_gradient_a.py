import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(23)
policy = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 4))
opt = torch.optim.Adam(policy.parameters(), lr=0.02)

def env_step(state, action):
    new = state.roll(1) * 0.9 + 0.1 * (action - 1.5)
    return new, -new.pow(2).sum().item()

for episode in range(5):
    state = torch.tensor([1.0, -0.5, 0.2])
    log_probs, rewards = [], []
    for t in range(6):
        dist = Categorical(logits=policy(state))
        action = dist.sample()
        log_probs.append(dist.log_prob(action))
        state, r = env_step(state, action)
        rewards.append(r)
    returns, g = [], 0.0
    for r in reversed(rewards):
        g = r + 0.95 * g
        returns.insert(0, g)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-8)
    loss = -(torch.stack(log_probs) * returns).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"{loss.item():.5f}")
