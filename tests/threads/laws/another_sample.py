import torch
from torch import nn

torch.manual_seed(0)
policy = nn.Linear(4, 3)
opt = torch.optim.SGD(policy.parameters(), lr=0.1)

def act(state):
    pd = torch.distributions.Categorical(logits=policy(state))
    action = pd.sample()
    return action, pd.log_prob(pd.sample())

for i in range(4):
    action, logp = act(torch.randn(8, 4))
    reward = (action == 1).float()
    loss = -(logp * (reward - 0.3)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
