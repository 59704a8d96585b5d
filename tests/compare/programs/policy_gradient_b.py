import torch
from torch import nn
import torch.nn.functional as F

class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.logits = nn.Linear(3, 16), nn.Linear(16, 4)

    def forward(self, s):
        return self.logits(torch.tanh(self.hidden(s)))

def rollout(pi, horizon=6):
    s = torch.tensor([1.0, -0.5, 0.2])
    states, actions, rewards = [], [], []
    with torch.no_grad():
        for _ in range(horizon):
            probs = pi(s).softmax(-1)
            a = torch.multinomial(probs, 1).squeeze()
            states.append(s)
            actions.append(a)
            s = torch.cat([s[-1:], s[:-1]]) * 0.9 + (a - 1.5) * 0.1
            rewards.append(-float((s * s).sum()))
    return torch.stack(states), torch.stack(actions), torch.tensor(rewards)

def discounted(rewards, gamma):
    out = torch.zeros_like(rewards)
    acc = 0.0
    for i in range(len(rewards) - 1, -1, -1):
        acc = rewards[i] + gamma * acc
        out[i] = acc
    return (out - out.mean()) / (out.std() + 1e-8)

torch.manual_seed(23)
pi = Policy()
optimizer = torch.optim.Adam(pi.parameters(), lr=2e-2)
for _ in range(5):
    S, A, R = rollout(pi)
    advantage = discounted(R, 0.95)
    loss = (F.cross_entropy(pi(S), A, reduction="none") * advantage).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.5f}")
