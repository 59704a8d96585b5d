# engine: torch
# cause: softmax underflows to 0 for large logits and its log is -inf
# line: log_probs = torch.log(probs)
# must: log
# must: -?inf
# must: 0|zero
# never: lr is too
import torch
import torch.nn as nn

torch.manual_seed(0)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.logits = nn.Linear(8, 32), nn.Linear(32, 6)
        self.temperature = 0.002

    def forward(self, state):
        return self.logits(torch.tanh(self.body(state))) / self.temperature


policy = Policy()
optimizer = torch.optim.RMSprop(policy.parameters(), lr=1e-3)
states, actions, advantages = torch.randn(40, 8), torch.randint(0, 6, (40,)), torch.randn(40)
probs = torch.softmax(policy(states), dim=-1)
log_probs = torch.log(probs)
entropy = -(probs * log_probs).sum(-1).mean()
chosen = log_probs.gather(1, actions[:, None]).squeeze(1)
loss = -(chosen * advantages).mean() - 0.01 * entropy
optimizer.zero_grad()
loss.backward()
optimizer.step()
