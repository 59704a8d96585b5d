import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
value = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.Adam([*policy.parameters(), *value.parameters()], lr=1e-2)
for episode in range(3):
    state, log_probs, values, rewards = torch.randn(4), [], [], []
    for t in range(6):
        dist = Categorical(logits=policy(state))
        action = dist.sample()
        log_probs.append(dist.log_prob(action))
        values.append(value(state).squeeze(-1))
        rewards.append(1.0 if action.item() == (state[0] > 0).item() else 0.0)
        state = state + 0.1 * torch.randn(4)
    returns, total = [], 0.0
    for r in reversed(rewards):
        total = r + 0.99 * total
        returns.insert(0, total)
    returns = torch.tensor(returns)
    values, log_probs = torch.stack(values), torch.stack(log_probs)
    advantage = returns - values.detach()
    loss = -(log_probs * advantage).mean() + nn.functional.mse_loss(values, returns)
    opt.zero_grad()
    loss.backward()
    opt.step()
