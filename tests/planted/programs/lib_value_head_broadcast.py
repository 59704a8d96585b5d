# engine: torch
# cause: PPO's value loss by hand: values of (n, 1) minus returns of (n,)
# line: value_loss = ((values - returns) ** 2).mean()
# must: broadcast
# must: squeeze|\(10, 10\)
# never: diverges|vanishes
import torch
from torch import nn

torch.manual_seed(0)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 32), nn.Tanh())
        self.actor, self.critic = nn.Linear(32, 2), nn.Linear(32, 1)

    def forward(self, x):
        h = self.body(x)
        return self.actor(h), self.critic(h)


model = ActorCritic()
opt = torch.optim.Adam(model.parameters(), lr=3e-4)
for step in range(3):
    states, returns, old = torch.randn(10, 4), torch.rand(10), torch.full((10,), -0.7)
    logits, values = model(states)
    policy = torch.distributions.Categorical(logits=logits)
    actions = policy.sample()
    advantage = returns - returns.mean()
    ratio = (policy.log_prob(actions) - old).exp()
    policy_loss = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
    value_loss = ((values - returns) ** 2).mean()
    loss = policy_loss + 0.5 * value_loss - 0.01 * policy.entropy().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
