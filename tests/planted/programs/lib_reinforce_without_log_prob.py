# engine: torch
# cause: the loss is made of sampled actions and rewards, without their log-probabilities
# line: loss = -(rewards * actions).mean()
# line: actions = policy.sample()
# must: sample|log_prob|require
# never: learning rate|vanishes
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for episode in range(2):
    states, rewards = torch.randn(20, 4), torch.rand(20)
    policy = torch.distributions.Categorical(logits=net(states))
    actions = policy.sample()
    loss = -(rewards * actions).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
