# engine: torch
# cause: torch.tensor([...]) copies the losses' numbers, so the sum has no history
# line: total = torch.tensor([policy_loss, value_loss], requires_grad=True).sum()
# must: torch\.tensor
# must: torch\.stack|\bstack\b|copies|copy|new (leaf|tensor)|without history
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 24)
        self.policy, self.value = nn.Linear(24, 3), nn.Linear(24, 1)

    def forward(self, state):
        h = torch.tanh(self.body(state))
        return self.policy(h), self.value(h).squeeze(-1)


agent = ActorCritic()
optimizer = torch.optim.Adam(agent.parameters(), lr=1e-3)
states, actions, returns = torch.randn(20, 6), torch.randint(0, 3, (20,)), torch.randn(20)
logits, values = agent(states)
log_probs = F.log_softmax(logits, -1).gather(1, actions[:, None]).squeeze(1)
policy_loss = -(log_probs * (returns - values.detach())).mean()
value_loss = F.mse_loss(values, returns)
total = torch.tensor([policy_loss, value_loss], requires_grad=True).sum()
optimizer.zero_grad()
total.backward()
optimizer.step()
